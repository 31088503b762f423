// AtMostEvery: lets one of many through in a period: a line of the log that strangers can cause again and again.
//
// Thread-safe, and never waits. A clock that is set back lets one through.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "sublet/base/clock.h"

namespace sublet {

class AtMostEvery {
 public:
  explicit AtMostEvery(WallTime::duration period) : period_(period) {}

  /// How many were held back since the last that went through; none: so is this one.
  std::optional<std::uint64_t> pass(WallTime now) {
    const auto at = now.time_since_epoch();
    auto last = last_.load(std::memory_order_relaxed);
    const bool early = last != kNever && at >= last && at - last < period_;
    if (early || !last_.compare_exchange_strong(last, at, std::memory_order_relaxed)) {
      held_back_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return held_back_.exchange(0, std::memory_order_relaxed);
  }

 private:
  static constexpr WallTime::duration kNever = WallTime::duration::min();
  const WallTime::duration period_;
  std::atomic<WallTime::duration> last_{kNever};
  std::atomic<std::uint64_t> held_back_{0};
};

}  // namespace sublet
