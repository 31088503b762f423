#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/embedded_host.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/previous_context.h"
#include "cli/state.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using syncer::VirtualCluster;

constexpr std::chrono::seconds kStopGrace{15};

bool confirmed(const VirtualCluster& cluster) {
  if (::isatty(STDIN_FILENO) != 1) return true;
  std::fprintf(stderr, "Delete virtual cluster %s (host namespace %s) with everything in it? [y/N] ",
               cluster.name.c_str(), cluster.host_namespace.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Only entries that are ours by name, also when one of them is current. '_' is in no name, so that the prefix says
// which.
void forget_in_kubeconfig(const std::string& name, const std::string& host_namespace) {
  const std::string path = kube::default_kubeconfig_path();
  const auto contexts = kube::kubeconfig_contexts(path);
  if (!contexts) return;
  const std::string ours = "sublet_" + name + "_" + host_namespace + "_";
  for (const std::string& context : *contexts) {
    if (!context.starts_with(ours)) continue;
    const bool current = kube::kubeconfig_current_context(path).value_or("") == context;
    const std::string previous = current ? take_previous_context(path) : "";
    if (auto removed = kube::remove_context(path, context, previous); !removed) report(removed.error());
  }
}

Outcome remove_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) return internal_error("cannot remove " + folder + ": " + error.message());
  std::filesystem::remove(std::filesystem::path(folder).parent_path(), error);  // when it was the last in it
  return {};
}

bool last_on_embedded_host(const VirtualCluster& cluster) {
  const Records records = all_records();  // a damaged one may be on it
  return records.damaged.empty() && std::ranges::none_of(records.clusters, [&](const auto& other) {
           return other.embedded_host && other.uid != cluster.uid;
         });
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

// Without its record nobody knows its host; what runs here and lies here goes, the rest is named.
int give_up_damaged(const DeleteOptions& options, const DamagedRecord& record) {
  if (!options.force)
    return report(internal_error(record.why + "; --force gives it up and leaves its host objects").value());
  Steps steps;
  const auto failed = [&](const Status& status) {
    steps.failed(status);
    return exit_code_of(status);
  };
  steps.begin("stop virtual cluster " + record.name);
  if (auto stopped = stop_daemon(record.folder + "/daemon.lock", kStopGrace); !stopped) return failed(stopped.error());
  steps.begin("remove its state");
  forget_in_kubeconfig(record.name, record.host_namespace);
  if (auto removed = remove_folder(record.folder); !removed) return failed(removed.error());
  steps.done();
  std::fprintf(stderr, "sublet: host objects in namespace %s with label %s=%s stay\n", record.host_namespace.c_str(),
               std::string(syncer::kLabelManagedBy).c_str(), record.name.c_str());
  std::printf("virtualcluster/%s deleted\n", record.name.c_str());
  return kOk;
}

}  // namespace

int remove(const DeleteOptions& options) {
  const auto cluster = find_cluster(options.name, options.host_namespace);
  if (!cluster) {
    if (const auto damaged = find_damaged(options.name, options.host_namespace))
      return give_up_damaged(options, *damaged);
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
  if (auto stopped = stop_daemon(cluster->folder + "/daemon.lock", kStopGrace); !stopped)
    return give_up(stopped.error());
  steps.begin("remove its objects from the host");
  if (auto swept = sweep(options, *cluster); !swept) return give_up(swept.error());
  steps.begin("remove its state");
  forget_in_kubeconfig(cluster->name, cluster->host_namespace);
  const bool stop_host = cluster->embedded_host && !options.keep_host && last_on_embedded_host(*cluster);
  if (auto removed = remove_folder(cluster->folder); !removed) return give_up(removed.error());
  if (stop_host) {
    steps.begin("stop embedded host");
    if (auto stopped = stop_embedded_host(); !stopped) return give_up(stopped.error());
  }
  steps.done();
  std::printf("virtualcluster/%s deleted\n", cluster->name.c_str());
  return kOk;
}

}  // namespace sublet::cli
