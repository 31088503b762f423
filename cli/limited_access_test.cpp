#include "cli/limited_access.h"

#include <gtest/gtest.h>

namespace sublet::cli {
namespace {

TEST(LimitedAccess, Lifetimes) {
  EXPECT_EQ(parse_lifetime("8h"), std::chrono::hours(8));
  EXPECT_EQ(parse_lifetime("90m"), std::chrono::minutes(90));
  EXPECT_EQ(parse_lifetime("600s"), std::chrono::minutes(10));
  EXPECT_EQ(parse_lifetime("7d"), std::chrono::hours(7 * 24));
  EXPECT_EQ(parse_lifetime("365d"), std::chrono::hours(365 * 24));
  for (const auto* wrong :
       {"", "8", "h", "8x", "8hh", "-8h", "9m", "0h", " 8h", "1.5h", "366d", "3650d", "8761h", "9999999999d"})
    EXPECT_FALSE(parse_lifetime(wrong)) << wrong;
}

}  // namespace
}  // namespace sublet::cli
