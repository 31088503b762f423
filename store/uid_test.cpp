#include "sublet/store/uid.h"

#include <gtest/gtest.h>

#include "sublet/store/store.h"

namespace sublet::store {
namespace {

constexpr const char* kUuid = "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c11";
// What looks like one, but would read differently when written again, or has the mark of what is no UUID.
constexpr const char* kTexts[] = {
    "",
    "u",
    kUuid,
    "0B4E0F4A-8F1D-4AE1-9E2E-4D7F0A3B8C11",
    "0b4e0f4a-8f1d-0ae1-9e2e-4d7f0a3b8c11",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "0b4e0f4a08f1d-4ae1-9e2e-4d7f0a3b8c11",
    "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c1g",
    "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c1",
    "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c112",
    "{0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c1}",
};

TEST(Uid, ReadsAsTheTextItWasMadeOf) {
  for (const char* text : kTexts) {
    const Uid uid(text);
    EXPECT_EQ(uid.str(), text);
    EXPECT_EQ(uid.empty(), *text == '\0') << text;
    Uid copy(uid), assigned("something else"), moved(Uid{uid});
    assigned = copy;
    copy = Uid("another text, longer than the first was");
    EXPECT_EQ(assigned.str(), text);
    EXPECT_EQ(moved.str(), text);
    EXPECT_EQ(uid.str(), text);
  }
}

TEST(Uid, IsEqualWhenTheTextsAre) {
  for (const char* a : kTexts)
    for (const char* b : kTexts) {
      const bool same = std::string_view(a) == b;
      EXPECT_EQ(Uid(a) == Uid(b), same) << a << " " << b;
      EXPECT_EQ(Uid(a) == std::string(b), same) << a << " " << b;
      EXPECT_EQ(Uid(a) == std::string_view(b), same) << a << " " << b;
    }
}

// A million objects have a million of each: see docs/performance.md.
TEST(Uid, AnObjectIsSmall) {
  EXPECT_EQ(sizeof(Uid), 16u);
  EXPECT_EQ(sizeof(Index), 40u);
  EXPECT_LE(sizeof(Object), 128u);
}

TEST(Sparse, ReadsAsTheVector) {
  const Sparse<std::string> none, of_nothing(std::vector<std::string>{});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_EQ(none, of_nothing);
  Sparse<std::string> two = {"a", "b"};
  const Sparse<std::string> copy = two;
  two.push_back("c");
  EXPECT_EQ(two.all(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(copy.all(), (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(copy, none);
  two = copy;
  EXPECT_EQ(two, copy);
  EXPECT_EQ(std::vector<std::string>(copy).at(1), "b");
}

}  // namespace
}  // namespace sublet::store
