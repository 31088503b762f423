// SimClock: time stands still until the run moves it; the time of day can step apart from the steady time.
#pragma once

#include "sublet/base/clock.h"

namespace sublet::simulation {

class SimClock final : public Clock {
 public:
  WallTime now() const override {
    return WallTime(std::chrono::seconds(1'800'000'000)) + std::chrono::duration_cast<WallTime::duration>(passed_) +
           stepped_;
  }
  SteadyTime steady_now() const override { return SteadyTime(std::chrono::hours(1)) + passed_; }
  void advance(std::chrono::milliseconds by) { passed_ += by; }
  void advance_to(SteadyTime moment) {
    if (moment > steady_now()) passed_ += moment - steady_now();
  }
  /// Somebody sets the time of day.
  void step(std::chrono::seconds by) { stepped_ += by; }
  std::chrono::milliseconds passed() const { return std::chrono::duration_cast<std::chrono::milliseconds>(passed_); }

 private:
  SteadyTime::duration passed_{};
  WallTime::duration stepped_{};
};

}  // namespace sublet::simulation
