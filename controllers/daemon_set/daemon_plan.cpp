#include "controllers/daemon_set/daemon_plan.h"

#include <algorithm>

#include "controllers/pods/scaled_value.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kNameField = "metadata.name";

/// Those with a node first, then the oldest.
void sort_pods(std::vector<Pod>& pods) {
  std::sort(pods.begin(), pods.end(), [](const Pod& a, const Pod& b) {
    if (a.node().empty() != b.node().empty()) return !a.node().empty();
    return a.created() != b.created() ? a.created() < b.created() : a.name() < b.name();
  });
}

/// The pods of a node that stay; what has ended is noted for its end.
std::vector<Pod> living(const std::string& node, const std::vector<Pod>& pods, DaemonPlan& plan) {
  std::vector<Pod> alive;
  for (const auto& pod : pods) {
    if (pod.ending()) continue;
    if (pod.terminal())
      plan.ended.push_back({node, std::string(pod.name()), pod.phase() == "Failed"});
    else
      alive.push_back(pod);
  }
  sort_pods(alive);
  return alive;
}

/// Of several pods on a node the oldest of each revision may stay, and the old one only until the new one is available.
void prune_surge(const std::vector<Pod>& pods, const DaemonWish& wish, DaemonPlan& plan) {
  const Pod *fresh = nullptr, *old = nullptr;
  for (const auto& pod : pods) {
    auto& oldest = pod.label(kDaemonHashLabel) == wish.hash ? fresh : old;
    if (!oldest)
      oldest = &pod;
    else
      plan.pods_to_remove.emplace_back(pod.name());
  }
  if (fresh && old && (!old->ready() || fresh->available(wish.min_ready, wish.now)))
    plan.pods_to_remove.emplace_back(old->name());
}

void plan_node(const std::string& name, const DaemonNode& node, const DaemonWish& wish, DaemonPlan& plan) {
  if (node.fit.should_run && node.pods.empty()) {
    plan.nodes_to_fill.push_back(name);
  } else if (node.fit.may_stay) {
    const auto pods = living(name, node.pods, plan);
    if (wish.surges && pods.empty() && node.fit.should_run) plan.nodes_to_fill.push_back(name);
    if (wish.surges) return prune_surge(pods, wish, plan);
    for (std::size_t i = 1; i < pods.size(); ++i) plan.pods_to_remove.emplace_back(pods[i].name());
  } else {
    for (const auto& pod : node.pods)
      if (!pod.ending()) plan.pods_to_remove.emplace_back(pod.name());
  }
}

/// The pod of the current revision and that of another; `clear` is false when there are several of either.
struct Pair {
  const Pod *fresh = nullptr, *old = nullptr;
  bool clear = true;
};
Pair pair_on(const DaemonNode& node, const DaemonWish& wish) {
  Pair pair;
  for (const auto& pod : node.pods) {
    if (pod.ending()) continue;
    auto& place = is_updated(pod, wish) ? pair.fresh : pair.old;
    if (place) return {nullptr, nullptr, false};
    place = &pod;
  }
  return pair;
}

void take(std::vector<std::string>& to, const std::vector<std::string>& candidates, int count) {
  for (const auto& candidate : candidates)
    if (count-- > 0) to.push_back(candidate);
}

/// Old pods go so that new ones can come, as long as not too many are missing.
DaemonPlan plan_by_removal(const DaemonNodes& nodes, const DaemonWish& wish, int allowed) {
  DaemonPlan plan;
  std::vector<std::string> candidates;
  int missing = 0;
  for (const auto& [name, node] : nodes) {
    if (node.pods.empty() && !node.fit.should_run) continue;
    const auto pair = pair_on(node, wish);
    if (!pair.clear || !pair.fresh == !pair.old) {
      ++missing;  // plan_nodes() sees to it
    } else if (pair.fresh) {
      missing += pair.fresh->available(wish.min_ready, wish.now) ? 0 : 1;
    } else if (!pair.old->available(wish.min_ready, wish.now)) {
      plan.pods_to_remove.emplace_back(pair.old->name());
      ++missing;
    } else if (missing < allowed) {
      candidates.emplace_back(pair.old->name());
    }
  }
  take(plan.pods_to_remove, candidates, allowed - missing);
  return plan;
}

