#include "sublet/kube/cron_schedule.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sublet::kube {
namespace {

using std::chrono::seconds;

WallTime at(std::string_view text) { return *parse_time(text); }

std::string next(std::string_view schedule, std::string_view after, TimeZone zone = {}) {
  auto parsed = CronSchedule::parse(schedule, std::move(zone));
  if (!parsed) return parsed.error().message;
  auto due = parsed->next(at(after));
  return due ? format_time(*due) : "never";
}

TEST(CronSchedule, IsDueWhenAllFieldsMatch) {
  struct Case {
    std::string_view schedule, after, due;
  };
  for (const auto& [schedule, after, due] : std::initializer_list<Case>{
           {"* * * * *", "2026-11-22T08:30:00Z", "2026-11-22T08:31:00Z"},
           {"* * * * *", "2026-11-22T08:30:59.5Z", "2026-11-22T08:31:00Z"},
           {"*/15 * * * *", "2026-11-22T08:30:00Z", "2026-11-22T08:45:00Z"},
           {"*/15 * * * *", "2026-12-31T23:59:00Z", "2027-01-01T00:00:00Z"},
           {"30 6-16/4 * * 1-5", "2026-11-20T16:00:00Z", "2026-11-23T06:30:00Z"},
           {"0 0 13 * FRI", "2026-11-22T00:00:00Z", "2026-11-27T00:00:00Z"},  // either of two that are not *
           {"0 0 13 * *", "2026-11-22T00:00:00Z", "2026-12-13T00:00:00Z"},
           {"0 0 29 2 *", "2026-11-22T00:00:00Z", "2028-02-29T00:00:00Z"},
           {"0 0 31 2 *", "2026-11-22T00:00:00Z", "never"},
           {"? ? ? JAN-MAR sun,mon", "2026-11-22T00:00:00Z", "2027-01-03T00:00:00Z"},
           {"5/20 3 * * *", "2026-11-22T03:06:00Z", "2026-11-22T03:25:00Z"},
           {"@hourly", "2026-11-22T08:30:00Z", "2026-11-22T09:00:00Z"},
           {"@weekly", "2026-11-22T08:30:00Z", "2026-11-29T00:00:00Z"},
           {"@yearly", "2026-11-22T08:30:00Z", "2027-01-01T00:00:00Z"},
           {"@every 1h30m", "2026-11-22T08:30:00.7Z", "2026-11-22T10:00:00Z"},
           {"@every 10ms", "2026-11-22T08:30:00Z", "2026-11-22T08:30:01Z"}})
    EXPECT_EQ(next(schedule, after), due) << schedule << " after " << after;
}

TEST(CronSchedule, SaysWhatItDoesNotUnderstand) {
  struct Case {
    std::string_view schedule, why;
  };
  for (const auto& [schedule, why] : std::initializer_list<Case>{
           {"", "empty spec string"},
           {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
           {"60 * * * *", "end of range (60) above maximum (59): 60"},
           {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
           {"* * * * 7", "end of range (7) above maximum (6): 7"},
           {"5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"},
           {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
           {"1/2/3 * * * *", "too many slashes: 1/2/3"},
           {"*/0 * * * *", "step of range should be a positive number: */0"},
           {"-1 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax"},
           {"a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"},
           {"TZ=UTC * * * * *", "expected exactly 5 fields, found 6: [TZ=UTC * * * * *]"},
           {"@never", "unrecognized descriptor: @never"},
           {"@every x", "failed to parse duration @every x: time: invalid duration \"x\""}})
    EXPECT_EQ(next(schedule, "2026-11-22T00:00:00Z"), why);
}

TEST(TimeZone, RulesSayWhenClocksAreChanged) {
  const auto berlin = TimeZone::parse_rule("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(format_time_in(*berlin, at("2026-03-29T00:59:59Z")), "2026-03-29T01:59:59+01:00");
  EXPECT_EQ(format_time_in(*berlin, at("2026-03-29T01:00:00Z")), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(format_time_in(*berlin, at("2026-10-25T00:59:59Z")), "2026-10-25T02:59:59+02:00");
  EXPECT_EQ(format_time_in(*berlin, at("2026-10-25T01:00:00Z")), "2026-10-25T02:00:00+01:00");
  const auto chatham = TimeZone::parse_rule("<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45");
  ASSERT_TRUE(chatham);
  EXPECT_EQ(format_time_in(*chatham, at("2026-01-01T00:00:00Z")), "2026-01-01T13:45:00+13:45");
  EXPECT_EQ(format_time_in(*chatham, at("2026-07-01T00:00:00Z")), "2026-07-01T12:45:00+12:45");
  const auto by_day = TimeZone::parse_rule("AAA5BBB,J60/0,300");
  ASSERT_TRUE(by_day);
  EXPECT_EQ(by_day->offset(at("2028-03-01T04:59:59Z").time_since_epoch() / seconds(1)), -5 * 3600);
  EXPECT_EQ(by_day->offset(at("2028-03-01T05:00:00Z").time_since_epoch() / seconds(1)), -4 * 3600);
  for (auto broken : {"", "C-1", "CET", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0x"})
    EXPECT_FALSE(TimeZone::parse_rule(broken)) << broken;
}

TEST(TimeZone, AnHourThatIsSkippedIsPassedOverAndOneThatComesTwiceCountsTwice) {
  const auto berlin = TimeZone::parse_rule("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00:00Z", *berlin), "2026-03-30T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-24T12:00:00Z", *berlin), "2026-10-25T00:30:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-10-25T00:30:00Z", *berlin), "2026-10-25T01:30:00Z");
  EXPECT_EQ(next("0 9 * * *", "2026-07-01T12:00:00Z", *berlin), "2026-07-02T07:00:00Z");
}

TEST(TimeZone, AMidnightThatDoesNotExistCostsNoDay) {
  const auto cairo = TimeZone::parse_rule("EET-2EEST,M4.5.5/0,M10.5.4/24");  // 00:00 becomes 01:00 on a Friday
  ASSERT_TRUE(cairo);
  EXPECT_EQ(next("0 5 24 4 *", "2026-01-01T00:00:00Z", *cairo), "2026-04-24T02:00:00Z");
  const auto brasil = TimeZone::parse_rule("<-03>3<-02>,M11.1.0/0,M2.3.0/0");
  ASSERT_TRUE(brasil);
  EXPECT_EQ(next("0 5 1 11 *", "2026-03-01T00:00:00Z", *brasil), "2026-11-01T07:00:00Z");
}

// Computed by upstream's library (github.com/robfig/cron v3.0.1), over the machine's tzdata.
TEST(TimeZone, PlacesAgreeWithUpstream) {
  if (!std::ifstream("/usr/share/zoneinfo/Europe/Berlin")) GTEST_SKIP() << "no tzdata on this machine";
  struct Case {
    std::string zone;
    std::string_view schedule;
    std::int64_t after, due;
  };
  const Case cases[] = {
      {"Pacific/Apia", "39-39/3 *,17-21/2 * 11-12/1 mon", 1572781140, 1572784740},
      {"Pacific/Apia", "* */4 20-30/1 9 1-1/4", 1734574637, 1756638000},
      {"Africa/Cairo", "0-33/3 *,4 6/3,1-15/1 6 1-1/3", 1275339960, 1275340140},
      {"Europe/Berlin", "1,44/7 12 20/7 10-10 thu", 2241603179, 2264407260},
      {"Europe/Berlin", "* 9 6-30 * 5-5/3", 2385442800, 2385442860},
      {"America/New_York", "* * * * *,0-6,3-5", 1076194440, 1076194500},
      {"America/New_York", "25,*/6 19/2 * * sat", 1708819560, 1708819920},
      {"Asia/Tehran", "* 15-22 * 7,* *,*", 2162552520, 2162552580},
      {"America/Sao_Paulo", "* * 24 * 6-6", 1746241320, 1746241380},
      {"Asia/Tehran", "*/3 1 */1,26/2,12/7 * */2", 1481146200, 1481146380},
      {"Asia/Kolkata", "*/7 * 8-26/4 11-11,*/2,oct,jul 0-6,2", 1640975400, 1640975820},
      {"Pacific/Apia", "* * 2/1 * 2-5,*/7", 1837912320, 1837912380},
      {"America/Sao_Paulo", "* 20-22/2,*,12 * */2 *", 2426008920, 2426008980},
      {"Europe/Berlin", "*/3 */2,8-14/4 17/1,29-30/4,4-5,24 * *", 2076818400, 2076818580},
      {"Australia/Lord_Howe", "18 * * 10,12-12/3 mon", 1885477680, 1885481280},
      {"Asia/Tehran", "5 * */7,*/2 11-11/4 */8", 2329943700, 2329947300},
      {"Asia/Tehran", "* * 5-22/3 *,*/5 *", 2260105920, 2260105980},
      {"America/Sao_Paulo", "*/3 3-14/1 11-31/1 6-10,5 *", 2386227815, 2386227960},
      {"Pacific/Apia", "48,*,*,*/3,*/3,24 * 26/4,18-18 * sat", 2136798060, 2136798120},
      {"Africa/Cairo", "* * * */5,mar,5,*/4 */1", 1757553714, 1757553720},
      {"America/New_York", "* * 25/7 apr,4 sun", 2335752831, 2343268800},
      {"Pacific/Apia", "* 22-22/4 25-27/3 * 3", 1801645260, 1801645320},
      {"Europe/Berlin", "10-50/1,* 18-20/2 2-23 * 4-5/2", 1751904000, 1751904060},
      {"Asia/Tehran", "* 7 21/5 1-2 *", 1169350320, 1169350380},
  };
  for (const auto& [name, schedule, after, due] : cases) {
    auto zone = TimeZone::load(name);
    ASSERT_TRUE(zone) << zone.error().message;
    auto parsed = CronSchedule::parse(schedule, *zone);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->next(WallTime(seconds(after))), WallTime(seconds(due))) << name << " " << schedule;
  }
}

TEST(TimeZone, UnknownPlacesAreRefused) {
  EXPECT_EQ(TimeZone::load("Europe/Atlantis").error().message, "unknown time zone Europe/Atlantis");
  EXPECT_EQ(TimeZone::load("../../etc/passwd").error().message, "time: invalid location name");
  EXPECT_EQ(TimeZone::load("/etc/passwd").error().message, "time: invalid location name");
  EXPECT_EQ(TimeZone::load("")->offset(0), 0);
  EXPECT_FALSE(TimeZone::parse_tzif("TZif2 cut off"));
  EXPECT_FALSE(TimeZone::parse_tzif(std::string(2000, '\xff')));
}

}  // namespace
}  // namespace sublet::kube
