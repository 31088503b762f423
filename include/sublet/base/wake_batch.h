// WakeBatch: while one lives on a thread, the wake-ups that this thread owes to sleeping loops wait for its end. Who
// hands out many tasks at once (a commit: its events and all its answers) so wakes each loop once, and the loop finds
// all of them; woken by the first, it would run for each, compete for the locks, and sleep again.
//
// Lifecycle: a scope, not nested; nothing in it may wait for a task that it handed out. Threads: each its own.
#pragma once

#include <memory>
#include <vector>

namespace sublet {

/// What is to be woken. It may outlive what sleeps.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  /// Harmless when it is awake, or has nothing to do.
  virtual void wake() = 0;
};

class WakeBatch {
 public:
  WakeBatch();
  ~WakeBatch();
  WakeBatch(const WakeBatch&) = delete;
  WakeBatch& operator=(const WakeBatch&) = delete;

  /// Has it woken at the end of this thread's batch. False: there is none; wake it now.
  static bool defer(const std::shared_ptr<Sleeper>& sleeper);

 private:
  std::vector<std::shared_ptr<Sleeper>> sleepers_;
};

}  // namespace sublet
