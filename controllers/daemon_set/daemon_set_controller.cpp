// DaemonSets: a pod on every node that fits, kept at the set's revision by rolling updates.

#include <algorithm>

#include "controllers/daemon_set/daemon_plan.h"
#include "controllers/pods/history.h"
#include "controllers/pods/owner_wake.h"
#include "controllers/pods/pod_control.h"
#include "controllers/pods/status.h"
#include "controllers/pods/template_hash.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const KindFacts kDaemonSetKind{"apps/v1", "DaemonSet", {"apps", "v1", "daemonsets"}};
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";
constexpr std::size_t kBurstDaemonPods = 250;  // pods that one step makes or removes at most
constexpr std::chrono::milliseconds kFirstWait{1000}, kLongestWait{900'000};

std::string revision_hash_of(const Value& revision) {
  return revision["metadata"]["labels"][kDaemonHashLabel].string();
}

/// Pods that fail again and again on a node are replaced ever more slowly.
class FailureWaits {
 public:
  /// How long to wait before the next one goes; zero: it may go now, and the next wait is longer.
  std::chrono::milliseconds next(const std::string& key, WallTime now) {
    MutexLock lock(mutex_);
    auto& wait = waits_[key];
    if (now - wait.since > 2 * kLongestWait) wait.length = std::chrono::milliseconds(0);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wait.since + wait.length - now);
    if (wait.length.count() > 0 && left.count() > 0) return left;
    wait.length = wait.length.count() == 0 ? kFirstWait : std::min(2 * wait.length, kLongestWait);
    wait.since = now;
    return std::chrono::milliseconds(0);
  }
  void forget(const std::string& uid) {
    MutexLock lock(mutex_);
    std::erase_if(waits_, [&](const auto& entry) { return entry.first.starts_with(uid); });
  }

 private:
  struct Wait {
    std::chrono::milliseconds length{0};
    WallTime since{};
  };
  Mutex mutex_;
  std::map<std::string, Wait> waits_ SUBLET_GUARDED_BY(mutex_);
};

class DaemonSetController final : public Controller {
 public:
  explicit DaemonSetController(Context& context)
      : context_(context),
        pod_control_(context),
        sets_(context.lister(kDaemonSetKind.resource, {By::label_selector})),
        pods_(context.lister(kPods, {By::owner, By::orphan})),
        revisions_(context.lister(kRevisionResource, {By::owner, By::orphan})),
        nodes_(context.lister(kNodes)) {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_change(kDaemonSetKind.resource, [this](const Change& change) {
      if (change.after)
        context_.enqueue(key_of(*change.after));
      else
        failures_.forget(change.before->index.uid);
    });
    const auto wake = [this](const Change& change) { wake_owners(context_, kDaemonSetKind, sets_, change); };
    context_.on_change(kPods, wake);
    context_.on_change(kRevisionResource, wake);
    context_.on_change(kNodes, [this](const Change& change) { node_changed(change); });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = sets_.get(namespace_name, name);
    // While it is deleted its revisions go too: its pods cannot be compared any more.
    if (!stored || is_ending(*stored)) return {};
    auto set = document_of(*stored);
    auto selector = kube::LabelSelector::from_object(set["spec"]["selector"]);
    if (!selector) return fail(selector.error());
    const Claimant claimant{ref_of(kDaemonSetKind, *stored), false, sets_, *selector};
    auto history = find_history(set, claimant);
    if (!history) return fail(history.error());
    DaemonWish wish;
    wish.hash = revision_hash_of(history->current.root());
    wish.generation = set["metadata"]["annotations"][kTemplateGeneration].string();
    wish.surges = update_limits(set.root(), 1).surge > 0;
    wish.min_ready = std::chrono::seconds(set["spec"]["minReadySeconds"].integer());
    wish.now = context_.clock().now();
    const auto outcome = act(set.root(), claimant, wish, *history);
    const auto written = write_status(std::move(set), claimant, wish);
    return outcome ? written : outcome;
  }

 private:
  struct History {
    Document current;
    std::vector<Document> old;  // by their numbers
  };

  /// Only what decides whether daemons fit: a node's heartbeat wakes no controller.
  void node_changed(const Change& change) {
    const bool same = change.before && change.after && change.before->index.labels == change.after->index.labels &&
                      raw_of(*change.before, {"spec"}) == raw_of(*change.after, {"spec"});
    if (same) return;
    for (const auto& set : sets_.list()) context_.enqueue(key_of(*set));
  }

