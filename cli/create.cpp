#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt_hint.h"
#include "cli/json_output.h"
#include "cli/steps.h"

namespace sublet::cli {
namespace {

using cluster::Created;

// Steps that say how to go on, should ^C come when there is something to go on with.
class CreateSteps final : public Steps {
 public:
  void recorded(const cluster::VirtualCluster& cluster) override {
    hint_.emplace("run the same command again to go on, or: sublet delete " + cluster.name + " -n " +
                  cluster.host_namespace);
  }

 private:
  std::optional<InterruptHint> hint_;
};

Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> parameters;
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad_request("--set " + setting + " is not of the form NAME=VALUE");
    parameters[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return parameters;
}

Result<cluster::Plan> plan_of(const CreateOptions& options) {
  auto parameters = parse_settings(options.set);
  if (!parameters) return fail(parameters.error());
  cluster::Quota quota{options.quota_objects, {}};
  if (const auto objects = quota.objects.value_or(0); objects > 0 && objects < cluster::kQuotaObjectsMin)
    return bad_request("--quota-objects " + std::to_string(objects) + ": must be 0 (no limit) or at least " +
                       std::to_string(cluster::kQuotaObjectsMin) +
                       ": a virtual cluster's own roles, namespaces and accounts are about 150");
  if (!options.quota_bytes.empty()) {
    const auto bytes = cluster::bytes_of(options.quota_bytes);
    if (!bytes) return bad_request("--quota-bytes " + bytes.error().message);
    quota.bytes = *bytes;
  }
  return cluster::make_plan({options.name, options.host_namespace, options.template_file, std::move(*parameters), quota,
                             options.lenient, options.pod_address, options.pod_listen});
}

// Without -n a name means the one that there is. A new one of that name elsewhere has to be asked for: whoever wants
// the stopped one back would else get an empty one beside it.
Outcome refuse_namesake(const cluster::Records& records, const CreateOptions& options, const cluster::Plan& plan) {
  if (!options.host_namespace.empty()) return {};
  const std::string& name = plan.cluster.name;
  const std::string& wanted = plan.cluster.host_namespace;
  const auto has = [&](const auto& all) {
    return std::ranges::any_of(all,
                               [&](const auto& other) { return other.name == name && other.host_namespace == wanted; });
  };
  if (has(records.clusters) || has(records.damaged)) return {};
  std::string there;
  const auto note = [&](const auto& all) {
    for (const auto& other : all)
      if (other.name == name) there += (there.empty() ? "" : ", ") + other.host_namespace;
  };
  note(records.clusters);
  note(records.damaged);
  if (there.empty()) return {};
  return bad_request("there is a virtual cluster " + name + " in namespace " + there +
                     "; for that one: sublet create " + name + " -n " + there.substr(0, there.find(',')) +
                     "; for a new one beside it: sublet create " + name + " -n " + wanted);
}

const char* word_of(Created::How how) {
  switch (how) {
    case Created::How::created:
      return "created";
    case Created::How::started:
      return "started";
    case Created::How::unchanged:
      return "unchanged";
  }
  return "";
}

void print_result(const Created& created, const Steps& steps, bool json) {
  const auto& [how, cluster] = created;
  std::fprintf(stderr, "virtual cluster %s in namespace %s %s in %s; use it: sublet connect %s -n %s\n",
               cluster.name.c_str(), cluster.host_namespace.c_str(), word_of(how), seconds_text(steps.total()).c_str(),
               cluster.name.c_str(), cluster.host_namespace.c_str());
  if (json) {
    auto document = cluster_json(cluster);
    document["result"] = word_of(how);
    return print_json(document);
  }
  std::printf("virtualcluster/%s %s\n", cluster.name.c_str(), word_of(how));
  std::fflush(stdout);
}

}  // namespace

int create(cluster::Driver& driver, const CreateOptions& options) {
  const auto plan = plan_of(options);
  if (!plan) return report(plan.error());
  for (const std::string& key : plan->left_out) std::fprintf(stderr, "left out: %s\n", key.c_str());
  if (auto clear = refuse_namesake(driver.list(), options, *plan); !clear) return report(clear.error());
  std::optional<Created> created;
  {
    CreateSteps steps;
    auto made =
        driver.create(*plan, {options.host_kubeconfig, options.host_context, options.shape}, options.timeout, steps);
    if (!made) return steps.give_up(made.error());
    steps.done();
    print_result(*made, steps, options.output == "json");
    created = std::move(*made);
  }
  if (!options.connect) return kOk;
  ConnectOptions connect_options;
  connect_options.name = created->cluster.name;
  connect_options.host_namespace = created->cluster.host_namespace;
  return connect(driver, connect_options);
}

}  // namespace sublet::cli
