// ChangePace: when a host object that was changed may be changed again.
//
// What was quiet is changed at once. After a change the next has to wait, each time twice as long while they come as
// fast as they may: many changes in a short time become few, the last of which is as it is by then. An object that was
// left alone for a while is forgotten. Threads: any.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"

namespace sublet::syncer {

class ChangePace {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{2000};
  static constexpr std::chrono::milliseconds kForgotten = 2 * kLongestPause;

  explicit ChangePace(Clock& clock) : clock_(clock) {}

  /// How long until the object of that uid may be changed; nullopt: it may be now.
  std::optional<std::chrono::milliseconds> wait(const std::string& uid) const {
    const MutexLock lock(mutex_);
    const auto found = changed_.find(uid);
    if (found == changed_.end()) return std::nullopt;
    const auto left = found->second.at + found->second.pause - clock_.steady_now();
    if (left <= SteadyTime::duration::zero()) return std::nullopt;
    return std::chrono::ceil<std::chrono::milliseconds>(left);
  }

  /// It is changed now.
  void changed(const std::string& uid) {
    const auto now = clock_.steady_now();
    const MutexLock lock(mutex_);
    const auto [found, first] = changed_.try_emplace(uid, Change{now, kFirstPause});
    if (!first) found->second = {now, pause_after(found->second, now)};
    if (changed_.size() < forget_at_) return;
    std::erase_if(changed_, [&](const auto& one) { return now - one.second.at >= kForgotten; });
    forget_at_ = std::max(kForgetFirst, 2 * changed_.size());
  }

  std::size_t size() const {
    const MutexLock lock(mutex_);
    return changed_.size();
  }

 private:
  struct Change {
    SteadyTime at;
    std::chrono::milliseconds pause;  // until the next
  };
  static constexpr std::size_t kForgetFirst = 256;

  static std::chrono::milliseconds pause_after(const Change& before, SteadyTime now) {
    const auto quiet = now - before.at;
    if (quiet >= kForgotten) return kFirstPause;
    if (quiet < 2 * before.pause) return std::min(2 * before.pause, kLongestPause);
    return std::max(before.pause / 2, kFirstPause);
  }

  Clock& clock_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Change> changed_ SUBLET_GUARDED_BY(mutex_);  // by uid
  std::size_t forget_at_ SUBLET_GUARDED_BY(mutex_) = kForgetFirst;
};

}  // namespace sublet::syncer
