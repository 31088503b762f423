#include "sublet/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sublet {
namespace {

using ::testing::ElementsAre;

TEST(Text, TrimsBothEndsOnly) {
  EXPECT_EQ(trimmed(" \t a b\n"), "a b");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(trimmed("/a/", "/"), "a");
}

TEST(Text, LowersAsciiAlone) {
  EXPECT_EQ(to_lower("Content-TYPE"), "content-type");
  EXPECT_EQ(to_lower("\xC3\x84"), "\xC3\x84");
  EXPECT_TRUE(equal_ignoring_case("X-Remote-User", "x-remote-user"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a..b.", '.'), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", '.'), ElementsAre(""));
  EXPECT_THAT(split_words(" get  list "), ElementsAre("get", "list"));
  EXPECT_THAT(split_words(" "), ElementsAre());
}

TEST(Text, JoinTakesAnyRangeOfTexts) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join(std::set<std::string_view>{"b", "a"}, "/"), "a/b");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(Text, QuotesEscapeNothing) {
  EXPECT_EQ(single_quoted("it's"), "'it's'");
  EXPECT_EQ(double_quoted("a"), "\"a\"");
}

}  // namespace
}  // namespace sublet
