// Of a session's bytes the messages on the error channel are said anew, however they come in pieces; nothing else is.
#include "syncer/gateway/session_errors.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

std::string frame(unsigned char first, const std::string& payload) {
  std::string out(1, static_cast<char>(first));
  if (payload.size() < 126) return out + static_cast<char>(payload.size()) + payload;
  if (payload.size() <= 0xffff)
    return out + '\x7e' + static_cast<char>(payload.size() >> 8) + static_cast<char>(payload.size() & 0xff) + payload;
  out += '\x7f';
  for (int at = 7; at >= 0; --at) out += static_cast<char>(payload.size() >> (8 * at) & 0xff);
  return out + payload;
}
constexpr unsigned char kWhole = 0x82, kFirst = 0x02, kMore = 0x00, kLast = 0x80, kPing = 0x89;

std::string louder(std::string_view text) { return "told <" + std::string(text) + ">"; }

/// In pieces of that size.
std::string passed(const std::string& bytes, std::size_t piece) {
  SessionErrors errors(louder);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    out += errors.pass(std::string_view(bytes).substr(at, piece));
  return out;
}

TEST(SessionErrors, MessagesOfTheErrorChannelAloneAreToldAnew) {
  const std::string output = "\x01" + std::string(70'000, 'o'), more = "\x01some",
                    other(
                        "\x02"
                        "3\x03",
                        3);
  const std::string error = "\x03 dial tcp 10.0.0.1" + std::string(200, '.');
  const std::string came = frame(kWhole, output) + frame(kWhole, "") + frame(kFirst, more) + frame(kPing, "\x03p") +
                           frame(kLast, "\x03 rest") + frame(kWhole, other) + frame(kWhole, error) +
                           frame(kFirst,
                                 "\x03"
                                 "a") +
                           frame(kPing, "p") + frame(kMore, "b") + frame(kLast, "") + frame(0x88, "\x03\xe8");
  const std::string wanted = frame(kWhole, output) + frame(kWhole, "") + frame(kFirst, more) + frame(kPing, "\x03p") +
                             frame(kLast, "\x03 rest") + frame(kWhole, other) +
                             frame(kWhole, "\x03" + louder(error.substr(1))) + frame(kPing, "p") +
                             frame(kWhole, "\x03" + louder("ab")) + frame(0x88, "\x03\xe8");
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 1000u, 200'000u}) EXPECT_EQ(passed(came, piece), wanted) << piece;
}

TEST(SessionErrors, ALongMessageIsCutAndNotLetThrough) {
  const std::string came = frame(kWhole, "\x03" + std::string(300'000, 'e')) + frame(kWhole, "\x01o");
  const std::string told = passed(came, 4096);
  EXPECT_LT(told.size(), SessionErrors::kErrorMax + 100);
  EXPECT_TRUE(told.ends_with(frame(kWhole, "\x01o")));
}

TEST(SessionErrors, WhatIsNoServersFrameGoesThrough) {
  const std::string masked = std::string("\x82\x85mask") + "\x03 abc", compressed = frame(0xc2, "\x03x");
  EXPECT_EQ(passed(masked + frame(kWhole, "\x03x"), 5), masked + frame(kWhole, "\x03x"));
  EXPECT_EQ(passed(compressed, 1), compressed);
}

TEST(SessionErrors, AreReadWhereTheirChannelIs) {
  EXPECT_TRUE(has_error_channel("exec", "v5.channel.k8s.io") && has_error_channel("attach", "v4.channel.k8s.io"));
  EXPECT_FALSE(has_error_channel("portforward", "v4.channel.k8s.io")) << "there 3 is the second port's";
  EXPECT_FALSE(has_error_channel("exec", "") || has_error_channel("exec", "v4.base64.channel.k8s.io"));
}

}  // namespace
}  // namespace sublet::syncer
