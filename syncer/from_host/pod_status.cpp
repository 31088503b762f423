#include "syncer/from_host/pod_status.h"

#include <algorithm>
#include <vector>

#include "syncer/border/written.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kDisruption = "DisruptionTarget";

Value condition_of(const Value& status, std::string_view type) {
  for (const Value condition : status["conditions"])
    if (condition["type"].text() == type) return condition;
  return {};
}

// Once the kubelet has seen the host pod as it stands: the tenant's generation that was written there.
void put_observed_generation(Value status, const Value& host_pod, const Value& tenant_pod) {
  const Value seen = host_pod["status"]["observedGeneration"];
  const auto written = Written::on(host_pod).generation;
  if (seen && written > 0 && seen.integer() == host_pod["metadata"]["generation"].integer())
    status.put("observedGeneration", written);
  else if (const Value before = tenant_pod["status"]["observedGeneration"])
    status.put("observedGeneration", before);
}

// A kubelet's or a scheduler's: where the host does not say them, they are not so.
constexpr std::string_view kOfTheHost[] = {"PodScheduled",
                                           "Ready",
                                           "ContainersReady",
                                           "Initialized",
                                           "PodReadyToStartContainers",
                                           "PodResizePending",
                                           "PodResizeInProgress",
                                           "AllContainersRestarting",
                                           kDisruption};

bool is_gate(const Value& pod, std::string_view type) {
  for (const Value gate : pod["spec"]["readinessGates"])
    if (gate["conditionType"].text() == type) return true;
  return false;
}

// Of the rest, those that somebody in the tenant has written stay; as readiness gates they are the tenant's alone.
void keep_tenants_conditions(const Value& tenant_pod, Value status) {
  std::vector<Value> kept;
  for (const Value condition : tenant_pod["status"]["conditions"]) {
    const std::string_view type = condition["type"].text();
    if (std::ranges::find(kOfTheHost, type) != std::end(kOfTheHost)) continue;
    if (is_gate(tenant_pod, type) || !condition_of(status, type)) kept.push_back(condition);
  }
  if (kept.empty()) return;
  Value conditions = status.array("conditions");
  conditions.retain([&](const Value& condition) { return !is_gate(tenant_pod, condition["type"].text()); });
  for (const Value& condition : kept) conditions.push(condition);
}

// The tenant's server has said when the pod was scheduled as it was bound, which can be the next second. Until a
// kubelet speaks of the pod that is word enough: what it says brings the host's with it, in one write.
void keep_time_of_binding(const Value& host_status, const Value& tenant_pod, Value status) {
  if (host_status.has("startTime")) return;
  const Value before = condition_of(tenant_pod["status"], "PodScheduled");
  Value now = condition_of(status, "PodScheduled");
  if (now && before["status"].text() == "True" && now["status"].text() == "True")
    now.put("lastTransitionTime", before["lastTransitionTime"]);
}

// As a kubelet says it (k8s.io/kubernetes/pkg/kubelet/status: GeneratePodReadyCondition).
std::string open_gates(const Value& tenant_pod) {
  std::string text;
  for (const Value gate : tenant_pod["spec"]["readinessGates"]) {
    const std::string type = gate["conditionType"].string();
    const Value condition = condition_of(tenant_pod["status"], type);
    if (condition["status"].text() == "True") continue;
    text += text.empty() ? "" : ", ";
    text += condition ? "the status of pod readiness gate \"" + type + "\" is not \"True\", but " +
                            condition["status"].string()
                      : "corresponding condition of pod readiness gate \"" + type + "\" does not exist.";
  }
  return text;
}

// The host knows nothing of the gates: it says Ready when the containers are.
void judge_gates(const Value& tenant_pod, Value status) {
  Value ready = condition_of(status, "Ready");
  if (tenant_pod["spec"]["readinessGates"].empty() || ready["status"].text() != "True") return;
  if (const std::string open = open_gates(tenant_pod); !open.empty()) {
    ready.put("status", "False");
    ready.put("reason", "ReadinessGatesNotReady");
    ready.put("message", open);
  }
  // It changed with the last of what it depends on; and nothing has changed while it says what it said.
  const Value before = condition_of(tenant_pod["status"], "Ready");
  std::string since = ready["lastTransitionTime"].string();
  for (const Value gate : tenant_pod["spec"]["readinessGates"])
    since = std::max(since,
                     condition_of(tenant_pod["status"], gate["conditionType"].text())["lastTransitionTime"].string());
  if (before["status"].text() == ready["status"].text() && !before["lastTransitionTime"].text().empty())
    since = before["lastTransitionTime"].string();
  if (!since.empty()) ready.put("lastTransitionTime", since);
}

void translate_message(Value holder, const TextForTenant& text_for_tenant) {
  Value message = holder["message"];
  if (!message.text().empty()) message.set(text_for_tenant(message.text()));
}

// What schedulers, kubelets and runtimes say; what a container itself has left as its last words is its own.
void translate_texts(Value status, const TextForTenant& text_for_tenant) {
  translate_message(status, text_for_tenant);
  for (const Value condition : status["conditions"]) translate_message(condition, text_for_tenant);
  for (const char* list : {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"})
    for (const Value container : status[list])
      for (const char* state : {"state", "lastState"}) {
        translate_message(container[state]["waiting"], text_for_tenant);
        const Value ended = container[state]["terminated"];
        if (ended["reason"].text() == "ContainerCannotRun" || ended["reason"].text() == "StartError")
          translate_message(ended, text_for_tenant);
      }
}

// The scheduler's message names no gate. The tenant has to know which ones hold the pod, and whose they are.
void name_scheduling_gates(const Value& host_pod, const Value& tenant_pod, Value status) {
  Value scheduled = condition_of(status, "PodScheduled");
  if (scheduled["reason"].text() != "SchedulingGated") return;
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  const Value own = tenant_pod["spec"]["schedulingGates"];
  for (const Value gate : own) add(gate["name"].string());
  const Written written = Written::on(host_pod);
  for (const Value gate : host_pod["spec"]["schedulingGates"])
    if (!written.gates.contains(gate["name"].text())) add(gate["name"].string() + " (of the host)");
  if (!names.empty()) scheduled.put("message", scheduled["message"].string() + ": " + names);
}

}  // namespace

bool has_conditions_of_tenant(const Value& tenant_pod) {
  if (!tenant_pod["spec"]["readinessGates"].empty()) return true;
  for (const Value condition : tenant_pod["status"]["conditions"])
    if (std::ranges::find(kOfTheHost, condition["type"].text()) == std::end(kOfTheHost)) return true;
  return false;
}

Document tenant_pod_status(const TranslateContext& context, const Value& host_pod, const Value& tenant_pod,
                           const TextForTenant& text_for_tenant) {
  Document status = carry_back("PodStatus", host_pod["status"], tenant_pod, context);
  translate_texts(status.root(), text_for_tenant);
  if (const Value qos = tenant_pod["status"]["qosClass"]) status.root().put("qosClass", qos);
  put_observed_generation(status.root(), host_pod, tenant_pod);
  // An eviction in the tenant: the host sees a mere deletion, but a Job's failure policy asks why its pod ended.
  const Value ours = condition_of(tenant_pod["status"], kDisruption);
  if (ours && !condition_of(status.root(), kDisruption)) status.root().array("conditions").push(ours);
  keep_tenants_conditions(tenant_pod, status.root());
  keep_time_of_binding(host_pod["status"], tenant_pod, status.root());
  judge_gates(tenant_pod, status.root());
  name_scheduling_gates(host_pod, tenant_pod, status.root());
  return status;
}

}  // namespace sublet::syncer
