// AwaitedClaims: which pods wait until a claim of the host is their tenant's (pod_sync.cpp). What becomes of the claim,
// on either side, brings them back to the queue.
//
// A pod is put down before it is looked whether it has to wait, so that nothing that happens meanwhile is missed, and
// taken out when it has not. Threads: any.
#pragma once

#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "sublet/base/mutex.h"

namespace sublet::syncer {

class AwaitedClaims {
 public:
  void await(const std::string& claim_key, const std::string& pod_key) {
    const MutexLock lock(mutex_);
    pods_[claim_key].insert(pod_key);
  }
  void forget(const std::string& pod_key) {
    const MutexLock lock(mutex_);
    for (auto claim = pods_.begin(); claim != pods_.end();)
      claim = claim->second.erase(pod_key) > 0 && claim->second.empty() ? pods_.erase(claim) : std::next(claim);
  }
  /// Those that are to be looked at again, in the order of their names; if they wait on, they say so again.
  std::set<std::string> take(const std::string& claim_key) {
    const MutexLock lock(mutex_);
    auto taken = pods_.extract(claim_key);
    return taken ? std::move(taken.mapped()) : std::set<std::string>();
  }
  std::set<std::string> take_all() {
    std::unordered_map<std::string, std::set<std::string>> taken;
    {
      const MutexLock lock(mutex_);
      taken.swap(pods_);
    }
    std::set<std::string> all;
    for (auto& [claim, pods] : taken) all.merge(pods);
    return all;
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::string, std::set<std::string>> pods_ SUBLET_GUARDED_BY(mutex_);  // by claim
};

}  // namespace sublet::syncer
