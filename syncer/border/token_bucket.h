// TokenBucket: how much of something a virtual cluster may do at once, and how much for ever.
//
// Full at first. Threads: any.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"

namespace sublet::syncer {

class TokenBucket {
 public:
  TokenBucket(Clock& clock, int size, int per_second)
      : clock_(clock), size_(size), per_second_(per_second), filled_at_(clock.steady_now()), tokens_(size) {}

  /// Takes one (nullopt), or says how long it takes until there is one.
  std::optional<std::chrono::milliseconds> take() {
    const MutexLock lock(mutex_);
    const auto now = clock_.steady_now();
    tokens_ = std::min(size_, tokens_ + std::chrono::duration<double>(now - filled_at_).count() * per_second_);
    filled_at_ = now;
    if (tokens_ < 1) return std::chrono::milliseconds(static_cast<int>(std::ceil((1 - tokens_) / per_second_ * 1000)));
    tokens_ -= 1;
    return std::nullopt;
  }

 private:
  Clock& clock_;
  const double size_, per_second_;
  Mutex mutex_;
  SteadyTime filled_at_ SUBLET_GUARDED_BY(mutex_);
  double tokens_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::syncer
