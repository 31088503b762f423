#include "controllers/runtime/event_recorder.h"

#include <gtest/gtest.h>

#include <set>

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

class EventCorrelatorTest : public testing::Test {
 protected:
  EventCorrelator::Record say(const std::string& message, const std::string& reason = "Reason",
                              const std::string& name = "a") {
    return correlator_.correlate(
        {"tester", {"v1", "Pod", "ns", name, "uid-" + name, "1"}, EventType::normal, reason, message});
  }
  ManualClock clock_;
  EventCorrelator correlator_{clock_};
};

TEST_F(EventCorrelatorTest, TheSameAgainIsCounted) {
  const auto first = say("m");
  clock_.advance(1min);
  const auto second = say("m"), other = say("n");
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(second.count, 2);
  EXPECT_EQ(second.name, first.name);
  EXPECT_EQ(second.first, first.first);
  EXPECT_EQ(second.last, first.last + 1min);
  EXPECT_EQ(other.count, 1);
  EXPECT_NE(other.name, first.name) << "also at the same moment";
}

TEST_F(EventCorrelatorTest, ManyThatDifferOnlyInTheirTextBecomeOne) {
  std::set<std::string> names;
  for (int i = 1; i < 10; ++i) names.insert(say("m" + std::to_string(i)).name);
  EXPECT_EQ(names.size(), 9u);
  const auto tenth = say("m10"), next = say("m11");
  EXPECT_EQ(tenth.message, "(combined from similar events): m10");
  EXPECT_EQ(tenth.count, 1);
  EXPECT_EQ(next.name, tenth.name);
  EXPECT_EQ(next.count, 2);
  clock_.advance(601s);
  EXPECT_EQ(say("m12").message, "m12") << "ten minutes later it is news";
}

TEST_F(EventCorrelatorTest, OfAnObjectTooMuchIsNotSaid) {
  int said = 0;
  for (int i = 0; i < 40; ++i) said += say("m", "Reason" + std::to_string(i)).skip ? 0 : 1;
  EXPECT_EQ(said, 25);
  EXPECT_FALSE(say("m", "Reason", "b").skip) << "another object";
  clock_.advance(300s);
  EXPECT_FALSE(say("m", "Later").skip);
  EXPECT_TRUE(say("m", "Later again").skip) << "one in five minutes";
}

}  // namespace
}  // namespace sublet::controllers
