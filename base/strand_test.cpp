#include "sublet/base/strand.h"

#include <gtest/gtest.h>

#include <string>

namespace sublet {
namespace {

using std::chrono::seconds;

TEST(SteppedStrand, RunsWhatIsDueByItsClockOneAStep) {
  ManualClock clock;
  int rung = 0;
  SteppedStrand strand(clock, [&] { ++rung; });
  std::string done;
  strand.after(seconds(2), [&] { done += "later "; });
  strand.after(seconds(1), [&] { done += "soon "; });
  const auto cancelled = strand.after(seconds(1), [&] { done += "never "; });
  strand.post([&] { done += "first "; });
  strand.post([&] { done += "second "; });
  EXPECT_EQ(rung, 2);
  EXPECT_TRUE(strand.step());
  EXPECT_EQ(done, "first ");
  EXPECT_TRUE(strand.step());
  EXPECT_FALSE(strand.step());
  strand.cancel(cancelled);
  clock.advance(seconds(1));
  EXPECT_TRUE(strand.step());
  EXPECT_FALSE(strand.step());
  EXPECT_EQ(done, "first second soon ");
  clock.advance(seconds(1));
  EXPECT_TRUE(strand.step());
  EXPECT_EQ(done, "first second soon later ");
}

}  // namespace
}  // namespace sublet
