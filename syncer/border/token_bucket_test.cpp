#include "syncer/border/token_bucket.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

using std::chrono::milliseconds;

TEST(TokenBucket, GivesWhatItHoldsThenWhatFlowsIn) {
  ManualClock clock;
  TokenBucket bucket(clock, 3, 2);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(bucket.take()) << i;
  EXPECT_EQ(bucket.take(), milliseconds(500));
  clock.advance(milliseconds(400));
  EXPECT_EQ(bucket.take(), milliseconds(100));
  clock.advance(milliseconds(100));
  EXPECT_FALSE(bucket.take());
  EXPECT_TRUE(bucket.take());
}

TEST(TokenBucket, HoldsNoMoreThanItsSize) {
  ManualClock clock;
  TokenBucket bucket(clock, 2, 100);
  clock.advance(std::chrono::hours(1));
  EXPECT_FALSE(bucket.take());
  EXPECT_FALSE(bucket.take());
  EXPECT_TRUE(bucket.take());
}

}  // namespace
}  // namespace sublet::syncer
