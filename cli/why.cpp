#include <cstdio>

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

// Of a kind that not every virtual cluster serves: what cannot be asked is not there.
std::string gang_in(const Side& side, const schema::Value& pod, const std::string& namespace_name) {
  const std::string name = pod["spec"]["schedulingGroup"]["podGroupName"].string();
  if (name.empty()) return {};
  const auto group = side.client().get(kGroups, namespace_name, name);
  const auto pods = side.client().list(kPods, namespace_name);
  if ((!group && !group.error().is(Reason::not_found)) || !pods) return {};
  return gang_of(pod, group ? group->root() : schema::Value(), pods->root()["items"]);
}

// What is not the pod's doing: without its syncer nothing comes to the host.
void add_cluster(cluster::Driver& driver, const cluster::VirtualCluster& cluster, Reasons& reasons) {
  const auto status = driver.status({&cluster, 1}, kHealthTimeout);
  if (status.empty() || status[0].status == "Running") return;
  reasons.sentences.insert(reasons.sentences.begin(), "the virtual cluster is " + status[0].status +
                                                          ", so nothing comes to its host; sublet create " +
                                                          cluster.name + " -n " + cluster.host_namespace +
                                                          " starts what of it does not run");
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
  const auto reference = parse_reference(options.name, options.host_namespace);
  if (!reference) return report(reference.error());
  const auto cluster = find_cluster(driver.list(), reference->name, reference->host_namespace);
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
    reasons.sentences = failed_creations(events->root()["items"]);
    if (reasons.sentences.empty()) return report(pod.error());
    reasons.sentences.insert(reasons.sentences.begin(), "there is no such pod; in its namespace these were not made:");
  }
  if (!reasons.well) add_cluster(driver, *cluster, reasons);
  return print_reasons(options, *name, reasons);
}

}  // namespace sublet::cli
