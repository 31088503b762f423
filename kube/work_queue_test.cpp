#include "sublet/kube/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "sublet/base/mutex.h"

namespace sublet::kube {
namespace {

using std::chrono::milliseconds;

TEST(WorkQueue, HoldsAKeyOnce) {
  WorkQueue queue;
  queue.add("a");
  queue.add("b");
  queue.add("a");
  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_EQ(queue.get(), "a");
  EXPECT_EQ(queue.get(), "b");
  EXPECT_FALSE(queue.idle());
  queue.done("a");
  queue.done("b");
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueue, GivesWithoutWaiting) {
  ManualClock clock;
  WorkQueue queue(clock);
  EXPECT_EQ(queue.try_get(), std::nullopt);
  EXPECT_EQ(queue.next_due(), std::nullopt);
  queue.add("a");
  EXPECT_EQ(queue.try_get(), "a");
  queue.add("a");
  EXPECT_EQ(queue.try_get(), std::nullopt) << "it is in work";
  queue.done("a");
  EXPECT_EQ(queue.try_get(), "a");
  queue.add_after("b", milliseconds(50));
  EXPECT_EQ(queue.try_get(), std::nullopt);
  EXPECT_EQ(queue.next_due(), clock.steady_now() + milliseconds(50));
  clock.advance(milliseconds(50));
  EXPECT_EQ(queue.try_get(), "b");
  EXPECT_EQ(queue.next_due(), std::nullopt);
  queue.add("c");
  queue.shut_down();
  EXPECT_EQ(queue.try_get(), std::nullopt);
}

TEST(WorkQueue, UrgentLanesGoFirstAndNoneStarves) {
  WorkQueue queue(Clock::system(), [](std::string_view key) { return key[0] - '0'; });
  for (int i = 0; i < 2; ++i) queue.add("2-" + std::to_string(i));
  for (int i = 0; i < 2; ++i) queue.add("1-" + std::to_string(i));
  for (int i = 0; i < 40; ++i) queue.add("0-" + std::to_string(i));
  std::vector<std::string> order;
  while (queue.depth() > 0) {
    order.push_back(*queue.get());
    queue.done(order.back());
  }
  const auto place = [&](const std::string& key) { return std::find(order.begin(), order.end(), key) - order.begin(); };
  EXPECT_EQ(order.size(), 44u);
  EXPECT_EQ(place("0-0"), 0);
  EXPECT_EQ(place("0-6"), 6);
  EXPECT_LT(place("1-0"), place("0-39"));  // its turn came although lane 0 was never empty
  EXPECT_LT(place("2-0"), place("0-39"));
  EXPECT_LT(place("1-1"), place("2-1"));
}

TEST(WorkQueue, KeyThatComesBackKeepsItsLane) {
  WorkQueue queue(Clock::system(), [](std::string_view key) { return key == "late" ? 2 : 0; });
  queue.add("late");
  ASSERT_EQ(queue.get(), "late");
  queue.add("late");
  queue.done("late");
  queue.add("soon");
  EXPECT_EQ(queue.get(), "soon");
  EXPECT_EQ(queue.get(), "late");
}

TEST(WorkQueue, KeyInWorkComesAgainOnlyAfterDone) {
  WorkQueue queue;
  queue.add("a");
  ASSERT_EQ(queue.get(), "a");
  queue.add("a");
  queue.add("b");
  EXPECT_EQ(queue.get(), "b");
  queue.done("a");
  EXPECT_EQ(queue.get(), "a");
  queue.done("a");
  queue.done("b");
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueue, DelaysByTheClock) {
  ManualClock clock;
  WorkQueue queue(clock);
  queue.add_after("late", milliseconds(5000));
  queue.add_after("early", milliseconds(1000));
  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_TRUE(queue.idle());
  EXPECT_TRUE(queue.idle(milliseconds(999)));
  EXPECT_FALSE(queue.idle(milliseconds(1000)));
  clock.advance(milliseconds(999));
  queue.add("now");
  EXPECT_EQ(queue.get(), "now");
  clock.advance(milliseconds(1));
  EXPECT_FALSE(queue.idle()) << "due, though nobody has asked for it yet";
  EXPECT_EQ(queue.get(), "early");
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(queue.get(), "late");
}

TEST(WorkQueue, AKeyWaitsForTheFirstMomentOnly) {
  ManualClock clock;
  WorkQueue queue(clock);
  for (int delay : {20, 10, 30}) queue.add_after("a", std::chrono::seconds(delay));
  EXPECT_EQ(queue.depth(), 1u);
  EXPECT_EQ(queue.next_due(), clock.steady_now() + std::chrono::seconds(10));
  clock.advance(std::chrono::seconds(10));
  EXPECT_EQ(queue.try_get(), "a");
  queue.done("a");
  clock.advance(std::chrono::seconds(60));
  EXPECT_EQ(queue.try_get(), std::nullopt);
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST(WorkQueue, BacksOffPerKeyAndForgets) {
  ManualClock clock;
  WorkQueue queue(clock);
  // Returns how long the key stayed away after a failure, to the millisecond.
  const auto fail_once = [&] {
    queue.retry("a");
    for (int waited = 0;; ++waited) {
      queue.add("probe");
      std::optional<std::string> key = queue.get();
      if (key == "a") {
        queue.done("a");
        key = queue.get();
        queue.done(*key);
        return waited;
      }
      queue.done(*key);
      queue.add("probe");  // the delayed key comes in line behind it
      key = queue.get();
      queue.done(*key);
      if (queue.depth() == 0) return waited;
      clock.advance(milliseconds(1));
      if (waited > 100'000) return -1;
    }
  };
  const int first = fail_once();
  EXPECT_GE(first, 4);
  EXPECT_LE(first, 12);
  int last = 0;
  for (int i = 0; i < 6; ++i) last = fail_once();
  EXPECT_GE(last, 300);
  EXPECT_LE(last, 660);
  queue.forget("a");
  EXPECT_LE(fail_once(), 12);
}

TEST(WorkQueue, ShutDownWakesWaiters) {
  WorkQueue queue;
  std::thread waiter([&] { EXPECT_EQ(queue.get(), std::nullopt); });
  queue.shut_down();
  waiter.join();
  queue.add("a");
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(queue.get(), std::nullopt);
}

TEST(WorkQueue, NeverOnTwoWorkersAndNeverLost) {
  WorkQueue queue;
  Mutex mutex;
  std::map<std::string, int> in_work, seen_version;
  std::map<std::string, int> version;  // latest added, guarded by mutex
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w)
    workers.emplace_back([&] {
      while (const auto key = queue.get()) {
        {
          const MutexLock lock(mutex);
          EXPECT_EQ(in_work[*key]++, 0) << *key;
          seen_version[*key] = version[*key];
        }
        std::this_thread::yield();
        {
          const MutexLock lock(mutex);
          --in_work[*key];
        }
        queue.done(*key);
      }
    });
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(i % 7);
    {
      const MutexLock lock(mutex);
      ++version[key];
    }
    i % 5 == 0 ? queue.add_after(key, milliseconds(1)) : queue.add(key);
  }
  while (queue.depth() > 0 || !queue.idle()) std::this_thread::yield();
  queue.shut_down();
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(seen_version, version);
}

// Each time by a queue whose workers all sleep: a call that nobody hears is a key that nobody takes.
TEST(WorkQueue, WhoSleepsIsCalledForEveryKey) {
  WorkQueue queue;
  std::atomic<int> done = 0;
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&] {
      while (const auto key = queue.get()) {
        queue.done(*key);
        ++done;
      }
    });
  for (int i = 0, wanted = 0; i < 1500; ++i) {
    if (i % 3 != 1) queue.add_after("later", milliseconds(1 + i % 2)), ++wanted;
    if (i % 3 != 0) queue.add("now"), ++wanted;
    while (done < wanted) std::this_thread::yield();
  }
  queue.shut_down();
  for (auto& worker : workers) worker.join();
}

}  // namespace
}  // namespace sublet::kube
