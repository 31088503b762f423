#include "controllers/replica_set/pod_ranking.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

int ranked_phase(std::string_view phase) {
  if (phase == "Unknown") return 1;
  return phase == "Running" ? 2 : 0;
}

/// Not a number, or one with a plus or a leading zero: 0.
int cost_of(std::string_view text) {
  int cost = 0;
  const bool odd = text.starts_with('+') || (text.starts_with('0') && text != "0");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return odd || error != std::errc() || end != text.data() + text.size() ? 0 : cost;
}

int most_restarts_among(const Value& statuses, const std::set<std::string>* only) {
  std::int64_t most = 0;
  for (auto status : statuses)
    if (!only || only->contains(status["name"].string())) most = std::max(most, status["restartCount"].integer());
  return static_cast<int>(most);
}

/// Init containers that go on running beside the others.
int most_sidecar_restarts(const Pod& pod) {
  const auto statuses = pod.status()["initContainerStatuses"];
  if (most_restarts_among(statuses, nullptr) == 0) return 0;
  std::set<std::string> sidecars;
  const auto spec = pod.spec();
  for (auto container : spec["initContainers"])
    if (container["restartPolicy"].text() == "Always") sidecars.insert(container["name"].string());
  return most_restarts_among(statuses, &sidecars);
}

std::int64_t age_rank(WallTime time, WallTime now) {
  const auto age = std::chrono::duration_cast<std::chrono::nanoseconds>(now - time).count();
  return age > 0 ? static_cast<std::int64_t>(std::log2(static_cast<double>(age))) : -1;
}

/// Younger first; without a time first of all.
bool younger(const std::optional<WallTime>& a, const std::optional<WallTime>& b, const PodRank& first,
             const PodRank& second, WallTime now) {
  if (!a || !b) return !a;
  const auto difference = age_rank(*a, now) - age_rank(*b, now);
  return difference == 0 ? first.uid < second.uid : difference < 0;
}

}  // namespace

PodRank rank_of(const Pod& pod) {
  PodRank rank;
  rank.name = pod.name();
  rank.uid = pod.uid();
  rank.assigned = !pod.node().empty();
  rank.phase = ranked_phase(pod.phase());
  rank.ready = pod.ready();
  rank.deletion_cost = cost_of(pod.annotation(kDeletionCost));
  rank.ready_since = pod.ready_since();
  rank.created = pod.created();
  rank.restarts = most_restarts_among(pod.status()["containerStatuses"], nullptr);
  rank.sidecar_restarts = most_sidecar_restarts(pod);
  return rank;
}

bool goes_first(const PodRank& first, const PodRank& second, WallTime now) {
  if (first.assigned != second.assigned) return !first.assigned;
  if (first.phase != second.phase) return first.phase < second.phase;
  if (first.ready != second.ready) return !first.ready;
  if (first.deletion_cost != second.deletion_cost) return first.deletion_cost < second.deletion_cost;
  if (first.neighbours != second.neighbours) return first.neighbours > second.neighbours;
  if (first.ready && first.ready_since != second.ready_since)
    return younger(first.ready_since, second.ready_since, first, second, now);
  if (first.restarts != second.restarts) return first.restarts > second.restarts;
  if (first.sidecar_restarts != second.sidecar_restarts) return first.sidecar_restarts > second.sidecar_restarts;
  return first.created != second.created && younger(first.created, second.created, first, second, now);
}

std::vector<std::string> pods_to_delete(const std::vector<Pod>& pods, const std::vector<Pod>& family, int count,
                                        WallTime now) {
  std::map<std::string_view, int> on_node;
  for (const auto& pod : family)
    if (pod.active()) ++on_node[pod.node()];
  std::vector<PodRank> ranks;
  for (const auto& pod : pods) {
    ranks.push_back(rank_of(pod));
    if (const auto found = on_node.find(pod.node()); found != on_node.end()) ranks.back().neighbours = found->second;
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [now](const PodRank& a, const PodRank& b) { return goes_first(a, b, now); });
  std::vector<std::string> names;
  for (const auto& rank : ranks)
    if (static_cast<int>(names.size()) < count) names.push_back(rank.name);
  return names;
}

}  // namespace sublet::controllers
