#include "sublet/base/wake_batch.h"

#include <gtest/gtest.h>

#include <thread>

namespace sublet {
namespace {

struct Counted final : Sleeper {
  int woken = 0;
  void wake() override { ++woken; }
};

TEST(WakeBatch, WakesEachSleeperOnceAtItsEnd) {
  const auto one = std::make_shared<Counted>(), other = std::make_shared<Counted>();
  {
    const WakeBatch batch;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(WakeBatch::defer(one));
    EXPECT_TRUE(WakeBatch::defer(other));
    EXPECT_EQ(one->woken, 0);
  }
  EXPECT_EQ(one->woken, 1);
  EXPECT_EQ(other->woken, 1);
  EXPECT_FALSE(WakeBatch::defer(one)) << "there is no batch any more";
}

TEST(WakeBatch, IsItsThreadsOwn) {
  const auto one = std::make_shared<Counted>();
  const WakeBatch batch;
  std::thread([&] { EXPECT_FALSE(WakeBatch::defer(one)); }).join();
}

}  // namespace
}  // namespace sublet
