#include "sublet/patches/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sublet::patches {
namespace {

using testing::ElementsAre;

FieldSet set_of(std::string_view json) {
  const auto document = schema::Document::parse_json(json);
  EXPECT_TRUE(document) << json;
  auto set = FieldSet::from_fields_v1(document->root());
  EXPECT_TRUE(set) << set.error().message;
  return set ? *set : FieldSet();
}

std::vector<std::string> paths(const FieldSet& set) {
  std::vector<std::string> list;
  set.for_each([&list](const Path& path) { list.push_back(text_of(path)); });
  return list;
}

// As kube-apiserver writes it for a Deployment.
constexpr std::string_view kSet =
    R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":)"
    R"({"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":)"
    R"({".":{},"f:containerPort":{}}}}}}}}})";

TEST(FieldSet, ReadsAndWritesFieldsV1) {
  EXPECT_EQ(set_of(kSet).fields_v1(), kSet);
  EXPECT_EQ(set_of("{}").fields_v1(), "{}");
  EXPECT_TRUE(set_of("null").empty());
}

TEST(FieldSet, ShowsPathsAsMessagesDo) {
  EXPECT_THAT(
      paths(set_of(R"({"f:a":{".":{},"k:{\"name\":\"x\",\"port\":80}":{"f:b":{}},"v:\"y\"":{},"v:1":{},"i:3":{}}})")),
      ElementsAre(".a", ".a[=1]", ".a[=\"y\"]", ".a[3]", ".a[name=\"x\",port=80].b"));
}

TEST(FieldSet, WhatHasNothingBelowIsAMember) {
  EXPECT_THAT(paths(set_of(R"({"f:a":{".":{}},"f:b":{"f:c":{}},"f:d":null})")), ElementsAre(".a", ".d", ".b.c"));
  EXPECT_THAT(paths(set_of(R"({"f:a":{"z:later":{}}})")), ElementsAre(".a")) << "sorts of a later release are skipped";
}

TEST(FieldSet, RefusesWhatIsNoFieldsV1) {
  for (const std::string_view bad : {R"({"a":{}})", R"({"fa":{}})", R"({"f:a":1})", R"({"k:1":{}})", R"({"k:{":{}})",
                                     R"({"v:{]":{}})", R"({"i:x":{}})", R"([])", R"("f:a")", R"({"f:a":{"f:b":[]}})"}) {
    const auto document = schema::Document::parse_json(bad);
    ASSERT_TRUE(document) << bad;
    EXPECT_FALSE(FieldSet::from_fields_v1(document->root())) << bad;
  }
}

TEST(FieldSet, OrdersElementsAsUpstream) {
  // Fields by name; keys by name, then value, numbers by size; values: numbers, texts, booleans.
  constexpr std::string_view kOrdered =
      R"({"f:B":{},"f:a":{},"k:{\"a\":2}":{},"k:{\"a\":10}":{},"k:{\"a\":10,\"b\":1}":{},"k:{\"a\":\"1\"}":{},)"
      R"("k:{\"a\":true}":{},"k:{\"b\":0}":{},"v:-1":{},"v:2.5":{},"v:10":{},"v:\"a\"":{},"v:\"a\\u003c\"":{},"v:\"a=\"":{},)"
      R"("v:false":{},"v:true":{},"i:2":{},"i:10":{}})";
  EXPECT_EQ(set_of(kOrdered).fields_v1(), kOrdered);
  auto document = schema::Document::parse_json(kOrdered);
  std::vector<schema::Value> members(document->root().begin(), document->root().end());
  std::shuffle(members.begin(), members.end(), std::mt19937(7));  // NOLINT(cert-msc51-cpp): the same every time
  document->root().reorder(members);
  EXPECT_EQ(FieldSet::from_fields_v1(document->root())->fields_v1(), kOrdered);
}

TEST(FieldSet, KeysAreTheSameHoweverSpelled) {
  EXPECT_EQ(set_of(R"({"k:{\"b\":1,\"a\":80.0}":{}})"), set_of(R"({"k:{\"a\":80,\"b\":1}":{}})"));
}

TEST(FieldSet, Algebra) {
  const FieldSet a = set_of(R"({"f:x":{".":{},"f:y":{},"f:z":{}},"f:only":{}})"),
                 b = set_of(R"({"f:x":{".":{},"f:z":{}},"f:other":{}})");
  FieldSet both = a;
  both.unite(b);
  EXPECT_THAT(paths(both), ElementsAre(".only", ".other", ".x", ".x.y", ".x.z"));
  FieldSet common = a;
  common.intersect(b);
  EXPECT_THAT(paths(common), ElementsAre(".x", ".x.z"));
  EXPECT_EQ(a.common(b), common);
  FieldSet left = a;
  left.subtract(b);
  EXPECT_THAT(paths(left), ElementsAre(".only", ".x.y"));
  FieldSet trees = a;
  trees.subtract_trees(b);
  EXPECT_THAT(paths(trees), ElementsAre(".only"));
  EXPECT_TRUE(a.has(std::vector{PathElement::field("x"), PathElement::field("y")}));
  EXPECT_FALSE(b.has(std::vector{PathElement::field("x"), PathElement::field("y")}));
  EXPECT_EQ(a.size(), 4U);
}

TEST(FieldSet, InsertsPaths) {
  FieldSet set;
  set.insert(std::vector{PathElement::field("b"), PathElement::field("c")});
  set.insert(std::vector{PathElement::field("a")});
  set.insert(std::vector{PathElement::field("b")});
  set.insert({});
  EXPECT_EQ(set.fields_v1(), R"({"f:a":{},"f:b":{".":{},"f:c":{}}})");
}

TEST(FieldSet, ManyMembersInNoOrder) {
  FieldSet set;
  for (int i = 0; i < 100000; ++i) set.attach(PathElement::field("k" + std::to_string(i * 7919 % 100000)), true, {});
  set.settle();
  EXPECT_EQ(set.size(), 100000U);
}

}  // namespace
}  // namespace sublet::patches
