// The arithmetic of a Deployment's rollout: how many pods may be too many or missing, how large each ReplicaSet is to
// be. Upstream's rules (pkg/controller/deployment), as functions of numbers.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::controllers {

/// How many pods there may be beyond the wanted ones, and how many of those may be missing. Both come out as 0 only by
/// rounding; then one may be missing, or nothing could ever move.
struct Fenceposts {
  int surge = 0, unavailable = 0;
};
Fenceposts resolve_fenceposts(const schema::Value& max_surge, const schema::Value& max_unavailable, int desired);

/// What a Deployment wants.
struct RolloutSize {
  int replicas = 0;
  bool rolling = true;  // else Recreate
  int surge = 0, unavailable = 0;
  int seen = 0;  // status.replicas
};
RolloutSize rollout_size(const schema::Value& deployment);

/// One of its ReplicaSets.
struct SetSize {
  int replicas = 0, available = 0;
  std::optional<int> max_before = {};   // the most pods that its Deployment allowed when it was scaled last
  std::string created = {}, name = {};  // the older one is smaller
};

/// How large the new set may be now; `all`: pods of all sets together, the new one's too.
int new_set_size(const RolloutSize& size, int all, int new_set);

/// The sizes of the sets when a Deployment is scaled amid a rollout: each gets its share of what is added or taken, the
/// largest the rest. In the order of `sets`, all of which have pods.
std::vector<int> proportional_sizes(const RolloutSize& size, const std::vector<SetSize>& sets);

/// The old sets' sizes in the next step of a rolling update: pods that are not available go first, then as many as are
/// not needed for the minimum. In the order of `old_sets`, oldest first.
std::vector<int> old_set_sizes(const RolloutSize& size, const std::vector<SetSize>& old_sets, const SetSize& new_set);

}  // namespace sublet::controllers
