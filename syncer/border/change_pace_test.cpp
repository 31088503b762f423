#include "syncer/border/change_pace.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ChangePace, ManyChangesInAShortTimeBecomeFew) {
  ManualClock clock;
  ChangePace pace(clock);
  int made = 0;
  for (int i = 0; i < 300; ++i, clock.advance(milliseconds(1000 / 60))) {
    if (pace.wait("a")) continue;
    pace.changed("a");
    ++made;
  }
  EXPECT_LE(made, 7) << "of 300 in five seconds";
  EXPECT_FALSE(pace.wait("b")) << "others do not wait for it";
  const auto left = pace.wait("a");
  ASSERT_TRUE(left);
  EXPECT_LE(*left, ChangePace::kLongestPause);
  clock.advance(*left);
  EXPECT_FALSE(pace.wait("a")) << "the last one comes too";
}

TEST(ChangePace, WhatWasQuietIsChangedAtOnce) {
  ManualClock clock;
  ChangePace pace(clock);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(pace.wait("a")) << "one a second, the " << i << "th";
    pace.changed("a");
    clock.advance(seconds(1));
  }
  for (int i = 0; i < 20; ++i, clock.advance(pace.wait("a").value_or(milliseconds(0)))) pace.changed("a");
  pace.changed("a");
  EXPECT_EQ(pace.wait("a"), ChangePace::kLongestPause);
  clock.advance(ChangePace::kForgotten);
  pace.changed("a");
  EXPECT_EQ(pace.wait("a"), ChangePace::kFirstPause);
}

TEST(ChangePace, ObjectsThatAreQuietAreForgotten) {
  ManualClock clock;
  ChangePace pace(clock);
  for (int i = 0; i < 10'000; ++i) {
    pace.changed(std::to_string(i));
    clock.advance(milliseconds(50));
  }
  EXPECT_LT(pace.size(), 600u);
}

}  // namespace
}  // namespace sublet::syncer
