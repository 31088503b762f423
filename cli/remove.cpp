#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/previous_context.h"
#include "cli/state.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using syncer::VirtualCluster;

bool confirmed(const VirtualCluster& cluster) {
  if (::isatty(STDIN_FILENO) != 1) return true;
  std::fprintf(stderr, "Delete virtual cluster %s (host namespace %s) with everything in it? [y/N] ",
               cluster.name.c_str(), cluster.host_namespace.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Only entries that are ours by name, also when one of them is current.
void forget_in_kubeconfig(const VirtualCluster& cluster) {
  const std::string path = kube::default_kubeconfig_path();
  const auto contexts = kube::kubeconfig_contexts(path);
  if (!contexts) return;
  const std::string ours = context_name(cluster);
  if (std::find(contexts->begin(), contexts->end(), ours) == contexts->end()) return;
  const bool current = kube::kubeconfig_current_context(path).value_or("") == ours;
  const std::string previous = current ? take_previous_context(path) : "";
  if (auto removed = kube::remove_context(path, ours, previous); !removed) report(removed.error());
}

bool last_on_embedded_host(const VirtualCluster& cluster) {
  for (const auto& other : all_clusters())
    if (other.embedded_host && other.uid != cluster.uid) return false;
  return true;
}

Outcome sweep(const DeleteOptions& options, const VirtualCluster& cluster) {
  auto host = cluster.embedded_host ? embedded_host({}, options.timeout) : host_of(cluster);
  auto swept = host ? sweep_host(*host, cluster, options.timeout) : Outcome(fail(host.error()));
  if (swept || !options.force) {
    if (!swept)
      swept.error().message += "; --force forgets the virtual cluster and leaves its host objects (label " +
                               std::string(syncer::kLabelTenantUid) + "=" + cluster.uid + ")";
    return swept;
  }
  std::fprintf(stderr, "sublet: %s; going on because of --force: host objects with label %s=%s stay\n",
               swept.error().message.c_str(), std::string(syncer::kLabelTenantUid).c_str(), cluster.uid.c_str());
  return {};
}

}  // namespace

int remove(const DeleteOptions& options) {
  const auto cluster = find_cluster(options.name, options.host_namespace);
  if (!cluster) {
    if (options.ignore_not_found && cluster.error().is(Reason::not_found)) return kOk;
    return report(cluster.error());
  }
  if (!options.yes && !confirmed(*cluster)) return kRefused;
  Steps steps;
  const auto give_up = [&](const Status& status) {
    steps.failed(status);
    return exit_code_of(status);
  };
  steps.begin("stop virtual cluster " + cluster->name);
  if (auto stopped = stop_daemon(cluster->folder + "/daemon.lock", std::chrono::seconds(15)); !stopped)
    return give_up(stopped.error());
  steps.begin("remove its objects from the host");
  if (auto swept = sweep(options, *cluster); !swept) return give_up(swept.error());
  steps.begin("remove its state");
  forget_in_kubeconfig(*cluster);
  const bool stop_host = cluster->embedded_host && !options.keep_host && last_on_embedded_host(*cluster);
  std::error_code error;
  std::filesystem::remove_all(cluster->folder, error);
  if (error) return give_up(internal_error("cannot remove " + cluster->folder + ": " + error.message()).value());
  std::filesystem::remove(std::filesystem::path(cluster->folder).parent_path(), error);  // when it was the last in it
  if (stop_host) {
    steps.begin("stop embedded host");
    if (auto stopped = stop_embedded_host(); !stopped) return give_up(stopped.error());
  }
  steps.done();
  std::printf("virtualcluster/%s deleted\n", cluster->name.c_str());
  return kOk;
}

}  // namespace sublet::cli