  // --- revisions ---

  Result<History> find_history(Document& set, const Claimant& claimant) {
    auto revisions = claimed_revisions(context_.client(), revisions_, claimant);
    if (!revisions) return fail(revisions.error());
    const auto data = revision_data(set["spec"]["template"]);
    History history;
    std::vector<Document> equal;
    for (auto& revision : *revisions) {
      auto& place = revision["data"].equals(data.root()) ? equal : history.old;
      place.push_back(std::move(revision));
    }
    const auto number = (history.old.empty() ? 0 : number_of(history.old.back().root())) + 1;
    auto current = equal.empty() ? create_revision(set, claimant.owner, number) : keep_one(std::move(equal), claimant);
    if (!current) return fail(current.error());
    if (number_of(current->root()) < number) current = renumber(context_.client(), current->root(), number);
    if (!current) return fail(current.error());
    history.current = std::move(*current);
    return history;
  }

  /// Of several revisions of the same template the latest stays, and the pods of the others become its own.
  Result<Document> keep_one(std::vector<Document> equal, const Claimant& claimant) {
    auto kept = std::move(equal.back());
    equal.pop_back();
    if (equal.empty()) return kept;
    auto patch = Document::object();
    patch.root().object("metadata").object("labels").put(kDaemonHashLabel, revision_hash_of(kept.root()));
    for (const auto& object : pods_.owned_by(claimant.owner.uid)) {
      if (Pod(object).label(kDaemonHashLabel) == revision_hash_of(kept.root())) continue;
      if (auto patched = settled(context_.client().patch(kPods, claimant.owner.namespace_name, name_of(*object),
                                                         kube::PatchType::merge, patch.to_json()));
          !patched)
        return fail(patched.error());
    }
    if (auto removed = truncate_history(
            context_.client(), equal, [](const Value&) { return false; }, 0);
        !removed)
      return fail(removed.error());
    return kept;
  }

  Result<Document> create_revision(Document& set, const ObjectRef& owner, std::int64_t number) {
    const auto collisions = set["status"]["collisionCount"];
    const auto hash =
        template_hash(set["spec"]["template"], collisions ? std::optional(collisions.integer()) : std::nullopt);
    auto revision = new_revision(set.root(), owner, set_name(owner.name, hash), number);
    revision["metadata"].object("labels").put(kDaemonHashLabel, hash);
    auto created = context_.client().create(kRevisionResource, owner.namespace_name, revision.root());
    if (created || !created.error().is(Reason::already_exists)) return created;
    auto there = context_.client().get(kRevisionResource, owner.namespace_name, name_of(revision.root()));
    if (!there || (*there)["data"].equals(revision["data"])) return there;
    set.root().object("status").put("collisionCount", collisions.integer() + 1);
    if (auto written = put_status(context_.client(), kDaemonSetKind.resource, set.root()); !written)
      return fail(written.error());
    return created;
  }

