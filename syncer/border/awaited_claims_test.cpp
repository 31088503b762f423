#include "syncer/border/awaited_claims.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

using Names = std::set<std::string>;

TEST(AwaitedClaims, AreToldOfOnceAndOnlyToWhoStillWaits) {
  AwaitedClaims awaited;
  awaited.await("data", "db");
  awaited.await("logs", "db");
  awaited.await("data", "web");
  awaited.await("data", "gone");
  awaited.forget("gone");
  awaited.forget("never");
  EXPECT_EQ(awaited.take("data"), (Names{"db", "web"}));
  EXPECT_EQ(awaited.take("data"), Names()) << "they say so again when they wait on";
  awaited.await("data", "web");
  EXPECT_EQ(awaited.take_all(), (Names{"db", "web"})) << "db waits for its other claim";
  EXPECT_EQ(awaited.take("logs"), Names());
  awaited.forget("db");
  EXPECT_EQ(awaited.take_all(), Names());
}

}  // namespace
}  // namespace sublet::syncer
