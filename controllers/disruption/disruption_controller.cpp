// PodDisruptionBudgets: writes into their status how many pods may be evicted now; the API server's eviction obeys it.
// And clears DisruptionTarget of pods whose disruption did not come within two minutes. Keys: "namespace/name" of a
// budget, "pod/namespace/name" of such a pod.

#include <algorithm>
#include <map>

#include "controllers/disruption/budget.h"
#include "controllers/pods/status.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;

const kube::Resource kBudgets{"policy", "v1", "poddisruptionbudgets"}, kReplicaSets{"apps", "v1", "replicasets"},
    kDeployments{"apps", "v1", "deployments"};
const KindFacts kBudget{"policy/v1", "PodDisruptionBudget", kBudgets};
constexpr std::string_view kStale = "pod/";

/// Who wants how many pods.
struct Scale {
  std::string uid;
  std::int64_t replicas = 0;
};

bool says_otherwise(const Change& change) {
  if (!change.before || !change.after) return true;
  const auto &before = *change.before, &after = *change.after;
  const auto differs = [&](std::string_view part, std::string_view member) {
    return raw_of(before, {part, member}) != raw_of(after, {part, member});
  };
  if (differs("status", "conditions") || differs("status", "phase") || differs("metadata", "ownerReferences"))
    return true;
  return before.index.labels != after.index.labels || is_ending(before) != is_ending(after);
}

class DisruptionController final : public Controller {
 public:
  explicit DisruptionController(Context& context)
      : context_(context),
        budgets_(context.lister(kBudgets, {By::label_selector})),
        pods_(context.lister(kPods, {By::label})),
        replica_sets_(context.lister(kReplicaSets)),
        deployments_(context.lister(kDeployments)) {}

