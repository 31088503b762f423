#include "kube/object_cache.h"

#include <gtest/gtest.h>

#include "kube/text_blocks.h"

namespace sublet::kube {
namespace {

CachedPtr cached_object(const std::string& name, const std::string& json) {
  auto made = std::make_shared<CachedObject>();
  made->namespace_name = "default";
  made->name = name;
  KeptText text = keep_alone(json);
  made->json = text.text;
  made->keeper = text.keeper;
  return made;
}

// The syncer's key function translates a pod: running it again for each change, under the lock, halved a burst's rate.
TEST(ObjectCache, AsksForAnObjectsKeysOnce) {
  ObjectCache cache;
  int asked = 0;
  cache.add_index("json", [&](const CachedObject& of) {
    ++asked;
    return std::vector<std::string>{std::string(of.json)};
  });
  cache.put(cached_object("a", "x"));
  cache.put(cached_object("a", "y"));
  cache.erase("default", "a");
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(cache.by_index("json", "x").empty());
  EXPECT_TRUE(cache.by_index("json", "y").empty());
}

TEST(ObjectCache, KeyFunctionMayReadTheCache) {
  ObjectCache cache;
  cache.add_index("others",
                  [&](const CachedObject&) { return std::vector<std::string>(cache.list().size(), "other"); });
  cache.put(cached_object("a", ""));
  cache.put(cached_object("b", ""));
  ASSERT_EQ(cache.by_index("others", "other").size(), 1u);
  EXPECT_EQ(cache.by_index("others", "other")[0]->name, "b");
}

TEST(ObjectCache, LeavesAnIndexByTheKeysItEnteredWith) {
  ObjectCache cache;
  std::string answer = "first";
  cache.add_index("moody", [&](const CachedObject&) { return std::vector<std::string>{answer}; });
  cache.put(cached_object("a", ""));
  answer = "second";
  cache.put(cached_object("a", ""));
  EXPECT_TRUE(cache.by_index("moody", "first").empty());
  EXPECT_EQ(cache.by_index("moody", "second").size(), 1u);
}

TEST(ObjectCache, AnObjectMayNameAKeyTwice) {
  ObjectCache cache;
  cache.add_index("twice", [&](const CachedObject&) { return std::vector<std::string>{"key", "key"}; });
  cache.put(cached_object("a", ""));
  EXPECT_EQ(cache.by_index("twice", "key").size(), 1u);
  cache.put(cached_object("a", ""));
  cache.put(cached_object("b", ""));
  EXPECT_EQ(cache.by_index("twice", "key").size(), 2u);
  cache.erase("default", "a");
  cache.erase("default", "b");
  EXPECT_TRUE(cache.by_index("twice", "key").empty());
}

}  // namespace
}  // namespace sublet::kube
