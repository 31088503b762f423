#include "controllers/deployment/rollout_math.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "controllers/pods/scaled_value.h"

namespace sublet::controllers {
namespace {

using schema::Value;

/// As Go's: away from zero at the half.
int rounded(double value) { return static_cast<int>(value < 0 ? value - 0.5 : value + 0.5); }

/// By how much a set is to grow (or shrink) for its share of the Deployment's new size.
int share(const RolloutSize& size, const SetSize& set) {
  if (size.replicas == 0) return -set.replicas;
  const int before = set.max_before.value_or(0) != 0 ? *set.max_before : size.seen;
  if (before == 0) return 0;
  const double now = static_cast<double>(set.replicas) * (size.replicas + size.surge) / before;
  return rounded(now) - set.replicas;
}

int sum_of_member(const std::vector<SetSize>& sets, int SetSize::*member) {
  return std::accumulate(sets.begin(), sets.end(), 0, [&](int sum, const SetSize& set) { return sum + set.*member; });
}

/// Larger first; of the same size the newer first when there is something to add, else the older.
std::vector<std::size_t> by_size(const std::vector<SetSize>& sets, bool newer_first) {
  std::vector<std::size_t> order(sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (sets[a].replicas != sets[b].replicas) return sets[a].replicas > sets[b].replicas;
    if (sets[a].created != sets[b].created)
      return newer_first ? sets[a].created > sets[b].created : sets[a].created < sets[b].created;
    return newer_first ? sets[a].name > sets[b].name : sets[a].name < sets[b].name;
  });
  return order;
}

}  // namespace

Fenceposts resolve_fenceposts(const Value& max_surge, const Value& max_unavailable, int desired) {
  Fenceposts posts{scaled_value(max_surge, desired, true), scaled_value(max_unavailable, desired, false)};
  if (posts.surge == 0 && posts.unavailable == 0) posts.unavailable = 1;
  return posts;
}

RolloutSize rollout_size(const Value& deployment) {
  const auto spec = deployment["spec"];
  RolloutSize size;
  size.replicas = static_cast<int>(spec["replicas"].integer(1));
  size.rolling = spec["strategy"]["type"].text() == "RollingUpdate";
  size.seen = static_cast<int>(deployment["status"]["replicas"].integer());
  if (!size.rolling) return size;
  const auto rolling = spec["strategy"]["rollingUpdate"];
  const auto posts = resolve_fenceposts(rolling["maxSurge"], rolling["maxUnavailable"], size.replicas);
  size.surge = posts.surge;
  size.unavailable = std::min(posts.unavailable, size.replicas);
  return size;
}

int new_set_size(const RolloutSize& size, int all, int new_set) {
  if (!size.rolling) return size.replicas;
  const int most = size.replicas + size.surge;
  if (all >= most) return new_set;
  return new_set + std::min(most - all, size.replicas - new_set);
}

std::vector<int> proportional_sizes(const RolloutSize& size, const std::vector<SetSize>& sets) {
  std::vector<int> sizes;
  for (const auto& set : sets) sizes.push_back(set.replicas);
  const int allowed = size.replicas > 0 ? size.replicas + size.surge : 0;
  const int to_add = allowed - sum_of_member(sets, &SetSize::replicas);
  if (to_add == 0 || sets.empty()) return sizes;
  int added = 0;
  const auto order = by_size(sets, to_add > 0);
  for (const auto i : order) {
    if (to_add == added || sets[i].replicas == 0) continue;
    const int left = to_add - added;
    const int part = to_add > 0 ? std::min(share(size, sets[i]), left) : std::max(share(size, sets[i]), left);
    sizes[i] += part;
    added += part;
  }
  auto& largest = sizes[order.front()];
  largest = std::max(0, largest + to_add - added);
  return sizes;
}

std::vector<int> old_set_sizes(const RolloutSize& size, const std::vector<SetSize>& old_sets, const SetSize& new_set) {
  std::vector<int> sizes;
  for (const auto& set : old_sets) sizes.push_back(set.replicas);
  const int needed = size.replicas - size.unavailable;
  const int missing_new = new_set.replicas - new_set.available;
  const int too_many = sum_of_member(old_sets, &SetSize::replicas) + new_set.replicas - needed - missing_new;
  if (too_many <= 0) return sizes;
  int removed = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int part = std::clamp(sizes[i] - old_sets[i].available, 0, too_many - removed);
    sizes[i] -= part;
    removed += part;
  }
  int spare = sum_of_member(old_sets, &SetSize::available) + new_set.available - needed;
  for (auto& left : sizes) {
    const int part = std::clamp(spare, 0, left);
    left -= part;
    spare -= part;
  }
  return sizes;
}

}  // namespace sublet::controllers
