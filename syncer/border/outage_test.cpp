// The line in front of a host that does not answer, by a clock of the test's and the real queue.
#include "syncer/border/outage.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace sublet::syncer {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class OutageTest : public testing::Test {
 protected:
  /// Works the queue off as the syncer does, until nothing is in line now. A key that asks the host finds it or not;
  /// the others ask nobody.
  void work() {
    while (const auto key = queue.try_get()) {
      if (outage.may_work(*key)) {
        worked.push_back(*key);
        const bool asks = !key->starts_with("own");
        const bool found = answers && !never_answered.contains(*key);
        if (asks) {
          ++requests;
          outage.note_answer(found);
        }
        if (asks && !found) {
          outage.add_unanswered(*key);
        } else {
          outage.note_progress();
          done.insert(*key);
          queue.forget(*key);
        }
      }
      queue.done(*key);
    }
  }
  void work_for(milliseconds time) {
    for (const SteadyTime end = clock.steady_now() + time; clock.steady_now() < end; clock.advance(milliseconds(5)))
      work();
    work();
  }

  ManualClock clock;
  SeededRandom random{7};
  kube::WorkQueue queue{clock, {}, random};
  Outage outage{clock, queue, random};
  bool answers = true;
  std::set<std::string> never_answered, done;
  std::vector<std::string> worked;
  int requests = 0;
};

TEST_F(OutageTest, AThousandKeysAskAHostThatIsAwayAsRarelyAsOne) {
  answers = false;
  for (int i = 0; i < 1000; ++i) queue.add("pod/" + std::to_string(i));
  work_for(seconds(60));
  EXPECT_LE(requests, 40);  // ten while the pauses grow, then one in 2.5 to 5 s
  EXPECT_GE(requests, 15);
  EXPECT_EQ(outage.waiting(), 1000u);
  EXPECT_GE(std::set<std::string>(worked.begin(), worked.end()).size(), worked.size() - 2)
      << "another one each time, but for the first two, which were alone";
  answers = true;
  work_for(seconds(6));
  EXPECT_EQ(done.size(), 1000u);
  EXPECT_EQ(outage.waiting(), 0u);
}

TEST_F(OutageTest, AnAnswerToSomebodyElseOpensTheWayAtOnce) {
  answers = false;
  for (int i = 0; i < 10; ++i) queue.add("pod/" + std::to_string(i));
  work_for(seconds(30));
  answers = true;
  outage.note_answer(true);
  work();  // no time passes
  EXPECT_EQ(done.size(), 10u);
}

TEST_F(OutageTest, AKeyThatIsNeverAnsweredHoldsNobodyUp) {
  never_answered = {"pod/bad"};
  queue.add("pod/bad");
  for (int i = 0; i < 200; ++i) {
    const std::string key = "pod/" + std::to_string(i);
    queue.add(key);
    work_for(milliseconds(15));
    EXPECT_TRUE(done.contains(key)) << key;
  }
  EXPECT_LE(std::count(worked.begin(), worked.end(), "pod/bad"), 30) << "and has its own pauses, which grow";
}

TEST_F(OutageTest, WhatNeedsNoHostPasses) {
  answers = false;
  queue.add("pod/a");
  work_for(seconds(30));
  const int before = requests;
  for (int i = 0; i < 100; ++i) queue.add("own/" + std::to_string(i));
  work_for(2 * Outage::kLongestPause);  // the host's turn first, then theirs
  EXPECT_EQ(done.size(), 100u);
  EXPECT_LE(requests - before, 3);
}

TEST_F(OutageTest, WhoWaitsForLongIsToBeToldOnce) {
  answers = false;
  for (const char* key : {"pod/a", "pod/b", "pod/c"}) queue.add(key);
  work_for(Outage::kReportAfter - seconds(1));
  EXPECT_TRUE(outage.take_due_reports().empty());
  work_for(seconds(2));
  const auto reported = outage.take_due_reports();
  EXPECT_EQ(std::set<std::string>(reported.begin(), reported.end()),
            (std::set<std::string>{"pod/a", "pod/b", "pod/c"}));
  queue.add("pod/d");
  work_for(minutes(1));
  EXPECT_EQ(outage.take_due_reports(), std::vector<std::string>{"pod/d"})
      << "the others have been tried again meanwhile";
  answers = true;
  work_for(seconds(10));
  EXPECT_EQ(done.size(), 4u);
  EXPECT_TRUE(outage.take_due_reports().empty());
}

TEST_F(OutageTest, OneThatIsNotAnsweredOnceIsTriedAgainSoon) {
  answers = false;
  queue.add("pod/a");
  work();
  answers = true;
  work_for(Outage::kFirstPause);
  EXPECT_TRUE(done.contains("pod/a"));
}

// Whoever was let through and does not come back (its request hangs) is not waited for.
TEST_F(OutageTest, ATryThatHangsKeepsNobodyFromTheNext) {
  answers = false;
  queue.add("pod/a");
  queue.add("pod/b");
  work();
  std::optional<std::string> hangs;
  for (int i = 0; i < 10 && !hangs; ++i) {
    clock.advance(Outage::kFirstPause);
    while (auto key = queue.try_get()) {
      if (outage.may_work(*key)) {
        hangs = std::move(key);
        break;
      }
      queue.done(*key);
    }
  }
  ASSERT_TRUE(hangs);
  answers = true;
  work_for(seconds(1));
  EXPECT_EQ(done.size(), 1u);
  EXPECT_FALSE(done.contains(*hangs));
}

}  // namespace
}  // namespace sublet::syncer
