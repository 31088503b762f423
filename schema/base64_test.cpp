#include "schema/base64.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"

namespace sublet::schema {
namespace {

TEST(Base64, RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(base64_encode("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
}

TEST(Base64, IgnoresLineBreaksAndNothingElse) {
  EXPECT_EQ(base64_decode("YW\r\n55\nIA==\n"), "any ");
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text : {"Y", "YW", "YW5", "YW5=A", "=", "YW==YW==", "YW5 ", "Y===", "-_==", "YW55="})
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
}

// Every text of four characters that matter: it is canonical where encoding what was decoded gives it again.
TEST(Base64, IsCanonicalWhereItIsWhatEncodingMakes) {
  const std::string_view characters = "AQgw/-=\n0z";
  std::string text = "QUJD....";
  for (const char a : characters)
    for (const char b : characters)
      for (const char c : characters)
        for (const char d : characters) {
          const char end[] = {a, b, c, d};
          text.replace(4, 4, end, 4);
          const auto bytes = base64_decode(text);
          EXPECT_EQ(is_canonical_base64(text), bytes && base64_encode(*bytes) == text) << text;
        }
  for (const char* odd : {"QUJ", "QUJDQ", "=", "====", "Q==="}) EXPECT_FALSE(is_canonical_base64(odd)) << odd;
  EXPECT_TRUE(is_canonical_base64(""));
}

TEST(Base64Url, RoundTripsEveryLengthWithoutPadding) {
  std::string bytes;
  for (int size = 0; size < 64; ++size) {
    const std::string text = base64url_encode(bytes);
    EXPECT_EQ(text.find_first_of("+/="), std::string::npos) << text;
    EXPECT_EQ(base64url_decode(text), bytes);
    bytes += static_cast<char>(0xff - size * 3);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
}

TEST(Base64Url, TakesOneSpellingOnly) {
  for (const std::string_view text : {"+/8", "-_8=", "-_\n8", "-", "-_8 "})
    EXPECT_EQ(base64url_decode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sublet::schema
