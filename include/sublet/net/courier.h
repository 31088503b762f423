// Courier: the way to a loop that may be gone. What outlives a server or a transport (the sinks of its exchanges, what
// a commit still has to say) reaches the loop only through it.
//
// Lifecycle: whoever serves on the loop makes one and calls close() before the loop may end; afterwards tasks are given
// up, and what they captured with them. Threads: any.
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

  /// Runs the task on the loop's thread, behind what waits there already. False when the loop may be gone.
  bool post(std::function<void()> task);
  /// 0 when the loop may be gone.
  Loop::TimerId after(std::chrono::milliseconds delay, std::function<void()> task);
  void cancel(Loop::TimerId id);
  bool in_loop_thread() const;
  void close();

 private:
  mutable Mutex mutex_;
  Loop* loop_ SUBLET_GUARDED_BY(mutex_);  // null once closed
};

}  // namespace sublet::net
