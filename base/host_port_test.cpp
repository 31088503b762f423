#include "sublet/base/host_port.h"

#include <gtest/gtest.h>

#include <string>

namespace sublet {
namespace {

std::string parts_of(std::string_view text) {
  const HostPort parts = split_host_port(text);
  std::string out(parts.is_bracketed ? "bracketed " : "");
  out.append(parts.host).append(parts.port ? " | " : " without a port");
  return out.append(parts.port.value_or(""));
}

TEST(HostPort, SplitsHostAndPort) {
  EXPECT_EQ(parts_of("api.example:443"), "api.example | 443");
  EXPECT_EQ(parts_of("10.0.0.1:0"), "10.0.0.1 | 0");
  EXPECT_EQ(parts_of(":8080"), " | 8080");
  EXPECT_EQ(parts_of("api:https"), "api | https");
}

TEST(HostPort, TakesTheBracketsOffAnIpv6Address) {
  EXPECT_EQ(parts_of("[::1]:443"), "bracketed ::1 | 443");
  EXPECT_EQ(parts_of("[fe80::1%eth0]:443"), "bracketed fe80::1%eth0 | 443");
  EXPECT_EQ(parts_of("[]:443"), "bracketed  | 443");
}

TEST(HostPort, AnAbsentPortDiffersFromAnEmptyOne) {
  EXPECT_EQ(parts_of("api.example"), "api.example without a port");
  EXPECT_EQ(parts_of("[::1]"), "bracketed ::1 without a port");
  EXPECT_EQ(parts_of(""), " without a port");
  EXPECT_EQ(parts_of("api.example:"), "api.example | ");
}

TEST(HostPort, WithoutBracketsTheLastGroupIsThePort) {
  EXPECT_EQ(parts_of("::1:443"), "::1 | 443");
  EXPECT_EQ(parts_of("::1"), ": | 1");
}

TEST(HostPort, LeavesUnmatchedBracketsInTheHost) {
  EXPECT_EQ(parts_of("["), "[ without a port");
  EXPECT_EQ(parts_of("[::1:443"), "[::1 | 443");
  EXPECT_EQ(parts_of("[::1]x:443"), "[::1]x | 443");
}

TEST(HostPort, PortsAreNumbersUpTo65535) {
  EXPECT_EQ(parse_port("0"), 0);
  EXPECT_EQ(parse_port("443"), 443);
  EXPECT_EQ(parse_port("0443"), 443);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* refused : {"", "65536", "99999999999", "-1", "-0", "+1", " 1", "1 ", "1x", "https"})
    EXPECT_EQ(parse_port(refused), std::nullopt) << refused;
}

}  // namespace
}  // namespace sublet
