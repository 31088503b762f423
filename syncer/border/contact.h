// Contact: how one side's API server has answered lately, for the health record.
//
// Fed by every request of the side's client (reporting(), outage.h). Threads: any.
#pragma once

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/syncer/health.h"
#include "syncer/border/outage.h"

namespace sublet::syncer {

class Contact {
 public:
  explicit Contact(Clock& clock) : clock_(clock) {}

  void add(const Answer& answer);
  /// Records that a request has been without an answer for so long that the server counts as silent.
  void add_silence(std::string cause);
  SideHealth health() const;
  /// Returns when the server last answered (Clock::steady_now()); nullopt if it never did.
  std::optional<SteadyTime> answered_at() const;

 private:
  void set_failure(std::string cause) SUBLET_REQUIRES(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  SideHealth health_ SUBLET_GUARDED_BY(mutex_);
  std::optional<SteadyTime> answered_at_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::syncer
