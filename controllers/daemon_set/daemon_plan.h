// DaemonPlan: which pods of a DaemonSet are to be made and removed, decided from what is on each node.
//
// Functions of what was seen; pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/daemon_set/node_fit.h"
#include "controllers/pods/pod.h"

namespace sublet::controllers {

inline constexpr std::string_view kDaemonHashLabel = "controller-revision-hash";
inline constexpr std::string_view kDaemonGenerationLabel = "pod-template-generation";

/// What a DaemonSet asks for at this moment.
struct DaemonWish {
  std::string hash;        // of its current revision
  std::string generation;  // of its template, "" when it has none
  bool surges = false;
  std::chrono::seconds min_ready{0};
  WallTime now{};
};

struct DaemonNode {
  NodeFit fit;
  bool exists = true;  // false: there are pods for a node that is gone
  std::vector<Pod> pods = {};
};
using DaemonNodes = std::map<std::string, DaemonNode>;

/// A pod that ended on its node and is to be replaced.
struct EndedPod {
  std::string node, pod;
  bool failed;  // else it succeeded
};
struct DaemonPlan {
  std::vector<std::string> nodes_to_fill, pods_to_remove;
  std::vector<EndedPod> ended;  // the caller decides when they go
  bool empty() const { return nodes_to_fill.empty() && pods_to_remove.empty(); }
};

/// Returns the node that a pod is meant for, whether or not it exists; "" when the pod names none.
std::string target_node(const Pod& pod);
bool is_updated(const Pod& pod, const DaemonWish& wish);

/// One pod per node that should have one; while surging one of each revision.
DaemonPlan plan_nodes(const DaemonNodes& nodes, const DaemonWish& wish);

/// How many pods may be missing, or be there twice, during an update.
struct DaemonUpdateLimits {
  int surge = 0, unavailable = 0, desired = 0;
};
DaemonUpdateLimits update_limits(const schema::Value& set, int desired);
/// The next step of a rolling update.
DaemonPlan plan_update(const DaemonNodes& nodes, const DaemonWish& wish, const DaemonUpdateLimits& limits);

struct DaemonCounts {
  int desired = 0, current = 0, misscheduled = 0, ready = 0, updated = 0, available = 0;
};
DaemonCounts count_daemons(const DaemonNodes& nodes, const DaemonWish& wish);

/// Returns the template's copy for new pods of this set: with tolerations and the labels of its revision.
schema::Document daemon_template(const schema::Value& set, const DaemonWish& wish);
/// Binds a pod that is to be made to its node, by node affinity.
void aim_at_node(schema::Value pod_spec, std::string_view node);

}  // namespace sublet::controllers
