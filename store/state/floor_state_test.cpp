#include "store/state/floor_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sublet::store {
namespace {

ObjectPtr object(const std::string& key, Revision revision, Revision create_revision) {
  auto made = std::make_shared<Object>();
  made->key = key;
  made->revision = revision;
  made->create_revision = create_revision;
  made->bytes = std::string(static_cast<std::size_t>(revision % 50), 'x');
  return made;
}

std::vector<ObjectPtr> all(const PersistentMap& map) {
  std::vector<ObjectPtr> out;
  map.scan("", "", [&out](const ObjectPtr& one) {
    out.push_back(one);
    return true;
  });
  return out;
}

TEST(FloorState, IsTheStateThatPutsAndErasesWouldMake) {
  // Keys as the API server has them, and such as would mislead a sort by resource and namespace.
  const std::vector<std::string> apart = {"pods/a/", "pods/a-b/", "nodes/", "x/y/"},
                                 nested = {"pods/a/", "pods/a-b/", "pods/",  "nodes/",
                                           "",        "x/y/",      "x/y/z/", "pods/a/b/"};
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const auto& groups = seed % 2 == 0 ? nested : apart;
    const std::string all_begin_so = seed % 4 == 1 ? "one-beginning-" : "";
    std::mt19937 random(seed);
    FloorState floor;
    PersistentMap expected;
    std::vector<Revision> garbage, expected_garbage;
    for (Revision revision = 2; revision < 600; ++revision) {
      std::string name = "n" + std::to_string(random() % 40);
      if (random() % 3 == 0) name = "a-name-that-is-longer-than-eight-bytes-" + name;
      if (random() % 20 == 0) name = std::string("\xff") + name;
      const std::string key = groups[random() % groups.size()] + all_begin_so + name;
      const ObjectPtr before = expected.find(key);
      if (before) expected_garbage.push_back(before->revision);
      const bool deleted = before && random() % 3 == 0;
      const Revision created = before ? before->create_revision : revision;
      const ObjectPtr now = object(key, revision, created);
      floor.take(now, created, deleted);
      if (deleted) {
        expected.erase(key);
        expected_garbage.push_back(revision);
      } else {
        expected.put(now);
      }
    }
    const auto made = floor.make(garbage);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->map.valid());
    EXPECT_EQ(all(made->map), all(expected)) << "seed " << seed;
    std::size_t bytes = 0;
    for (const ObjectPtr& one : all(expected)) bytes += one->key.size() + one->bytes.size();
    EXPECT_EQ(made->bytes, bytes);
    std::sort(expected_garbage.begin(), expected_garbage.end());
    EXPECT_EQ(garbage, expected_garbage);
  }
}

TEST(FloorState, ARowOfAnotherLifeOfItsKeyIsToldByName) {
  FloorState floor;
  floor.take(object("pods/a/web", 5, 5), 5, false);
  floor.take(object("pods/a/web", 9, 7), 7, false);  // created at 7, but there is no such row
  std::vector<Revision> garbage;
  const auto made = floor.make(garbage);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("row 9 (pods/a/web) is missing"));
}

TEST(FloorState, OfNothingIsEmpty) {
  std::vector<Revision> garbage;
  EXPECT_EQ(FloorState().make(garbage)->map.size(), 0u);
}

TEST(PersistentMap, OfSortedObjectsIsValidAndCanBeChangedAtAnySize) {
  std::mt19937 random(5);
  for (const int size : {0, 1, 15, 16, 17, 255, 256, 257, 4096, 4097, 5000}) {
    std::vector<ObjectPtr> objects;
    for (int i = 0; i < size; ++i) objects.push_back(object("k/" + std::to_string(100'000 + i), i + 2, i + 2));
    PersistentMap map = PersistentMap::of_sorted(objects);
    EXPECT_TRUE(map.valid()) << size;
    EXPECT_EQ(all(map), objects) << size;
    EXPECT_EQ(map.count("k/"), objects.size());
    const PersistentMap before = map;
    for (int i = 0; i < 200; ++i) {
      const std::string key = "k/" + std::to_string(100'000 + random() % (2 * static_cast<unsigned>(size) + 1));
      random() % 2 == 0 ? (void)map.put(object(key, 10'000 + i, 10'000 + i)) : (void)map.erase(key);
    }
    EXPECT_TRUE(size == 0 || map.valid()) << size;
    EXPECT_EQ(all(before), objects) << "the old one stays as it was";
  }
}

}  // namespace
}  // namespace sublet::store