/// New pods come beside old ones, which go when the new are available.
DaemonPlan plan_by_surge(const DaemonNodes& nodes, const DaemonWish& wish, const DaemonUpdateLimits& limits) {
  DaemonPlan plan;
  std::vector<std::string> candidates, elsewhere;
  int surging = 0, available = 0;
  const auto is_available = [&](const Pod& pod) { return pod.available(wish.min_ready, wish.now); };
  for (const auto& [name, node] : nodes) {
    const auto pair = pair_on(node, wish);
    if (!pair.clear) {
      ++surging;
      continue;
    }
    if (const auto* first = pair.old ? pair.old : pair.fresh; first && is_available(*first)) ++available;
    if (!pair.old) continue;
    if (pair.fresh) {
      if (is_available(*pair.fresh))
        plan.pods_to_remove.emplace_back(pair.old->name());
      else
        ++surging;
    } else if (!is_available(*pair.old)) {
      if (node.fit.should_run)
        plan.nodes_to_fill.push_back(name);
      else
        plan.pods_to_remove.emplace_back(pair.old->name());
    } else if (!node.fit.should_run) {
      elsewhere.emplace_back(pair.old->name());
    } else if (surging < limits.surge) {
      candidates.push_back(name);
    }
  }
  take(plan.pods_to_remove, elsewhere, available - limits.desired);
  take(plan.nodes_to_fill, candidates, limits.surge - surging);
  return plan;
}

}  // namespace

std::string target_node(const Pod& pod) {
  if (!pod.node().empty()) return std::string(pod.node());
  const auto spec = pod.spec();
  const auto terms =
      spec.root().path("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  for (auto term : terms)
    for (auto field : term["matchFields"])
      if (field["key"].text() == kNameField && field["operator"].text() == "In")
        return field["values"].size() == 1 ? field["values"].at(0).string() : std::string();
  return {};
}

bool is_updated(const Pod& pod, const DaemonWish& wish) {
  const bool by_generation = !wish.generation.empty() && pod.label(kDaemonGenerationLabel) == wish.generation;
  return by_generation || (!wish.hash.empty() && pod.label(kDaemonHashLabel) == wish.hash);
}

DaemonPlan plan_nodes(const DaemonNodes& nodes, const DaemonWish& wish) {
  DaemonPlan plan;
  for (const auto& [name, node] : nodes) {
    if (node.exists) {
      plan_node(name, node, wish, plan);
      continue;
    }
    // A pod that waits for a node that is gone never runs and never ends.
    for (const auto& pod : node.pods)
      if (pod.node().empty()) plan.pods_to_remove.emplace_back(pod.name());
  }
  return plan;
}

DaemonUpdateLimits update_limits(const Value& set, int desired) {
  DaemonUpdateLimits limits{0, 0, desired};
  const auto strategy = set["spec"]["updateStrategy"];
  if (strategy["type"].text() != "RollingUpdate") return limits;
  const auto rolling = strategy["rollingUpdate"];
  if (auto surge = rolling["maxSurge"]) limits.surge = scaled_value(surge, desired, true);
  if (auto unavailable = rolling["maxUnavailable"]) limits.unavailable = scaled_value(unavailable, desired, true);
  if (desired > 0 && limits.surge == 0 && limits.unavailable == 0) limits.unavailable = 1;
  return limits;
}

DaemonPlan plan_update(const DaemonNodes& nodes, const DaemonWish& wish, const DaemonUpdateLimits& limits) {
  return limits.surge == 0 ? plan_by_removal(nodes, wish, limits.unavailable) : plan_by_surge(nodes, wish, limits);
}

DaemonCounts count_daemons(const DaemonNodes& nodes, const DaemonWish& wish) {
  DaemonCounts counts;
  for (const auto& [name, node] : nodes) {
    if (!node.exists) continue;
    if (!node.fit.should_run) {
      counts.misscheduled += node.pods.empty() ? 0 : 1;
      continue;
    }
    ++counts.desired;
    if (node.pods.empty()) continue;
    ++counts.current;
    auto pods = node.pods;
    sort_pods(pods);
    const auto& oldest = pods.front();
    counts.ready += oldest.ready() ? 1 : 0;
    counts.available += oldest.available(wish.min_ready, wish.now) ? 1 : 0;
    counts.updated += is_updated(oldest, wish) ? 1 : 0;
  }
  return counts;
}

Document daemon_template(const Value& set, const DaemonWish& wish) {
  auto pod_template = Document::copy_of(set["spec"]["template"]);
  add_daemon_tolerations(pod_template.root().object("spec"));
  auto labels = pod_template.root().object("metadata").object("labels");
  if (!wish.generation.empty()) labels.put(kDaemonGenerationLabel, wish.generation);
  if (!wish.hash.empty()) labels.put(kDaemonHashLabel, wish.hash);
  return pod_template;
}

void aim_at_node(Value pod_spec, std::string_view node) {
  auto required =
      pod_spec.object("affinity").object("nodeAffinity").object("requiredDuringSchedulingIgnoredDuringExecution");
  auto terms = required.array("nodeSelectorTerms");
  terms.clear();
  auto field = terms.push_object().array("matchFields").push_object();
  field.put("key", kNameField);
  field.put("operator", "In");
  field.array("values").push(node);
}

}  // namespace sublet::controllers
