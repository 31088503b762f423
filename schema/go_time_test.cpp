#include "sublet/schema/go_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace sublet::schema {
namespace {

std::string canonical(std::string_view text, TimeLayout layout) {
  GoTime time;
  std::string problem;
  if (!parse_go_time(text, layout, time, problem)) return problem;
  char buffer[kTimeTextMax];
  return std::string(format_go_time(time, layout, buffer));
}

TEST(GoTime, NormalisesToUtc) {
  EXPECT_EQ(canonical("2026-11-21T09:41:37Z", TimeLayout::seconds), "2026-11-21T09:41:37Z");
  EXPECT_EQ(canonical("2026-11-21T11:41:37.9+02:00", TimeLayout::seconds), "2026-11-21T09:41:37Z");
  EXPECT_EQ(canonical("2024-02-29T23:59:59-11:30", TimeLayout::seconds), "2024-03-01T11:29:59Z");
  EXPECT_EQ(canonical("0001-01-01T00:00:00Z", TimeLayout::seconds), "0001-01-01T00:00:00Z");
  EXPECT_EQ(canonical("2026-11-21T09:41:37.123456Z", TimeLayout::micros), "2026-11-21T09:41:37.123456Z");
  EXPECT_EQ(canonical("1969-12-31T23:59:59.500000Z", TimeLayout::micros), "1969-12-31T23:59:59.500000Z");
}

TEST(GoTime, ExplainsInGosWords) {
  EXPECT_EQ(canonical("soon", TimeLayout::seconds),
            R"(parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006")");
  EXPECT_EQ(canonical("2026-13-21T09:41:37Z", TimeLayout::seconds),
            R"(parsing time "2026-13-21T09:41:37Z": month out of range)");
  EXPECT_EQ(canonical("2026-02-30T09:41:37Z", TimeLayout::seconds),
            R"(parsing time "2026-02-30T09:41:37Z": day out of range)");
  EXPECT_EQ(canonical("2026-11-21T09:41:37", TimeLayout::seconds),
            R"(parsing time "2026-11-21T09:41:37" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00")");
  EXPECT_EQ(canonical("2026-11-21T09:41:37Zx", TimeLayout::seconds),
            R"(parsing time "2026-11-21T09:41:37Zx": extra text: "x")");
  EXPECT_EQ(
      canonical("2026-11-21T09:41:37Z", TimeLayout::micros),
      R"(parsing time "2026-11-21T09:41:37Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000")");
}

// What Go's time.Parse takes beyond the letter of RFC 3339.
TEST(GoTime, ReadsHoursOfOneDigitAndOffsetsOfSixtyMinutes) {
  GoTime time;
  int ahead = 0;
  ASSERT_TRUE(parse_zoned_time("2020-01-01T1:00:00Z", time, ahead));
  EXPECT_EQ(time.seconds, 1577840400);
  ASSERT_TRUE(parse_zoned_time("2020-01-01T10:00:00.5-00:60", time, ahead));
  EXPECT_EQ(time, (GoTime{1577876400, 500'000'000}));
  EXPECT_EQ(ahead, -3600);
  EXPECT_TRUE(parse_zoned_time("0000-01-01T00:00:00+24:00", time, ahead)) << "the wire's limits are not its";
  EXPECT_FALSE(parse_zoned_time("2020-01-01T10:00:00+00:61", time, ahead));
  EXPECT_EQ(canonical("2020-01-01T10:00:00+00:60", TimeLayout::seconds), "2020-01-01T09:00:00Z");
}

std::string canonical_duration(std::string_view text) {
  std::int64_t nanos = 0;
  std::string problem;
  return parse_go_duration(text, nanos, problem) ? format_go_duration(nanos) : problem;
}

TEST(GoDuration, ReadsAndPrintsAsGo) {
  EXPECT_EQ(canonical_duration("0"), "0s");
  EXPECT_EQ(canonical_duration("1h"), "1h0m0s");
  EXPECT_EQ(canonical_duration("90m"), "1h30m0s");
  EXPECT_EQ(canonical_duration("1.5s"), "1.5s");
  EXPECT_EQ(canonical_duration("1500us"), "1.5ms");
  EXPECT_EQ(canonical_duration("-2ns"), "-2ns");
  EXPECT_EQ(canonical_duration("1h2m3.004s"), "1h2m3.004s");
  EXPECT_EQ(canonical_duration("2562047h47m16.854775807s"), "2562047h47m16.854775807s");
  EXPECT_EQ(format_go_duration(std::numeric_limits<std::int64_t>::min()), "-2562047h47m16.854775808s");
}

TEST(GoDuration, ExplainsInGosWords) {
  EXPECT_EQ(canonical_duration(""), R"(time: invalid duration "")");
  EXPECT_EQ(canonical_duration("5"), R"(time: missing unit in duration "5")");
  EXPECT_EQ(canonical_duration("5d"), R"(time: unknown unit "d" in duration "5d")");
  EXPECT_EQ(canonical_duration("9999999h"), R"(time: invalid duration "9999999h")");
}

}  // namespace
}  // namespace sublet::schema
