#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/context_name.h"
#include "cli/exit_code.h"
#include "cli/previous_context.h"
#include "cli/steps.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {
namespace {

using cluster::VirtualCluster;

bool confirmed(const VirtualCluster& cluster) {
  if (::isatty(STDIN_FILENO) != 1) return true;
  std::fprintf(stderr, "Delete virtual cluster %s (host namespace %s) with everything in it? [y/N] ",
               cluster.name.c_str(), cluster.host_namespace.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Only entries that are ours by name, also when one of them is current.
void forget_in_kubeconfig(const std::string& name, const std::string& host_namespace) {
  const std::string path = kube::default_kubeconfig_path();
  const auto contexts = kube::kubeconfig_contexts(path);
  if (!contexts) return;
  for (const std::string& context : *contexts) {
    if (!context.starts_with(context_prefix(name, host_namespace))) continue;
    const bool current = kube::kubeconfig_current_context(path).value_or("") == context;
    const std::string previous = current ? take_previous_context(path) : "";
    if (auto removed = kube::remove_context(path, context, previous); !removed) report(removed.error());
  }
}

class DeleteSteps final : public Steps {
 public:
  void leaving(const std::string& name, const std::string& host_namespace) override {
    forget_in_kubeconfig(name, host_namespace);
  }
};

int finish(const Outcome& removed, DeleteSteps& steps, const std::string& name) {
  if (!removed) return steps.give_up(removed.error());
  steps.done();
  std::printf("virtualcluster/%s deleted\n", name.c_str());
  return kOk;
}

int remove_damaged(const DeleteOptions& options, cluster::Driver& driver, const cluster::DamagedRecord& record) {
  if (!options.force)
    return report(internal_error(record.why + "; --force gives it up and leaves its host objects").value());
  DeleteSteps steps;
  return finish(driver.remove_damaged(record, steps), steps, record.name);
}

}  // namespace

int remove(cluster::Driver& driver, const DeleteOptions& options) {
  const auto records = driver.list();
  const auto cluster = find_cluster(records, options.name, options.host_namespace);
  if (!cluster) {
    if (const auto* damaged = find_damaged(records, options.name, options.host_namespace))
      return remove_damaged(options, driver, *damaged);
    if (options.ignore_not_found && cluster.error().is(Reason::not_found)) return kOk;
    return report(cluster.error());
  }
  if (!options.yes && !confirmed(*cluster)) return kRefused;
  DeleteSteps steps;
  return finish(driver.remove(*cluster, {options.force, options.keep_host, options.timeout}, steps), steps,
                cluster->name);
}

}  // namespace sublet::cli
