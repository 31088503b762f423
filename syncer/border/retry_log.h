// RetryLog: which failures of a key are worth a log line, so that a host that stays away does not fill the disk.
//
// Threads: any.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "sublet/base/mutex.h"

namespace sublet::syncer {

class RetryLog {
 public:
  /// Returns how many times the key has failed with this cause in a row if that is to be logged: the first time, and
  /// then the 2nd, 4th, 8th ... Another cause starts a new count.
  std::optional<std::uint64_t> add(const std::string& key, const std::string& cause) {
    const MutexLock lock(mutex_);
    if (failures_.size() >= kKeysMax && !failures_.contains(key)) failures_.clear();
    Failure& known = failures_[key];
    const std::size_t hash = std::hash<std::string>()(cause);
    known = known.cause == hash ? Failure{hash, known.times + 1} : Failure{hash, 1};
    if (!std::has_single_bit(known.times)) return std::nullopt;
    return known.times;
  }
  void forget(const std::string& key) {
    const MutexLock lock(mutex_);
    failures_.erase(key);
  }

 private:
  static constexpr std::size_t kKeysMax = 8192;
  struct Failure {
    std::size_t cause = 0;
    std::uint64_t times = 0;
  };

  Mutex mutex_;
  std::unordered_map<std::string, Failure> failures_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::syncer
