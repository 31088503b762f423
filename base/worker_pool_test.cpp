#include "sublet/base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "sublet/base/mutex.h"

namespace sublet {
namespace {

// Holds tasks until it is opened, and counts who came.
class Gate {
 public:
  void pass() {
    MutexLock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return open_; });
    ++passed_;
    changed_.notify_all();
  }
  void open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_came(int count) { wait(&Gate::came_, count); }
  void wait_passed(int count) { wait(&Gate::passed_, count); }

 private:
  void wait(int Gate::*what, int count) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return this->*what >= count; });
  }
  Mutex mutex_;
  CondVar changed_;
  int came_ SUBLET_GUARDED_BY(mutex_) = 0, passed_ SUBLET_GUARDED_BY(mutex_) = 0;
  bool open_ SUBLET_GUARDED_BY(mutex_) = false;
};

TEST(WorkerPool, RunsAtOnceWhatItHasThreadsForAndRefusesWhatItCannotKeep) {
  WorkerPool pool({.name = "test", .threads_max = 2, .queue_max = 3});
  EXPECT_EQ(pool.threads(), 0u);
  Gate gate;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.submit([&] { gate.pass(); }));
  gate.wait_came(2);  // both at once, or this would wait for ever
  EXPECT_EQ(pool.threads(), 2u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.submit([&] { gate.pass(); }));
  EXPECT_EQ(pool.waiting(), 3u);
  EXPECT_FALSE(pool.submit([] { FAIL() << "was refused"; }));
  gate.open();
  gate.wait_passed(5);
  EXPECT_EQ(pool.threads(), 2u);
}

TEST(WorkerPool, ReusesAnIdleThreadAndEndsOneThatHasNothingToDo) {
  WorkerPool pool({.name = "test", .threads_max = 4, .queue_max = 4, .idle = std::chrono::milliseconds(20)});
  Gate open;
  open.open();
  Mutex mutex;
  std::set<std::thread::id> ids;
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(pool.submit([&] {
      {
        const MutexLock lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      open.pass();
    }));
    open.wait_passed(round);
  }
  while (pool.threads() > 0) std::this_thread::yield();  // ends only when the pool lets its threads go
  ASSERT_TRUE(pool.submit([&] { open.pass(); }));        // and it begins anew
  open.wait_passed(4);
  EXPECT_LE(ids.size(), 3u);
}

TEST(WorkerPool, StopWaitsForWhatRunsAndDropsWhatWaits) {
  WorkerPool pool({.name = "test", .threads_max = 1, .queue_max = 8});
  Gate gate;
  std::atomic<bool> finished{false};
  ASSERT_TRUE(pool.submit([&] {
    gate.pass();
    finished = true;
  }));
  gate.wait_came(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> dropped = held;
  ASSERT_TRUE(pool.submit([held] { FAIL() << "had not begun: " << *held; }));
  held.reset();
  std::thread opener([&] {
    while (pool.waiting() > 0) std::this_thread::yield();  // stop() has begun: nothing else empties the queue
    gate.open();
  });
  pool.stop();
  EXPECT_TRUE(finished);
  EXPECT_TRUE(dropped.expired());
  EXPECT_FALSE(pool.submit([] {}));
  EXPECT_EQ(pool.threads(), 0u);
  opener.join();
}

TEST(WorkerPool, ManySubmittersLoseNothing) {
  constexpr int kThreads = 4, kEach = 500;
  std::atomic<int> ran{0}, refused{0};
  {
    WorkerPool pool({.name = "test", .threads_max = 3, .queue_max = 16, .idle = std::chrono::milliseconds(1)});
    std::vector<std::thread> submitters;
    for (int t = 0; t < kThreads; ++t)
      submitters.emplace_back([&] {
        for (int i = 0; i < kEach; ++i)
          if (!pool.submit([&] { ++ran; })) ++refused;
      });
    for (auto& thread : submitters) thread.join();
    while (pool.waiting() > 0) std::this_thread::yield();
  }
  EXPECT_EQ(ran + refused, kThreads * kEach);
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace sublet
