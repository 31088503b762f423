// Clock: the only source of time in the core, so that a test can own it.
//
// SystemClock is the real one (stateless, any thread). ManualClock stands still until a test moves it (thread-safe).
// Timestamps on the wire are RFC 3339 in UTC: seconds for metav1.Time, microseconds for metav1.MicroTime.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sublet {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual SteadyTime steady_now() const = 0;
  static Clock& system();  // process-wide, never destroyed
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::seconds(1'700'000'000)))
      : wall_(start.time_since_epoch()) {}
  WallTime now() const override { return WallTime(wall_.load()); }
  SteadyTime steady_now() const override {
    return SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(wall_.load()));
  }
  void advance(WallTime::duration by) { wall_.store(wall_.load() + by); }

 private:
  std::atomic<WallTime::duration> wall_;
};

/// "2026-11-21T09:41:37Z" (seconds, UTC).
std::string format_time(WallTime time);
/// "2026-11-21T09:41:37.123456Z" (always six digits, as metav1.MicroTime).
std::string format_micro_time(WallTime time);
/// Parses RFC 3339 with any fraction and any offset; nullopt when malformed.
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace sublet
