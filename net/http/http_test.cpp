#include "sublet/net/http.h"

#include <gtest/gtest.h>

namespace sublet::net {
namespace {

TEST(Headers, CompareNamesWithoutCase) {
  Headers headers{{"Accept", "a"}, {"ACCEPT", "b"}, {"X", "1"}};
  EXPECT_EQ(headers.get("accept"), "a");
  EXPECT_EQ(headers.all("Accept"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(headers.get("missing"), "");
  EXPECT_FALSE(headers.has("missing"));
  headers.set("aCCept", "c");
  EXPECT_EQ(headers.all("Accept"), (std::vector<std::string_view>{"c"}));
  EXPECT_EQ(headers.size(), 2u);
}

TEST(Request, SplitsItsTarget) {
  EXPECT_EQ((Request{"GET", "/a%2Fb?x=1?2", {}, {}, {}}).path(), "/a%2Fb");
  EXPECT_EQ((Request{"GET", "/a?x=1?2", {}, {}, {}}).query(), "x=1?2");
  EXPECT_EQ((Request{"GET", "/a", {}, {}, {}}).query(), "");
}

TEST(PercentCoding, GoesBothWays) {
  EXPECT_EQ(percent_decode("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_EQ(percent_decode("%"), std::nullopt);
  EXPECT_EQ(percent_decode("%4"), std::nullopt);
  EXPECT_EQ(percent_decode("%zz"), std::nullopt);
  EXPECT_EQ(percent_decode("%C3%A4"), "\xC3\xA4");
  EXPECT_EQ(percent_encode("a/b c~\xC3"), "a%2Fb%20c~%C3");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
}

TEST(Query, ParsesAsGoDoes) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_query("labelSelector=a%3Db,c&limit=5"), (Pairs{{"labelSelector", "a=b,c"}, {"limit", "5"}}));
  EXPECT_EQ(parse_query("watch&&a=b=c&=x"), (Pairs{{"watch", ""}, {"a", "b=c"}, {"", "x"}}));
  EXPECT_EQ(parse_query("a=%zz&b=1+2"), (Pairs{{"a", "%zz"}, {"b", "1 2"}}));
  EXPECT_EQ(parse_query(""), Pairs{});
}

TEST(ReasonPhrase, KnowsTheCodesInUse) {
  EXPECT_EQ(reason_phrase(100), "Continue");
  EXPECT_EQ(reason_phrase(409), "Conflict");
  EXPECT_EQ(reason_phrase(505), "HTTP Version Not Supported");
  EXPECT_EQ(reason_phrase(299), "Unknown");
}

}  // namespace
}  // namespace sublet::net
