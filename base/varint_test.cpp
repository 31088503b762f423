#include "sublet/base/varint.h"

#include <gtest/gtest.h>

#include <limits>

namespace sublet {
namespace {

TEST(Varint, RoundTripsAtEveryWidth) {
  for (int bits = 0; bits <= 64; ++bits) {
    for (const std::uint64_t below : {0u, 1u}) {
      const std::uint64_t value =
          (bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << bits)) - below;
      std::string bytes;
      append_varint(bytes, value);
      std::string_view rest = bytes;
      std::uint64_t read = 0;
      ASSERT_TRUE(take_varint(rest, read)) << value;
      EXPECT_EQ(read, value);
      EXPECT_TRUE(rest.empty());
    }
  }
}

TEST(Varint, IsProtobufsOwnForm) {
  std::string bytes;
  append_varint(bytes, 300);
  EXPECT_EQ(bytes, "\xac\x02");
  bytes.clear();
  append_protobuf_bytes(bytes, 2, "testing");
  EXPECT_EQ(bytes, "\x12\x07testing");
}

TEST(Varint, TakesNothingOfWhatDoesNotEnd) {
  for (const std::string& bytes : {std::string(), std::string("\x80"), std::string(11, '\xff')}) {
    std::string_view rest = bytes;
    std::uint64_t read = 0;
    EXPECT_FALSE(take_varint(rest, read));
    EXPECT_EQ(rest.size(), bytes.size());
  }
}

TEST(Varint, LeavesWhatStandsBehind) {
  const std::string bytes = std::string("\x01") + "rest";
  std::string_view rest = bytes;
  std::uint64_t read = 0;
  ASSERT_TRUE(take_varint(rest, read));
  EXPECT_EQ(rest, "rest");
}

}  // namespace
}  // namespace sublet
