#include "sublet/net/loop.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <future>

#include "net/net_testing.h"
#include "sublet/base/wake_batch.h"

namespace sublet::net {
namespace {

TEST(Loop, RunsTimersInOrderOfTheirTimeAndAge) {
  Loop loop;
  std::vector<int> order;
  loop.after(300ms, [&] {
    order.push_back(3);
    loop.stop();
  });
  loop.after(1ms, [&] { order.push_back(1); });
  loop.after(1ms, [&] { order.push_back(2); });
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Loop, CancelledTimersDoNotRun) {
  Loop loop;
  bool ran = false;
  Loop::TimerId second = 0;
  loop.after(1ms, [&] { loop.cancel(second); });
  second = loop.after(1ms, [&] { ran = true; });
  loop.cancel(999);
  loop.after(5ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(ran);
}

TEST(Loop, ManyCancelledTimersLeaveNothingBehind) {
  Loop loop;
  int ran = 0;
  for (int i = 0; i < 100'000; ++i) loop.cancel(loop.after(std::chrono::hours(1), [&] { ++ran; }));
  loop.after(0ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(ran, 0);
}

TEST(Loop, PostedTasksOfAllThreadsRunOnItsThread) {
  LoopThread loop("loop");
  std::atomic<int> right{0}, ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        loop.loop().post([&] {
          right += loop.loop().in_loop_thread();
          ++ran;
        });
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return ran == 4000; }));
  EXPECT_EQ(right, 4000);
  EXPECT_FALSE(loop.loop().in_loop_thread());
}

TEST(Loop, AnEarlierTimerFromAnotherThreadWakesIt) {
  LoopThread loop("loop");
  Box<int> box;
  loop.loop().after(std::chrono::hours(1), [] {});
  loop.loop().after(1ms, [&] { box.put(1); });
  EXPECT_TRUE(box.wait());
}

TEST(Loop, ForgottenDescriptorsAreNotCalledEvenWithinTheRound) {
  Loop loop;
  int pairs[2][2];
  for (auto& pair : pairs) ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  int calls = 0;
  const auto once = [&](std::uint32_t) {
    ++calls;
    for (const auto& pair : pairs) loop.forget_fd(pair[0]);  // itself, and the other that is ready as well
    loop.after(5ms, [&] { loop.stop(); });
  };
  for (const auto& pair : pairs) {
    loop.watch_fd(pair[0], EPOLLIN, once);
    ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
  }
  loop.run();
  EXPECT_EQ(calls, 1);
  for (const auto& pair : pairs) ::close(pair[0]), ::close(pair[1]);
}

TEST(Loop, InterestCanChange) {
  Loop loop;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  std::vector<std::uint32_t> seen;
  loop.watch_fd(pair[0], EPOLLIN, [&](std::uint32_t events) {
    seen.push_back(events);
    loop.stop();
  });
  loop.change_fd(pair[0], EPOLLOUT);
  loop.run();
  EXPECT_EQ(seen, std::vector<std::uint32_t>{EPOLLOUT});
  ::close(pair[0]), ::close(pair[1]);
}

TEST(Loop, RunSyncWorksBeforeDuringAndAfterRun) {
  Loop loop;
  int ran = 0;
  loop.run_sync([&] { ran += loop.in_loop_thread(); });
  EXPECT_EQ(ran, 1);
  std::thread runner([&] { loop.run(); });
  std::thread::id where;
  loop.run_sync([&] { where = std::this_thread::get_id(); });
  loop.run_sync([&] { loop.run_sync([&] { ++ran; }); });  // from within
  loop.stop();
  runner.join();
  loop.run_sync([&] { ++ran; });
  EXPECT_EQ(ran, 3);
}

TEST(Loop, WhatTasksCapturedMayUseTheLoopWhileItDies) {
  struct Guard {
    Loop* loop;
    explicit Guard(Loop* of) : loop(of) {}
    ~Guard() {
      loop->cancel(1);
      loop->forget_fd(0);
      loop->post([] {});
    }
  };
  auto loop = std::make_unique<Loop>();
  loop->post([guard = std::make_shared<Guard>(loop.get())] {});
  loop->after(1h, [guard = std::make_shared<Guard>(loop.get())] {});
  loop.reset();
}

TEST(Loop, ABatchOfPostsWakesALoopOnceAllAreThere) {
  LoopThread thread("batch");
  std::promise<void> done;
  std::atomic<int> ran{0};
  {
    const WakeBatch batch;
    for (int i = 0; i < 100; ++i) thread.loop().post([&] { ++ran; });
    thread.loop().post([&] { done.set_value(); });
  }
  done.get_future().wait();
  EXPECT_EQ(ran, 100);
}

TEST(Loop, WhoWaitsIsNotHeldUpByABatch) {
  LoopThread thread("batch");
  const WakeBatch batch;
  bool ran = false;
  thread.loop().run_sync([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace sublet::net
