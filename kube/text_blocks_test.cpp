#include "kube/text_blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sublet::kube {
namespace {

TEST(TextBlocks, KeepsEachTextAsLongAsSomebodyHasIt) {
  std::vector<KeptText> kept;
  {
    TextBlocks blocks;
    for (int i = 0; i < 1000; ++i) kept.push_back(blocks.keep(std::string(700, 'a') + std::to_string(i)));
  }
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(kept[i].text, std::string(700, 'a') + std::to_string(i));
}

TEST(TextBlocks, ABlockGoesWithTheLastOfItsTexts) {
  TextBlocks blocks;
  KeptText first = blocks.keep("first");
  const std::weak_ptr<const void> block = first.keeper;
  KeptText second = blocks.keep("second");
  EXPECT_EQ(second.text.data(), first.text.data() + first.text.size()) << "beside each other";
  std::vector<KeptText> others;
  others.push_back(blocks.keep("third"));
  while (others.back().keeper.owner_before(first.keeper) == first.keeper.owner_before(others.back().keeper))
    others.push_back(blocks.keep(std::string(1000, 'x')));  // until another block is begun
  others.clear();
  first = {};
  EXPECT_FALSE(block.expired());
  EXPECT_EQ(second.text, "second");
  second = {};
  EXPECT_TRUE(block.expired());
}

TEST(TextBlocks, ALongTextHasMemoryOfItsOwn) {
  TextBlocks blocks;
  const KeptText small = blocks.keep("small"), large = blocks.keep(std::string(100'000, 'x'));
  EXPECT_EQ(large.text, std::string(100'000, 'x'));
  EXPECT_TRUE(large.keeper.owner_before(small.keeper) || small.keeper.owner_before(large.keeper));
  EXPECT_TRUE(blocks.keep("").text.empty());
}

}  // namespace
}  // namespace sublet::kube
