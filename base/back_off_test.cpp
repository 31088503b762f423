#include "sublet/base/back_off.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sublet {
namespace {

using std::chrono::milliseconds;

TEST(BackOff, DoublesUpToTheLongestAndStaysThere) {
  const auto after = [](int failures) { return doubled(milliseconds(10), milliseconds(60'000), failures); };
  EXPECT_EQ(after(0), milliseconds(10));
  EXPECT_EQ(after(1), milliseconds(20));
  EXPECT_EQ(after(12), milliseconds(40'960));
  for (const int many : {13, 31, 32, 63, 64, 1'000'000}) EXPECT_EQ(after(many), milliseconds(60'000)) << many;
}

TEST(BackOff, SpreadsOverItsPartOfTheWhole) {
  SeededRandom random(7);
  milliseconds least_half(1000), most_half(0), least(1000), most(0);
  for (int i = 0; i < 10'000; ++i) {
    const milliseconds half = in_upper_half(milliseconds(100), random), any = up_to(milliseconds(100), random);
    least_half = std::min(least_half, half), most_half = std::max(most_half, half);
    least = std::min(least, any), most = std::max(most, any);
  }
  EXPECT_EQ(least_half, milliseconds(50));
  EXPECT_EQ(most_half, milliseconds(100));
  EXPECT_EQ(least, milliseconds(0));
  EXPECT_EQ(most, milliseconds(100));
}

}  // namespace
}  // namespace sublet
