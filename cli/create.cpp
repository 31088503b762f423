#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt_hint.h"
#include "cli/json_output.h"
#include "cli/steps.h"

namespace sublet::cli {
namespace {

using cluster::Created;

// Steps that print how to continue when ^C comes after the record was stored.
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

Result<cluster::Quota> quota_of(const CreateOptions& options) {
  cluster::Quota quota{options.quota_objects, {}};
  if (const auto objects = quota.objects.value_or(0); objects > 0 && objects < cluster::kQuotaObjectsMin)
    return bad_request("--quota-objects " + std::to_string(objects) + ": must be 0 (no limit) or at least " +
                       std::to_string(cluster::kQuotaObjectsMin) +
                       ": a virtual cluster's own roles, namespaces and accounts are about 150");
  if (options.quota_bytes.empty()) return quota;
  const auto bytes = cluster::bytes_of(options.quota_bytes);
  if (!bytes) return bad_request("--quota-bytes " + bytes.error().message);
  if (*bytes > 0 && *bytes < cluster::kQuotaBytesMin)
    return bad_request("--quota-bytes " + options.quota_bytes +
                       ": must be 0 (no limit) or at least 1Mi, which a virtual cluster's own objects need");
  quota.bytes = *bytes;
  return quota;
}

// Without -n a name means the existing one, as in connect; "" when there is none. A second one of that name needs -n.
Result<std::string> existing_namespace(const cluster::Records& records, const std::string& name) {
  std::vector<std::string> namespaces;
  const auto note = [&](const auto& all) {
    for (const auto& other : all)
      if (other.name == name) namespaces.push_back(other.host_namespace);
  };
  note(records.clusters);
  note(records.damaged);
  if (namespaces.empty() || std::ranges::find(namespaces, "sublet-" + name) != namespaces.end()) return std::string();
  if (namespaces.size() == 1) return namespaces.front();
  std::string list;
  for (const std::string& each : namespaces) list += (list.empty() ? "" : ", ") + each;
  return bad_request("there are several virtual clusters " + name + ", in namespaces " + list +
                     "; name one: sublet create " + name + " -n " + namespaces.front());
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

void print_result(const cluster::Driver& driver, const Created& created, const Steps& steps, bool json) {
  const auto& [how, cluster] = created;
  std::fprintf(stderr, "virtual cluster %s in namespace %s %s in %s; use it: sublet connect %s -n %s\n",
               cluster.name.c_str(), cluster.host_namespace.c_str(), word_of(how), seconds_text(steps.total()).c_str(),
               cluster.name.c_str(), cluster.host_namespace.c_str());
  if (json) {
    auto document = cluster_json(cluster, driver.logs(cluster.name, cluster.host_namespace));
    document["result"] = word_of(how);
    return print_json(document);
  }
  std::printf("virtualcluster/%s %s\n", cluster.name.c_str(), word_of(how));
  std::fflush(stdout);
}

}  // namespace

int create(cluster::Driver& driver, const CreateOptions& options) {
  auto parameters = parse_settings(options.set);
  if (!parameters) return usage_error("create", parameters.error().message);
  const auto quota = quota_of(options);
  if (!quota) return usage_error("create", quota.error().message);
  const auto records = driver.list();
  if (!records) return report(records.error());
  auto host_namespace = options.host_namespace.empty() ? existing_namespace(*records, options.name)
                                                       : Result<std::string>(options.host_namespace);
  if (!host_namespace) return report(host_namespace.error());
  const auto plan =
      cluster::make_plan({options.name, std::move(*host_namespace), options.template_file, std::move(*parameters),
                          *quota, options.lenient, options.pod_address, options.pod_listen});
  if (!plan) return report(plan.error());
  for (const std::string& key : plan->left_out) std::fprintf(stderr, "left out: %s\n", key.c_str());
  std::optional<Created> created;
  {
    CreateSteps steps;
    auto made =
        driver.create(*plan, {options.host_kubeconfig, options.host_context, options.shape}, options.timeout, steps);
    if (!made) return steps.give_up(made.error());
    steps.done();
    print_result(driver, *made, steps, options.output == "json");
    created = std::move(*made);
  }
  if (!options.connect) return kOk;
  ConnectOptions connect_options;
  connect_options.name = created->cluster.name;
  connect_options.host_namespace = created->cluster.host_namespace;
  return connect(driver, connect_options);
}

namespace {

class CreateCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("NAME", options_.name, "name of the virtual cluster").required();
    words.text("-n,--namespace", options_.host_namespace, "namespace on the host (default: sublet-NAME)");
    words.file("-f,--template,--values", options_.template_file, "template file, or a plain vcluster.yaml");
    words.flag("--lenient", options_.lenient,
               "ignore keys of the template that sublet does not support, and name them, instead of refusing it");
    words.texts("--set", options_.set, "NAME=VALUE, a parameter of the template; may be repeated");
    const Word kubeconfig = words.file("--host-kubeconfig", options_.host_kubeconfig,
                                       "kubeconfig of the host (default: the embedded host)");
    const Word context = words.text("--context", options_.host_context, "context in the host's kubeconfig");
    words.timeout("--timeout", options_.timeout, "how long to wait, e.g. 60s");
    words.number("--quota-objects", options_.quota_objects, {0, 100'000'000},
                 "how many objects it may store; 0: no limit (default)");
    words.text(
        "--quota-bytes", options_.quota_bytes,
        "how much they may take, e.g. 500Mi; 0: no limit (default: " + std::string(cluster::kDefaultQuotaBytes) + ")");
    words.text("--pod-address", options_.pod_address,
               "address of this machine that the host's pods reach: gives them their API server and DNS");
    words.text("--pod-listen", options_.pod_listen,
               "address on which to listen for them, if it differs (behind NAT or a load balancer)");
    words.flag("--connect", options_.connect, "switch the current context to it when it is ready");
    const auto shape = [&](const char* flag, std::optional<int>& count, const char* help) {
      words.number(flag, count, {0, 10'000}, help).excludes(kubeconfig).excludes(context);
    };
    shape("--nodes", options_.shape.nodes, "embedded host: CPU nodes, when this command makes it (1)");
    shape("--gpu-nodes", options_.shape.gpu_nodes, "embedded host: GPU nodes (1)");
    shape("--gpus-per-node", options_.shape.gpus_per_node, "embedded host: GPUs on each GPU node (1)");
    words.output(options_.output);
    words.examples(
        "  sublet create rag                       # on the embedded host, in its namespace sublet-rag\n"
        "  sublet create rag -n team-rag -f templates/gpu-fraction.yaml --set queue=research\n"
        "  sublet create rag -n team-rag --context prod --connect\n"
        "  sublet create rag -n team-rag           # later: starts it again as it was\n"
        "  sublet create rag -n team-rag --quota-bytes 500Mi --quota-objects 20000   # also of an existing one");
  }
  int run(const Invocation& invocation) override { return create(*invocation.make_driver(), options_); }

 private:
  CreateOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_create_command() { return std::make_unique<CreateCommand>(); }

}  // namespace sublet::cli
