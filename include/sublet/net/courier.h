// Courier: posts tasks to a loop that may be gone. Objects that outlive a server or a transport (the sinks of its
// exchanges, a commit's callbacks) reach the loop only through it.
//
// Lifecycle: the loop's server makes one and calls close() before the loop may end. Afterwards tasks are dropped with
// everything that they captured. Threads: any.
#pragma once

#include <chrono>
#include <functional>

#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"

namespace sublet::net {

class Courier {
 public:
  explicit Courier(Loop& loop) : loop_(&loop) {}
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Runs the task on the loop's thread after those that wait there. Returns false when the loop may be gone.
  bool post(std::function<void()> task);
  /// Returns 0 when the loop may be gone.
  Loop::TimerId after(std::chrono::milliseconds delay, std::function<void()> task);
  void cancel(Loop::TimerId id);
  bool in_loop_thread() const;
  void close();

 private:
  mutable Mutex mutex_;
  Loop* loop_ SUBLET_GUARDED_BY(mutex_);  // null once closed
};

}  // namespace sublet::net
