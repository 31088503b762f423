#include <gtest/gtest.h>

#include <type_traits>

#include "sublet/base/at_most_every.h"
#include "sublet/base/clock.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/log_level.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"

namespace sublet {
namespace {

TEST(Log, ALineOfJsonIsOneWhateverItSays) {
  EXPECT_EQ(log::line_of("pod.created", {{"name", "a \"b\"\n\x01"}, {"count", 3}}, true),
            R"("event":"pod.created","name":"a \"b\"\u000a\u0001","count":"3")");
  EXPECT_EQ(log::line_of("pod.created", {{"name", "a b"}}, false), R"(pod.created name="a b")");
}

TEST(AtMostEvery, LetsOneThroughAndCountsTheOthers) {
  using std::chrono::seconds;
  AtMostEvery lines{seconds(10)};
  const WallTime start{seconds(1'700'000'000)};
  EXPECT_EQ(lines.pass(start), 0u);
  EXPECT_EQ(lines.pass(start), std::nullopt);
  EXPECT_EQ(lines.pass(start + seconds(9)), std::nullopt);
  EXPECT_EQ(lines.pass(start + seconds(10)), 2u);
  EXPECT_EQ(lines.pass(start + seconds(19)), std::nullopt);
  EXPECT_EQ(lines.pass(start + seconds(1)), 1u);  // the clock was set back
  EXPECT_EQ(lines.pass(start + seconds(2)), std::nullopt);
}

TEST(Time, FormatsAndParses) {
  const auto time = parse_time("2026-11-21T11:41:37.25+02:00");
  ASSERT_TRUE(time);
  EXPECT_EQ(format_time(*time), "2026-11-21T09:41:37Z");
  EXPECT_EQ(format_micro_time(*time), "2026-11-21T09:41:37.250000Z");
  for (const char* wrong : {"", "2026-11-21", "2026-13-21T00:00:00Z", "2026-11-21T00:00:00", "2026-11-21T00:00:00Zx",
                            "2026-11-21T00:00:00.Z", "2026-02-30T00:00:00Z"})
    EXPECT_FALSE(parse_time(wrong)) << wrong;
}

TEST(Status, SpellsUpstreamMessages) {
  EXPECT_EQ(not_found_status("apps", "deployments", "x").message, "deployments.apps \"x\" not found");
  EXPECT_EQ(conflict_status("", "pods", "x", kObjectModified).http_code(), 409);
  const Status twice =
      invalid_status("", "Pod", "x", {{"FieldValueInvalid", "bad", "a"}, {"FieldValueInvalid", "bad", "a"}});
  EXPECT_EQ(twice.message, "Pod \"x\" is invalid: a: bad");
  EXPECT_EQ(twice.causes.size(), 2u);
  EXPECT_EQ(invalid_status("", "Pod", "x", {{"FieldValueRequired", "Required value", "spec"}}).message,
            "Pod \"x\" is invalid: spec: Required value");
  EXPECT_EQ(reason_from_name("Expired"), Reason::expired);
  EXPECT_EQ(reason_from_http_code(409), Reason::conflict);
}

static_assert(!std::is_copy_constructible_v<Descriptor> && !std::is_copy_assignable_v<Descriptor>,
              "two would close it");

TEST(Random, MakesUuidsAndSuffixes) {
  SeededRandom random(1);
  const std::string uuid = uuid_v4(random);
  ASSERT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(uuid, uuid_v4(random));
  EXPECT_EQ(name_suffix(random, 5).find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
}

}  // namespace
}  // namespace sublet
