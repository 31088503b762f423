#include "subletd/idle_trim.h"

#include <gtest/gtest.h>

#include "sublet/base/mutex.h"

namespace sublet::subletd {
namespace {

using namespace std::chrono_literals;

/// Counts the trims, and waits for them.
class Trims {
 public:
  std::function<void()> function() {
    return [this] {
      const MutexLock lock(mutex_);
      ++count_;
      changed_.notify_all();
    };
  }
  int wait_for_more_than(int count) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&] { return count_ > count; });
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ = 0;
};

TEST(IdleTrim, TrimsAfterRequestsAgainAndAgain) {
  Trims trims;
  IdleTrim idle({.quiet = 5ms, .between = 0ms}, trims.function());
  net::LoopThread thread("trim");
  int seen = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) idle.busy(thread.loop());
    seen = trims.wait_for_more_than(seen);
  }
}

TEST(IdleTrim, KeepsItsDistance) {
  Trims trims;
  IdleTrim idle({.quiet = 1ms, .between = 50ms}, trims.function());
  net::LoopThread thread("trim");
  const auto begin = std::chrono::steady_clock::now();
  idle.busy(thread.loop());
  const int first = trims.wait_for_more_than(0);
  idle.busy(thread.loop());
  trims.wait_for_more_than(first);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
}

}  // namespace
}  // namespace sublet::subletd