  /// The oldest of too many old revisions go, unless a pod is still of them.
  Outcome clean_up(const Value& set, const Claimant& claimant, const History& history) {
    auto too_many = static_cast<std::int64_t>(history.old.size()) - set["spec"]["revisionHistoryLimit"].integer();
    for (const auto& revision : history.old) {
      if (too_many <= 0) break;
      const auto hash = revision_hash_of(revision.root());
      const auto pods = pods_of(pods_.owned_by(claimant.owner.uid));
      if (std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.label(kDaemonHashLabel) == hash; }))
        continue;
      if (auto removed = settled(
              context_.client().remove(kRevisionResource, claimant.owner.namespace_name, name_of(revision.root())));
          !removed)
        return removed;
      --too_many;
    }
    return {};
  }

  // --- pods ---

  Result<DaemonNodes> look(const Value& set, const Claimant& claimant) {
    auto spec = Document::copy_of(set["spec"]["template"]["spec"]);
    add_daemon_tolerations(spec.root());
    DaemonNodes nodes;
    for (const auto& node : nodes_.list())
      nodes[std::string(name_of(*node))].fit = node_fit(spec.root(), document_of(*node).root());
    auto claimed = claim(context_.client(), kPods, claimant, claim_candidates(pods_, claimant.owner));
    if (claimed.error) return fail(*claimed.error);
    for (auto& pod : pods_of(claimed.objects)) {
      const auto name = target_node(pod);
      if (name.empty() || (pod.terminal() && pod.ending())) continue;
      auto& node = nodes.try_emplace(name, DaemonNode{{}, false}).first->second;
      node.pods.push_back(std::move(pod));
    }
    return nodes;
  }

  Outcome act(const Value& set, const Claimant& claimant, const DaemonWish& wish, const History& history) {
    auto nodes = look(set, claimant);
    if (!nodes) return fail(nodes.error());
    auto plan = plan_nodes(*nodes, wish);
    replace_ended(set, claimant.owner, plan);
    // An update goes on only from a state in which nothing is to be repaired.
    if (plan.empty() && set["spec"]["updateStrategy"]["type"].text() == "RollingUpdate")
      plan = plan_update(*nodes, wish, update_limits(set, count_daemons(*nodes, wish).desired));
    if (auto done = carry_out(set, claimant.owner, wish, plan); !done) return done;
    return clean_up(set, claimant, history);
  }

  void replace_ended(const Value& set, const ObjectRef& owner, DaemonPlan& plan) {
    for (const auto& ended : plan.ended) {
      if (ended.failed) {
        const auto key =
            owner.uid + "/" + std::to_string(set["status"]["observedGeneration"].integer()) + "/" + ended.node;
        if (const auto wait = failures_.next(key, context_.clock().now()); wait.count() > 0) {
          context_.enqueue_after(owner.key(), wait);
          continue;
        }
      }
      const auto pod = owner.namespace_name + "/" + ended.pod + " on node " + ended.node;
      if (ended.failed)
        context_.events().warning(owner, "FailedDaemonPod", "Found failed daemon pod " + pod + ", will try to kill it");
      else
        context_.events().normal(owner, "SucceededDaemonPod",
                                 "Found succeeded daemon pod " + pod + ", will try to delete it");
      plan.pods_to_remove.push_back(ended.pod);
    }
  }

  Outcome carry_out(const Value& set, const ObjectRef& owner, const DaemonWish& wish, DaemonPlan& plan) {
    plan.nodes_to_fill.resize(std::min(plan.nodes_to_fill.size(), kBurstDaemonPods));
    plan.pods_to_remove.resize(std::min(plan.pods_to_remove.size(), kBurstDaemonPods));
    const auto pod_template = daemon_template(set, wish);
    const auto created = pod_control_.create(owner, static_cast<int>(plan.nodes_to_fill.size()), [&](int i) {
      auto pod = pod_from_template(pod_template.root(), owner);
      aim_at_node(pod["spec"], plan.nodes_to_fill[static_cast<std::size_t>(i)]);
      return pod;
    });
    auto removed = pod_control_.remove(owner, plan.pods_to_remove);
    return created.error ? fail(*created.error) : removed;
  }

  Outcome write_status(Document set, const Claimant& claimant, const DaemonWish& wish) {
    auto nodes = look(set.root(), claimant);
    if (!nodes) return fail(nodes.error());
    const auto counts = count_daemons(*nodes, wish);
    const auto before = Document::copy_of(set["status"]);
    auto status = set.root().object("status");
    status.put("currentNumberScheduled", counts.current);
    status.put("numberMisscheduled", counts.misscheduled);
    status.put("desiredNumberScheduled", counts.desired);
    status.put("numberReady", counts.ready);
    put_count(status, "observedGeneration", set["metadata"]["generation"].integer());
    put_count(status, "updatedNumberScheduled", counts.updated);
    put_count(status, "numberAvailable", counts.available);
    put_count(status, "numberUnavailable", counts.desired - counts.available);
    if (!status.equals(before.root())) {
      auto updated = put_status(context_.client(), kDaemonSetKind.resource, set.root());
      if (!updated) return fail(updated.error());
    }
    std::vector<Pod> all;
    for (const auto& [name, node] : *nodes) all.insert(all.end(), node.pods.begin(), node.pods.end());
    if (const auto wait = next_availability(all, wish.min_ready, wish.now))
      context_.enqueue_after(claimant.owner.key(), *wait);
    return {};
  }

  Context& context_;
  const PodControl pod_control_;
  const Lister sets_, pods_, revisions_, nodes_;
  FailureWaits failures_;
};

}  // namespace

std::unique_ptr<Controller> make_daemon_set_controller(Context& context) {
  return std::make_unique<DaemonSetController>(context);
}

}  // namespace sublet::controllers
