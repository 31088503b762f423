#include "apiserver/structural/json_path.h"

#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

TEST(JsonPath, FirstOfWhatClientGoFinds) {
  const auto object = schema::Document::parse_json(
      R"({"a":{"b.c":1,"list":[{"n":"x","v":1},{"n":"y","v":2},{"n":"z","v":3}],"empty":[]}})");
  struct Case {
    const char *path, *found;
  };
  constexpr Case kCases[] = {
      {".a.b\\.c", "1"},
      {".a['b.c']", "1"},
      {".a.list[0].n", "\"x\""},
      {".a.list[-1].n", "\"z\""},
      {".a.list[-2].n", "\"y\""},
      {".a.list[-1:].n", "\"z\""},
      {".a.list[1:].n", "\"y\""},
      {".a.list[:2].n", "\"x\""},
      {".a.list[::2].v", "1"},
      {".a.list[1:1].n", ""},
      {".a.list[3].n", ""},
      {".a.list[-4].n", ""},
      {".a.list[2:9].n", ""},
      {".a.empty[-1:]", ""},
      {".a.list[*].v", "1"},
      {".a.list[?(@.n==\"y\")].v", "2"},
      {".a.list[?(@.v>2)].n", "\"z\""},
      {"..v", "1"},
      {".none.list[0]", ""},
  };
  for (const Case& one : kCases) {
    const auto path = JsonPath::parse(one.path);
    ASSERT_TRUE(path) << one.path << path.error().message;
    const auto found = path->first(object->root());
    EXPECT_EQ(found ? found.to_json() : "", one.found) << one.path;
  }
  for (const char* text : {".a[", ".a[x]", ".a[]", ".a[1:2:3:4]", ".a[1:2:0]", ".a[1:x]", ".."})
    EXPECT_FALSE(JsonPath::parse(text)) << text;
}

}  // namespace
}  // namespace sublet::apiserver
