#include "sublet/kube/json_scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace sublet::kube {
namespace {

TEST(JsonScan, FindsMembersWhateverTheOrder) {
  EXPECT_EQ(json_member(R"({"a":{"b":[1,{"c":"}"}]},"d": "x\"y" ,"e":-1.5e3})", "d"), R"("x\"y")");
  EXPECT_EQ(json_member(R"({"a":{"b":[1,{"c":"}"}]},"d":"x"})", "a"), R"({"b":[1,{"c":"}"}]})");
  EXPECT_EQ(json_member(R"({"a":1,"e":-1.5e3 })", "e"), "-1.5e3");
  EXPECT_EQ(json_member(R"({"a":1})", "b"), std::nullopt);
  EXPECT_EQ(json_unquote(R"("x\"y\u00e9")"), "x\"y\u00e9");
  EXPECT_EQ(json_unquote("12"), "");
}

TEST(JsonScan, WalksItems) {
  JsonScanner scanner(R"( [ {"a":1} , "x", [], 3 ] )");
  std::vector<std::string> items;
  std::string_view key, value;
  while (scanner.next(key, value)) items.emplace_back(value);
  EXPECT_TRUE(scanner.complete());
  EXPECT_EQ(items, (std::vector<std::string>{R"({"a":1})", "\"x\"", "[]", "3"}));
}

TEST(JsonScan, ReadsObjectMeta) {
  const auto meta = read_object_meta(
      R"({"metadata":{"labels":{"name":"not-this"},"name":"n","namespace":"ns","uid":"u","resourceVersion":"7"}})");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->name, "n");
  EXPECT_EQ(meta->namespace_name, "ns");
  EXPECT_EQ(meta->uid, "u");
  EXPECT_EQ(meta->resource_version, "7");
  EXPECT_FALSE(read_object_meta(R"({"spec":{}})"));
  EXPECT_FALSE(read_object_meta(R"({"metadata":3})"));
}

/// Containers are skipped in blocks: whatever stands where one ends.
TEST(JsonScan, SkipsLongValuesAsItReadsThem) {
  const std::string pieces[] = {R"("\\")",     R"("\"{[")", R"({"a":[{}]})",         "[]", R"("plain")",
                                R"("]}\\\"")", "12",        R"([["}"],{"\"":"\\"}])"};
  std::minstd_rand dice(7);
  for (int round = 0; round < 3000; ++round) {
    std::string list = "[";
    std::vector<std::string> wanted;
    const std::size_t count = dice() % 40;
    for (std::size_t i = 0; i < count; ++i) {
      wanted.push_back(pieces[dice() % std::size(pieces)]);
      list += (i > 0 ? "," : "") + wanted.back();
    }
    list += "]";
    const std::string whole = R"({"skipped":)" + list + R"(,"after":)" + list + "}";
    ASSERT_EQ(json_member(whole, "skipped"), list);
    ASSERT_EQ(json_member(whole, "after"), list);
    ASSERT_EQ(json_from(whole, "after"), list + "}");
    ASSERT_EQ(json_member(json_from(R"({"x":)" + whole + "}", "x"), "after"), list);
    std::vector<std::string> items;
    std::string_view key, value;
    JsonScanner scanner(list);
    while (scanner.next(key, value)) items.emplace_back(value);
    ASSERT_EQ(items, wanted);
    for (std::size_t cut = 0; cut < list.size(); cut += 7)
      ASSERT_EQ(json_member(R"({"a":)" + list.substr(0, cut), "a"), std::nullopt) << list.substr(0, cut);
  }
}

TEST(JsonScan, SurvivesDamage) {
  const std::string whole = R"({"metadata":{"name":"n\\","labels":{"a":["b",{}]}},"x":null})";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    JsonScanner scanner(std::string_view(whole).substr(0, cut));
    std::string_view key, value;
    while (scanner.next(key, value)) {
    }
    EXPECT_FALSE(scanner.complete()) << cut;
    read_object_meta(whole.substr(0, cut));
  }
  for (const char* wrong : {"", "{", "{]", "{\"a\"}", "{\"a\":}", "{a:1}", "[1 2]", "[,]", "\"", "{\"a\":1,}", "]"}) {
    JsonScanner scanner(wrong);
    std::string_view key, value;
    while (scanner.next(key, value)) {
    }
    EXPECT_FALSE(scanner.complete()) << wrong;
  }
}

}  // namespace
}  // namespace sublet::kube
