#include "controllers/cron_job/due_times.h"

#include <gtest/gtest.h>

namespace sublet::controllers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

WallTime today_at(std::string_view clock) {
  return *parse_time("2026-11-22T" + std::string(clock) + (clock.size() == 5 ? ":00Z" : "Z"));
}

std::string due(CronTimes times, std::string_view schedule, std::string_view now) {
  auto found = last_due(times, *kube::CronSchedule::parse(schedule), today_at(now));
  if (!found) return found.error().message;
  return (found->due ? format_time(*found->due).substr(11, 8) : "none") + (found->too_many ? " too many" : "");
}

TEST(LastDue, IsTheLatestThatWasNotMet) {
  const CronTimes made{today_at("08:00:30")};
  EXPECT_EQ(due(made, "*/10 * * * *", "08:05"), "none");
  EXPECT_EQ(due(made, "*/10 * * * *", "08:10"), "08:10:00");
  EXPECT_EQ(due(made, "*/10 * * * *", "08:19:59"), "08:10:00");
  EXPECT_EQ(due(made, "*/10 * * * *", "08:47"), "08:40:00");
  EXPECT_EQ(due({today_at("08:00"), today_at("08:40")}, "*/10 * * * *", "08:47"), "none");
  EXPECT_EQ(due({today_at("08:00"), today_at("08:10")}, "*/10 * * * *", "08:47"), "08:40:00");
  EXPECT_EQ(due(made, "30 6-16/4 * * 0", "15:00"), "14:30:00") << "not all equally far apart";
  EXPECT_EQ(due(made, "* * * * *", "11:00"), "11:00:00 too many");
  EXPECT_EQ(due({today_at("08:00"), {}, seconds(90)}, "* * * * *", "11:00"), "11:00:00") << "the deadline forgives";
  EXPECT_EQ(due({today_at("08:00"), {}, seconds(5)}, "*/10 * * * *", "08:10:06"), "none") << "too late";
  EXPECT_EQ(due(made, "59 23 31 2 *", "11:00"), "time difference between two schedules is less than 1 second");
}

TEST(NextDue, IsCountedFromTheLast) {
  const auto until = [](CronTimes times, std::string_view schedule, std::string_view now) {
    return until_next_due(times, *kube::CronSchedule::parse(schedule), today_at(now));
  };
  EXPECT_EQ(until({today_at("08:00:30")}, "*/10 * * * *", "08:05"), seconds(300) + milliseconds(100));
  EXPECT_EQ(until({today_at("08:00"), today_at("08:10")}, "*/10 * * * *", "08:12"), seconds(480) + milliseconds(100));
  EXPECT_EQ(until({today_at("08:00"), today_at("08:00")}, "*/10 * * * *", "08:47"), seconds(180) + milliseconds(100));
  EXPECT_EQ(until({today_at("08:00")}, "59 23 31 2 *", "08:47"), std::nullopt);
}

TEST(Rfc1123, IsWrittenAsGoDoes) { EXPECT_EQ(format_rfc1123(today_at("08:05:09")), "Sun, 22 Nov 2026 08:05:09 +0000"); }

}  // namespace
}  // namespace sublet::controllers
