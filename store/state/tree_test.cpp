#include "store/state/tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sublet::store {
namespace {

ObjectPtr object(std::string key, Revision revision) {
  auto made = std::make_shared<Object>();
  made->key = std::move(key);
  made->revision = revision;
  return made;
}

using Model = std::map<std::string, Revision>;

void expect_equal(const PersistentMap& map, const Model& model) {
  ASSERT_TRUE(map.valid());
  ASSERT_EQ(map.size(), model.size());
  auto expected = model.begin();
  map.scan("", "", [&](const ObjectPtr& found) {
    EXPECT_EQ(found->key, expected->first);
    EXPECT_EQ(found->revision, expected->second);
    ++expected;
    return true;
  });
  EXPECT_EQ(expected, model.end());
}

std::vector<std::string> model_scan(const Model& model, const std::string& prefix, const std::string& after) {
  std::vector<std::string> out;
  for (const auto& [key, revision] : model)
    if (key.starts_with(prefix) && (after.empty() || key > after)) out.push_back(key);
  return out;
}

TEST(PersistentMap, AgreesWithAModelUnderRandomChangesAndOldVersionsStay) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    PersistentMap map, kept;
    Model model, kept_model;
    const int keys = 1 << (round % 12);
    for (int step = 0; step < 3000; ++step) {
      const std::string key = "k/" + std::to_string(random() % static_cast<unsigned>(keys)) + "/x";
      // Phases of growth and of shrinking, so that nodes join too.
      if (random() % 10 < ((step / 500) % 2 == 0 ? 7u : 2u)) {
        const ObjectPtr before = map.put(object(key, step));
        EXPECT_EQ(before ? before->revision : -1, model.contains(key) ? model[key] : -1);
        model[key] = step;
      } else {
        EXPECT_EQ(map.erase(key) != nullptr, model.erase(key) == 1);
      }
      const std::string probe = "k/" + std::to_string(random() % static_cast<unsigned>(keys)) + "/x";
      const ObjectPtr found = map.find(probe);
      EXPECT_EQ(found ? found->revision : -1, model.contains(probe) ? model[probe] : -1);
      if (step % 1000 == 400) {
        kept = map;
        kept_model = model;
      }
      if (step % 100 == 0) expect_equal(map, model);
    }
    expect_equal(map, model);
    expect_equal(kept, kept_model);
  }
}

TEST(PersistentMap, CountsAndScansByPrefixFromAnyKey) {
  std::mt19937 random(11);
  PersistentMap map;
  Model model;
  for (int i = 0; i < 2000; ++i) {
    std::string key;
    for (int part = 0; part < 3; ++part)
      key += std::string(1, static_cast<char>('a' + random() % 4)) + (random() % 2 ? "/" : "");
    if (random() % 5 == 0) key += '\xff';
    map.put(object(key, i));
    model[key] = i;
  }
  for (int i = 0; i < 2000; ++i) {
    std::string prefix, after;
    for (unsigned part = random() % 4; part > 0; --part) prefix += static_cast<char>('a' + random() % 4);
    if (random() % 2 == 0) after = std::next(model.begin(), static_cast<long>(random() % model.size()))->first;
    if (random() % 10 == 0) prefix += '\xff';
    EXPECT_EQ(map.count(prefix), model_scan(model, prefix, "").size());
    EXPECT_EQ(map.count_after(prefix, after), model_scan(model, prefix, after).size()) << prefix << " after " << after;
    std::vector<std::string> seen;
    const std::size_t limit = random() % 20;
    map.scan(prefix, after, [&](const ObjectPtr& found) {
      seen.push_back(found->key);
      return seen.size() < limit;
    });
    auto expected = model_scan(model, prefix, after);
    if (expected.size() > std::max<std::size_t>(limit, 1)) expected.resize(std::max<std::size_t>(limit, 1));
    EXPECT_EQ(seen, expected) << prefix << " after " << after;
  }
}

TEST(PersistentMap, EmptyMapsAnswer) {
  PersistentMap map;
  EXPECT_EQ(map.find("x"), nullptr);
  EXPECT_EQ(map.erase("x"), nullptr);
  EXPECT_EQ(map.count(""), 0u);
  map.put(object("a", 1));
  EXPECT_NE(map.erase("a"), nullptr);
  EXPECT_EQ(map.size(), 0u);
  EXPECT_TRUE(map.valid());
}

}  // namespace
}  // namespace sublet::store
