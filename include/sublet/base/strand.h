// Strand: tasks one after the other, now or later. What runs informers: a net::Loop in production, whoever owns time
// and order in a simulation.
//
// post(), after() and cancel() are thread-safe; tasks run one at a time, those of one moment in the order in which they
// came, and must not block. SteppedStrand runs them when it is told to, by the given clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"

namespace sublet {

class Strand {
 public:
  using TimerId = std::uint64_t;  // 0 is never given

  virtual ~Strand() = default;
  virtual void post(std::function<void()> task) = 0;
  virtual TimerId after(std::chrono::milliseconds delay, std::function<void()> task) = 0;
  /// After cancel() returns on the strand the task will not run. Unknown ids are ignored.
  virtual void cancel(TimerId id) = 0;
};

class SteppedStrand final : public Strand {
 public:
  /// `on_post` is told, on the poster's thread, that there is something to step.
  explicit SteppedStrand(const Clock& clock, std::function<void()> on_post = {})
      : clock_(clock), on_post_(std::move(on_post)) {}

  void post(std::function<void()> task) override;
  TimerId after(std::chrono::milliseconds delay, std::function<void()> task) override;
  void cancel(TimerId id) override;
  /// Runs the next task that is due, on the caller's thread; false: there is none.
  bool step();

 private:
  std::function<void()> take();

  const Clock& clock_;
  const std::function<void()> on_post_;
  Mutex mutex_;
  std::deque<std::function<void()>> posted_ SUBLET_GUARDED_BY(mutex_);
  std::map<std::pair<SteadyTime, TimerId>, std::function<void()>> timers_ SUBLET_GUARDED_BY(mutex_);
  TimerId last_id_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace sublet
