// Which pods of a ReplicaSet go first when it has too many: those whose loss costs least. Upstream's order
// (ActivePodsWithRanks), with its scale of time: ages count by their power of two, so that among pods of about the same
// age chance (the uid) decides.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods/pod.h"

namespace sublet::controllers {

/// What decides about one pod.
struct PodRank {
  std::string name, uid;
  bool assigned = false;  // to a node
  int phase = 0;          // pending 0, unknown 1, running 2
  bool ready = false;
  int deletion_cost = 0;
  int neighbours = 0;  // active pods of the same family on its node
  std::optional<WallTime> ready_since, created;
  int restarts = 0, sidecar_restarts = 0;  // the most of any of its containers
};

PodRank rank_of(const Pod& pod);
/// `first` goes before `second`.
bool goes_first(const PodRank& first, const PodRank& second, WallTime now);
/// The names of `count` of the pods; `family`: pods of all sets with the same owner, for the sake of neighbours.
std::vector<std::string> pods_to_delete(const std::vector<Pod>& pods, const std::vector<Pod>& family, int count,
                                        WallTime now);

}  // namespace sublet::controllers