  void start() override {
    context_.on_change(kBudgets, [this](const Change& change) {
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kPods, [this](const Change& change) {
      if (!says_otherwise(change)) return;
      for (const auto* state : {change.before.get(), change.after.get()})
        if (state)
          for (const auto& budget : budgets_.selecting(namespace_of(*state), state->index))
            context_.enqueue(key_of(*budget));
      if (change.after &&
          raw_of(*change.after, {"status", "conditions"}).find(kDisruptionTarget) != std::string_view::npos)
        context_.enqueue(std::string(kStale) + key_of(*change.after));
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kStale)) return call_off(key, parts_of(key.substr(kStale.size())));
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = budgets_.get(namespace_name, name);
    if (!stored) return {};
    auto budget = document_of(*stored);
    auto judged = judge(*stored, budget.root());
    bool changed = false;
    const auto now = context_.clock().now();
    if (judged) {
      for (const auto& pod : judged->not_deleted) say_not_deleted(namespace_name, pod);
      if (judged->next_look)
        context_.enqueue_after(key, std::chrono::ceil<milliseconds>(*judged->next_look - now) + milliseconds(1));
      changed = put_status(budget.root(), *judged, now);
    } else {
      changed = put_failure(budget.root(), judged.error().message, now);
    }
    if (!changed) return {};
    return settled(context_.client().update(kBudgets, namespace_name, name, budget.root(), "status"));
  }

 private:
  Result<BudgetStatus> judge(const store::Object& stored, const Value& budget) {
    const auto about = ref_of(kBudget, stored);
    auto selector = kube::LabelSelector::from_object(budget["spec"]["selector"]);
    if (!selector) {
      context_.events().warning(about, "NoPods", "Failed to get pods: " + selector.error().message);
      return fail(selector.error());
    }
    const auto pods = pods_of(pods_.selected(about.namespace_name, *selector));
    if (pods.empty()) context_.events().normal(about, "NoPods", "No matching pods found");
    std::int64_t scale = 0;
    if (needs_scale(budget["spec"])) {
      auto wanted = expected_scale(about, budget["spec"]["selector"], pods);
      if (!wanted) {
        context_.events().warning(about, "CalculateExpectedPodCountFailed",
                                  "Failed to calculate the number of expected pods: " + wanted.error().message);
        return fail(wanted.error());
      }
      scale = *wanted;
    }
    auto status = judge_budget(budget, pods, scale, context_.clock().now());
    if (!status) return bad_request("minAvailable and maxUnavailable must be a number or a percentage");
    return *status;
  }

  /// What the pods' controllers want together; pods without one are not counted.
  Result<std::int64_t> expected_scale(const ObjectRef& about, const Value& selector, const std::vector<Pod>& pods) {
    std::map<std::string, std::int64_t> scales;  // by the uid of who wants them
    std::map<std::string, std::string> seen;     // controllers that were looked up: who wants their pods
    bool unmanaged = false;
    for (const auto& pod : pods) {
      const auto controller = controller_of(pod.stored());
      if (!controller) {
        unmanaged = true;
        continue;
      }
      if (seen.contains(controller->uid)) continue;
      auto scale = scale_of(about.namespace_name, *controller);
      if (!scale) return fail(scale.error());
      if (scale->uid.empty())
        return fail(Reason::not_found, "found no controllers for pod \"" + std::string(pod.name()) + "\"");
      seen[controller->uid] = scale->uid;
      scales[scale->uid] = scale->replicas;
    }
    if (unmanaged)
      context_.events().warning(
          about, "UnmanagedPods",
          "Pods selected by this PodDisruptionBudget (selector: " + go_text(selector) +
              ") were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
              "may result in undefined behavior. To account for these pods please set \".spec.minAvailable\" field of "
              "the PDB to an integer value.");
    std::int64_t total = 0;
    for (const auto& [uid, replicas] : scales) total += replicas;
    return total;
  }

  /// uid "": it is not there, or is another one of that name.
  Result<Scale> scale_of(const std::string& namespace_name, const OwnerRef& controller) {
    if (controller.kind == "ReplicaSet" && controller.api_version.starts_with("apps/")) {
      const auto set = replica_sets_.get(namespace_name, controller.name);
      if (!set || set->index.uid != controller.uid) return Scale{};
      const auto above = controller_of(*set);
      if (!above || above->kind != "Deployment") return read_scale(*set);
      const auto deployment = deployments_.get(namespace_name, above->name);
      return deployment && deployment->index.uid == above->uid ? read_scale(*deployment) : Scale{};
    }
    return ask_scale(namespace_name, controller);
  }

  static Scale read_scale(const store::Object& workload) {
    const auto text = raw_of(workload, {"spec", "replicas"});
    return {workload.index.uid, text.empty() ? 0 : std::stoll(std::string(text))};
  }

  /// Anything with a subresource `scale`: StatefulSets, ReplicationControllers, custom resources.
  Result<Scale> ask_scale(const std::string& namespace_name, const OwnerRef& controller) {
    const auto slash = controller.api_version.find('/');
    const auto group = slash == std::string::npos ? "" : controller.api_version.substr(0, slash);
    const auto version = controller.api_version.substr(slash == std::string::npos ? 0 : slash + 1);
    const auto kinds = context_.options().kinds();
    const auto* facts = kinds->find_resource_of_kind(group, version, controller.kind);
    if (!facts)
      return bad_request("no matches for kind \"" + controller.kind + "\" in version \"" + controller.api_version +
                         "\"");
    const kube::Resource resource{group, version, std::string(facts->resource)};
    // Asked of discovery, as upstream does: the role has no right to read the object itself.
    if (std::ranges::none_of(facts->subresources, [](const auto& sub) { return sub.name == "scale"; }))
      return bad_request(group_resource(group, resource.resource) + " does not implement the scale subresource");
    auto scale = context_.client().get(resource, namespace_name, controller.name, "scale");
    if (scale) {
      if ((*scale)["metadata"]["uid"].text() != controller.uid) return Scale{};
      return Scale{controller.uid, (*scale)["spec"]["replicas"].integer()};
    }
    if (!scale.error().is(Reason::not_found)) return fail(scale.error());
    return Scale{};
  }

  void say_not_deleted(const std::string& namespace_name, const std::string& name) {
    if (const auto pod = pods_.get(namespace_name, name))
      context_.events().warning(
          ref_of(kPodKind, *pod), "NotDeleted",
          "Pod was expected by PDB " + namespace_name + "/" + namespace_name + " to be deleted but it wasn't");
  }

  Outcome call_off(const std::string& key, const KeyParts& parts) {
    const auto stored = pods_.get(parts.namespace_name, parts.name);
    if (!stored) return {};
    const Pod pod(stored);
    const auto condition = pod.condition(kDisruptionTarget);
    if (pod.ending() || pod.terminal() || condition["status"].text() != "True" ||
        condition["reason"].text() == "TerminationByKubelet")
      return {};
    const auto now = context_.clock().now();
    const auto since = parse_time(condition["lastTransitionTime"].text()).value_or(WallTime());
    if (const auto left = since + kEvictionTakes - now; left > milliseconds(0)) {
      context_.enqueue_after(key, std::chrono::ceil<milliseconds>(left));
      return {};
    }
    auto changed = document_of(*stored);
    for (Value entry : changed["status"]["conditions"]) {
      if (entry["type"].text() != kDisruptionTarget) continue;
      entry.put("status", "False");
      entry.put("lastTransitionTime", format_time(now));
      entry.erase("reason");
      entry.erase("message");
    }
    return settled(context_.client().update(kPods, parts.namespace_name, parts.name, changed.root(), "status"));
  }

  Context& context_;
  const Lister budgets_, pods_, replica_sets_, deployments_;
};

}  // namespace

std::unique_ptr<Controller> make_disruption_controller(Context& context) {
  return std::make_unique<DisruptionController>(context);
}

}  // namespace sublet::controllers
