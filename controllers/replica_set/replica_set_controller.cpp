// ReplicaSets and ReplicationControllers: as many pods as they ask for. A row of facts distinguishes the two; the
// second has a plain map as selector and no count of terminating pods.

#include <algorithm>

#include "controllers/pods/claim.h"
#include "controllers/pods/owner_wake.h"
#include "controllers/pods/pod.h"
#include "controllers/pods/pod_control.h"
#include "controllers/pods/status.h"
#include "controllers/replica_set/pod_ranking.h"
#include "controllers/runtime/kinds.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr int kBurstReplicas = 500;  // pods that one reconcile makes or removes at most

struct SetFacts {
  KindFacts kind;
  By selector;
  bool says_terminating;
};
const SetFacts kReplicaSetFacts{{"apps/v1", "ReplicaSet", {"apps", "v1", "replicasets"}}, By::label_selector, true};
const SetFacts kReplicationControllerFacts{
    {"v1", "ReplicationController", {"", "v1", "replicationcontrollers"}}, By::map_selector, false};

struct Seen {
  std::vector<Pod> active, terminating;
};

/// The status from the pods that were seen; `error`: why there are not as many pods as wanted.
void count_pods_of(const SetFacts& facts, Value set, const Seen& seen, const std::optional<Status>& error,
                   WallTime now) {
  const auto spec = set["spec"];
  const auto labels = kube::LabelSelector::from_map(spec["template"]["metadata"]["labels"]);
  const std::chrono::seconds min_ready(spec["minReadySeconds"].integer());
  std::int64_t labelled = 0, ready = 0, available = 0;
  for (const auto& pod : seen.active) {
    labelled += labels.matches(pod.stored().index.labels) ? 1 : 0;
    ready += pod.ready() ? 1 : 0;
    available += pod.available(min_ready, now) ? 1 : 0;
  }
  auto status = set.object("status");
  const auto active = static_cast<std::int64_t>(seen.active.size());
  status.put("replicas", active);
  put_count(status, "fullyLabeledReplicas", labelled);
  put_count(status, "readyReplicas", ready);
  put_count(status, "availableReplicas", available);
  if (facts.says_terminating) status.put("terminatingReplicas", static_cast<std::int64_t>(seen.terminating.size()));
  const auto failure = find_condition(status["conditions"], kReplicaFailure);
  if (error && !failure)
    put_condition(status,
                  {kReplicaFailure, "True", active < spec["replicas"].integer() ? "FailedCreate" : "FailedDelete",
                   error->message},
                  now);
  else if (!error && failure)
    erase_condition(status, kReplicaFailure);
  put_count(status, "observedGeneration", set["metadata"]["generation"].integer());
}

class ReplicaSetController final : public Controller {
 public:
  ReplicaSetController(Context& context, const SetFacts& facts)
      : context_(context),
        facts_(facts),
        pod_control_(context),
        sets_(context.lister(facts.kind.resource, {By::owner, facts.selector})),
        pods_(context.lister(kPods, {By::owner, By::orphan})) {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_change(facts_.kind.resource, [this](const Change& change) {
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kPods, [this](const Change& change) { wake_owners(context_, facts_.kind, sets_, change); });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = sets_.get(namespace_name, name);
    if (!stored) return {};
    auto set = document_of(*stored);
    const auto selector = selector_of(set.root());
    if (!selector) return {};
    auto seen = look(*stored, *selector);
    if (!seen) return fail(seen.error());
    std::optional<Status> error;
    if (!is_ending(*stored)) error = manage(*stored, set.root(), *seen);
    return conclude(key, *stored, std::move(set), *seen, error);
  }

 private:
  Result<kube::LabelSelector> selector_of(const Value& set) const {
    const auto selector = set["spec"]["selector"];
    if (facts_.selector == By::map_selector) return kube::LabelSelector::from_map(selector);
    return kube::LabelSelector::from_object(selector);
  }

  /// The pods that are the set's, after those that want to be are.
  Result<Seen> look(const store::Object& set, const kube::LabelSelector& selector) const {
    const auto owner = ref_of(facts_.kind, set);
    std::vector<store::ObjectPtr> active;
    Seen seen;
    for (const auto& object : claim_candidates(pods_, owner)) {
      const bool owned = is_controlled_by(*object, owner.uid);
      if (!owned && !selector.matches(object->index.labels)) continue;
      const Pod pod(object);
      if (pod.active()) active.push_back(object);
      if (owned && pod.terminating() && selector.matches(object->index.labels)) seen.terminating.push_back(pod);
    }
    auto claimed = claim(context_.client(), kPods, {owner, is_ending(set), sets_, selector}, active);
    if (claimed.error) return fail(*claimed.error);
    seen.active = pods_of(claimed.objects);
    return seen;
  }

  std::optional<Status> manage(const store::Object& stored, const Value& set, const Seen& seen) const {
    const auto owner = ref_of(facts_.kind, stored);
    const auto wanted = static_cast<int>(set["spec"]["replicas"].integer());
    const auto have = static_cast<int>(seen.active.size());
    if (have < wanted) {
      const auto pod = pod_from_template(set["spec"]["template"], owner);
      return pod_control_.create(owner, std::min(wanted - have, kBurstReplicas), [&](int) { return pod.clone(); })
          .error;
    }
    if (have == wanted) return std::nullopt;
    const int count = std::min(have - wanted, kBurstReplicas);
    auto outcome =
        pod_control_.remove(owner, pods_to_delete(seen.active, family_of(stored), count, context_.clock().now()));
    return outcome ? std::nullopt : std::optional(outcome.error());
  }

  /// Pods of all sets that belong to the same Deployment.
  std::vector<Pod> family_of(const store::Object& set) const {
    const auto controller = controller_of(set);
    if (!controller) return {};
    std::vector<Pod> pods;
    for (const auto& sibling : sets_.owned_by(controller->uid))
      for (const auto& pod : pods_.owned_by(sibling->index.uid.str())) pods.emplace_back(pod);
    return pods;
  }

  Outcome conclude(const std::string& key, const store::Object& stored, Document set, const Seen& seen,
                   const std::optional<Status>& error) const {
    const auto now = context_.clock().now();
    const auto before = Document::copy_of(set["status"]);
    count_pods_of(facts_, set.root(), seen, error, now);
    if (!set["status"].equals(before.root())) {
      auto updated = put_status(context_.client(), facts_.kind.resource, set.root());
      if (!updated) return fail(updated.error());
    }
    if (error) return fail(*error);
    const std::chrono::seconds min_ready(set["spec"]["minReadySeconds"].integer());
    if (const auto wait = next_availability(seen.active, min_ready, now); wait && !is_ending(stored))
      context_.enqueue_after(key, *wait);
    return {};
  }

  Context& context_;
  const SetFacts& facts_;
  const PodControl pod_control_;
  const Lister sets_, pods_;
};

}  // namespace

std::unique_ptr<Controller> make_replica_set_controller(Context& context) {
  return std::make_unique<ReplicaSetController>(context, kReplicaSetFacts);
}

std::unique_ptr<Controller> make_replication_controller(Context& context) {
  return std::make_unique<ReplicaSetController>(context, kReplicationControllerFacts);
}

}  // namespace sublet::controllers
