// AwaitedClaims: which pods wait until a claim of the host is their tenant's (pod_sync.cpp). What becomes of the claim,
// on either side, brings them back to the queue.
//
// A pod is put down before it is looked whether it has to wait, so that nothing that happens meanwhile is missed, and
// taken out when it has not. Threads: any.
#pragma once

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
    claims_[pod_key].insert(claim_key);
  }
  void forget(const std::string& pod_key) {
    const MutexLock lock(mutex_);
    const auto claims = claims_.extract(pod_key);
    if (!claims) return;
    for (const std::string& claim : claims.mapped()) erase_from(pods_, claim, pod_key);
  }
  /// Those that are to be looked at again, in the order of their names; if they wait on, they say so again.
  std::set<std::string> take(const std::string& claim_key) {
    const MutexLock lock(mutex_);
    auto taken = pods_.extract(claim_key);
    if (!taken) return {};
    for (const std::string& pod : taken.mapped()) erase_from(claims_, pod, claim_key);
    return std::move(taken.mapped());
  }
  std::set<std::string> take_all() {
    const MutexLock lock(mutex_);
    std::set<std::string> all;
    for (const auto& [pod, claims] : claims_) all.insert(pod);
    pods_.clear();
    claims_.clear();
    return all;
  }

 private:
  using Names = std::unordered_map<std::string, std::set<std::string>>;
  static void erase_from(Names& names, const std::string& key, const std::string& name) {
    const auto found = names.find(key);
    if (found != names.end() && found->second.erase(name) > 0 && found->second.empty()) names.erase(found);
  }

  Mutex mutex_;
  Names pods_ SUBLET_GUARDED_BY(mutex_);    // by claim
  Names claims_ SUBLET_GUARDED_BY(mutex_);  // by pod: one that goes costs what it waited for, however many wait
};

}  // namespace sublet::syncer
