#include <cstdio>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_output.h"
#include "cli/reasons.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "cli/tenant_object.h"

namespace sublet::cli {
namespace {

const kube::Resource kEvents{"", "v1", "events"}, kPods{"", "v1", "pods"},
    kGroups{"scheduling.k8s.io", "v1alpha2", "podgroups"};
constexpr std::chrono::seconds kHealthTimeout{2};

Result<schema::Document> events_in(const Side& side, const std::string& namespace_name, const std::string& selector) {
  kube::ListOptions options;
  options.field_selector = selector;
  return side.client().list(kEvents, namespace_name, options);
}

// Not every virtual cluster serves the kind; an error means that there is none.
std::string gang_in(const Side& side, const schema::Value& pod, const std::string& namespace_name) {
  const std::string name = pod["spec"]["schedulingGroup"]["podGroupName"].string();
  if (name.empty()) return {};
  const auto group = side.client().get(kGroups, namespace_name, name);
  const auto pods = side.client().list(kPods, namespace_name);
  if ((!group && !group.error().is(Reason::not_found)) || !pods) return {};
  return gang_of(pod, group ? group->root() : schema::Value(), pods->root()["items"]);
}

// A cause outside the pod: without its syncer nothing reaches the host.
std::string next_step(const cluster::VirtualCluster& cluster, const std::string& status) {
  const std::string name = cluster.name + " -n " + cluster.host_namespace;
  if (status == "HostDown" && !cluster.embedded_host)
    return "its host (context " + cluster.host_context +
           ") does not answer; it continues by itself when the host is back";
  if (status == "TokenExpired")
    return "renew its access to the host: sublet create " + name +
           (cluster.embedded_host ? "" : " --host-kubeconfig FILE");
  if (status == "Deleting") return "its deletion is not finished: sublet delete " + name;
  return "sublet create " + name + " starts what does not run";
}

void add_cluster(cluster::Driver& driver, const cluster::VirtualCluster& cluster, Reasons& reasons) {
  const auto status = driver.status({&cluster, 1}, kHealthTimeout);
  if (status.empty() || status[0].status == "Running") return;
  reasons.sentences.insert(reasons.sentences.begin(), "the virtual cluster is " + status[0].status +
                                                          ", so nothing reaches its host; " +
                                                          next_step(cluster, status[0].status));
}

struct ControllerKind {
  kube::Resource resource;
  const char* kind;
  const char *wanted, *present;  // paths of numbers
};
const ControllerKind kControllerKinds[] = {
    {{"apps", "v1", "replicasets"}, "ReplicaSet", "spec.replicas", "status.replicas"},
    {{"apps", "v1", "statefulsets"}, "StatefulSet", "spec.replicas", "status.replicas"},
    {{"apps", "v1", "daemonsets"}, "DaemonSet", "status.desiredNumberScheduled", "status.currentNumberScheduled"},
    {{"batch", "v1", "jobs"}, "Job", "spec.parallelism", "status.active"}};

std::int64_t number_at(const schema::Value& object, const std::string& path) {
  const auto dot = path.find('.');
  return object[path.substr(0, dot)][path.substr(dot + 1)].integer();
}

// The controllers that could have a pod of that name, and how many pods each wants and has.
std::vector<std::string> controllers_of(const Side& side, const ObjectName& pod) {
  std::vector<std::string> sentences;
  for (const ControllerKind& kind : kControllerKinds) {
    const auto listed = side.client().list(kind.resource, pod.namespace_name);
    if (!listed) continue;
    for (const schema::Value object : listed->root()["items"]) {
      const std::string name = object["metadata"]["name"].string();
      if (!may_control(name, pod.name)) continue;
      sentences.push_back(std::string(kind.kind) + " " + name + " wants " +
                          std::to_string(number_at(object, kind.wanted)) + " pods and has " +
                          std::to_string(number_at(object, kind.present)));
    }
  }
  return sentences;
}

int print_reasons(const WhyOptions& options, const ObjectName& name, const Reasons& reasons) {
  if (options.output == "json") {
    auto document = json_object("Reasons");
    document["object"] = name.text();
    document["well"] = reasons.well;
    document["reasons"] = reasons.sentences;
    print_json(document);
    return kOk;
  }
  std::printf("%s:\n", printable(name.text()).c_str());
  for (const std::string& sentence : reasons.sentences) std::printf("- %s\n", printable(sentence).c_str());
  return kOk;
}

}  // namespace

int why(cluster::Driver& driver, const WhyOptions& options) {
  const auto cluster = find_named(driver, options.name, options.host_namespace);
  if (!cluster) return report(cluster.error());
  const auto name = parse_object_name(options.object);
  if (!name) return report(name.error());
  if (name->facts->kind != "Pod")
    return report(bad_request(options.object + ": why is about pods, as in pod/web").value());
  const auto access = driver.access(*cluster);
  if (!access) return report(access.error());
  const auto side = Side::connect(*access);
  if (!side) return report(side.error());
  const auto pod = get_object(**side, *name);
  Reasons reasons;
  if (pod) {
    const auto events =
        events_in(**side, name->namespace_name, "involvedObject.uid=" + pod->root()["metadata"]["uid"].string());
    if (!events) return report(events.error());
    reasons = reasons_of(pod->root(), events->root()["items"], gang_in(**side, pod->root(), name->namespace_name));
  } else {
    if (!pod.error().is(Reason::not_found)) return report(pod.error());
    const auto events = events_in(**side, name->namespace_name, "reason=FailedCreate");
    if (!events) return report(events.error());
    reasons.sentences = failed_creations(events->root()["items"], name->name);
    for (std::string& sentence : controllers_of(**side, *name)) reasons.sentences.push_back(std::move(sentence));
    if (reasons.sentences.empty()) return report(pod.error());
    reasons.sentences.insert(reasons.sentences.begin(), "there is no such pod");
  }
  if (!reasons.well) add_cluster(driver, *cluster, reasons);
  return print_reasons(options, *name, reasons);
}

namespace {

class WhyCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.text("NAME", options_.name, "the virtual cluster, also as `sublet list -o name` prints it").required();
    words.text("OBJECT", options_.object, "pod/NAME or pod/NAMESPACE/NAME in it").required();
    words.text("-n,--namespace", options_.host_namespace, "its namespace on the host");
    words.output(options_.output);
    words.examples(
        "  sublet why rag pod/web\n"
        "  sublet why rag pod/team/web -o json");
  }
  int run(const Invocation& invocation) override { return why(*invocation.make_driver(), options_); }

 private:
  WhyOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_why_command() { return std::make_unique<WhyCommand>(); }

}  // namespace sublet::cli
