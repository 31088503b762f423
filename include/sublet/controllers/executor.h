// Executor: runs the controllers' tasks and timers. A test or a simulation supplies its own and so owns time and order.
//
// Threads: all functions are callable from any thread, also from tasks. A task of run() may block; one of at() must
// not (it runs where the timers do) and should hand over to run(). Lifecycle: outlives the Controllers that use it;
// tasks still in line when they stop do nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sublet/base/clock.h"

namespace sublet::net {
class Loop;
}

namespace sublet::controllers {

class Executor {
 public:
  using TimerId = std::uint64_t;  // 0 is never given
  virtual ~Executor() = default;
  /// Runs the task soon, beside others. Returns false when no worker is available: the task will not run.
  [[nodiscard]] virtual bool run(std::function<void()> task) = 0;
  /// Runs the task once that time of the Controllers' clock has come.
  virtual TimerId at(SteadyTime due, std::function<void()> task) = 0;
  /// The task will not run, unless it has begun. Unknown ids are ignored.
  virtual void cancel(TimerId id) = 0;
};

/// Makes an executor of worker threads and the loop's timers, on the system's clock. `loop` must outlive it.
std::unique_ptr<Executor> make_pool_executor(net::Loop& loop, int workers);

}  // namespace sublet::controllers
