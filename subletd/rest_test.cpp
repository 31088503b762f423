#include "subletd/rest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "sublet/base/sanitized.h"

namespace sublet::subletd {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class RestTest : public testing::Test {
 protected:
  nanoseconds used{};
  int given_back = 0;
  Rest rest{[this] { return used; }, [this] { ++given_back; }};
};

TEST_F(RestTest, WhatWorkedAndRestsGivesBackOnce) {
  used = milliseconds(400);
  rest.look();
  EXPECT_EQ(given_back, 0) << "it was at work since the look before";
  used += milliseconds(1);
  rest.look();
  EXPECT_EQ(given_back, 1);
  for (int i = 0; i < 15; ++i) {
    used += milliseconds(1);
    rest.look();
  }
  EXPECT_EQ(given_back, 1) << "there is nothing new to give";
}

TEST_F(RestTest, WorkAfterwardsIsGivenBackToo) {
  used = milliseconds(400);
  rest.look();
  rest.look();
  used += milliseconds(300);
  rest.look();
  EXPECT_EQ(given_back, 1);
  rest.look();
  EXPECT_EQ(given_back, 2);
}

TEST_F(RestTest, WhoIsAlwaysAtWorkKeepsEverything) {
  for (int i = 0; i < 100; ++i) {
    used += milliseconds(11);
    rest.look();
  }
  EXPECT_EQ(given_back, 0);
}

/// KiB of this process by a line of the kernel's: RssFile (mapped from files, not written), RssAnon.
long kib_of(const std::string& line) {
  std::ifstream in("/proc/self/status");
  long kib = 0;
  for (std::string word; in >> word;)
    if (word == line + ":") in >> kib;
  return kib;
}

// So that pages of the program are there that nothing has asked for.
void read_own_program() {
  std::ifstream maps("/proc/self/maps");
  volatile char sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("r-xp") == std::string::npos || line.find('/') == std::string::npos) continue;
    const auto begin = std::stoull(line, nullptr, 16);
    const auto end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    for (auto at = begin; at < end; at += 4096) sum = sum + *reinterpret_cast<const char*>(at);
  }
}

TEST(GiveMemoryBack, UnmapsWhatCanBeReadAgainAndTheProgramGoesOn) {
  read_own_program();
  const long before = kib_of("RssFile");
  give_memory_back();
  EXPECT_LT(kib_of("RssFile"), before / 2) << "of " << before << " KiB";
}

TEST(GiveMemoryBack, TakesWhatIsFreeAmongWhatIsUsed) {
  constexpr std::size_t kBlocks = 4000, kBytes = 16 * 1024;
  std::vector<std::unique_ptr<std::string>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::string>(kBytes, 'x'));
  for (std::size_t i = 0; i < kBlocks; ++i)
    if (i % 8 != 7) blocks[i].reset();
  const long before = kib_of("RssAnon");
  give_memory_back();
  const long most = kSanitized ? 2 * before : before / 2;  // a sanitizer has a malloc of its own
  EXPECT_LT(kib_of("RssAnon"), most) << "of " << before << " KiB";
  EXPECT_EQ(*blocks[7], std::string(kBytes, 'x'));
}

}  // namespace
}  // namespace sublet::subletd
