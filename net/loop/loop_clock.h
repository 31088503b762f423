// LoopClock: the clock by which loops come due, and HTTP servers on them: the system's, unless a test has put its own
// in that place, so that hours pass in seconds.
#pragma once

#include "sublet/base/clock.h"

namespace sublet::net {

/// While it lives, objects that this thread creates use that clock for good. After moving the clock, wake each loop, by
/// post().
class LoopClock {
 public:
  explicit LoopClock(const Clock& clock);
  ~LoopClock();
  LoopClock(const LoopClock&) = delete;
  LoopClock& operator=(const LoopClock&) = delete;

  static const Clock& current();

 private:
  const Clock* const before_;
};

}  // namespace sublet::net
