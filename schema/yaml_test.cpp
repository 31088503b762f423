// YAML both ways. Expected texts were printed by sigs.k8s.io/yaml v1.6.0, which kubectl uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/schema/engine.h"
#include "sublet/schema/yaml_lines.h"

namespace sublet::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string read(std::string_view yaml) {
  const auto document = parse_yaml(yaml);
  return document ? document->to_json() : document.error().message;
}

std::string print(std::string_view json) {
  const auto document = Document::parse_json(json);
  return document ? to_yaml(document->root()) : document.error().message;
}

TEST(YamlParse, ScalarsMeanWhatKubectlMeans) {
  EXPECT_EQ(read("[yes, No, ON, y, true, 'yes', \"true\", !!str true]"),
            R"([true,false,true,true,true,"yes","true","true"])");
  EXPECT_EQ(read("[017, 0o17, 0x1F, 0b11, 1_000, -5, +7, 08, 0]"), "[15,15,31,3,1000,-5,7,8,0]");
  EXPECT_EQ(read("[1.0, 1e3, .5, 0.1, 1.5e-3, 1e21, 1.]"), "[1,1000,0.5,0.1,0.0015,1e+21,1]");
  EXPECT_EQ(read("[null, ~, Null, '', nulL, <<]"), R"([null,null,null,"","nulL","\u003c\u003c"])");
  EXPECT_EQ(read("[2001-01-01, 12:30:45, 1.2.3, 1Gi, 0x, 1e, -, +x]"),
            R"(["2001-01-01","12:30:45","1.2.3","1Gi","0x","1e","-","+x"])");
  EXPECT_EQ(read("[99999999999999999999, !!int 5, !!float 5, !!binary aGk=]"), R"([100000000000000000000,5,5,"hi"])");
}

TEST(YamlParse, KeysBecomeText) {
  EXPECT_EQ(read("1: a\ntrue: b\nyes: c\n1.5: d\n1e6: e\n0x10: f\n'null': g\n"),
            R"({"1":"a","true":"c","1.5":"d","1e+06":"e","16":"f","null":"g"})");
  EXPECT_EQ(read("1e100: a\n"), R"({".inf":"a"})");
  EXPECT_THAT(read("~: a"), HasSubstr("unsupported map key"));
  EXPECT_THAT(read("{[a]: b}"), HasSubstr("invalid map key"));
  EXPECT_THAT(read("? {a: b}\n: c"), HasSubstr("invalid map key"));
}

TEST(YamlParse, BlockTexts) { EXPECT_EQ(read("a: |\n  x\n   y\nb: >-\n  p\n  q\n"), R"({"a":"x\n y\n","b":"p q"})"); }

TEST(YamlParse, Escapes) {
  EXPECT_EQ(read(R"(["\N", "\_", "a\N\u00e9\_b", "\x41\U0001F600\L"])"),
            "[\"\u0085\",\"\u00a0\",\"a\u0085\u00e9\u00a0"
            "b\",\"A\U0001F600\\u2028\"]");
}

TEST(YamlParse, AliasesAndMergeKeys) {
  EXPECT_EQ(read("a: &x {k: 1, l: [2]}\nb: *x\nc:\n  <<: *x\n  k: 3\n"),
            R"({"a":{"k":1,"l":[2]},"b":{"k":1,"l":[2]},"c":{"k":3,"l":[2]}})");
  EXPECT_EQ(read("c:\n  <<: [{k: 1, m: 0}, {k: 2, p: 3}]\n"), R"({"c":{"k":1,"p":3,"m":0}})");
  EXPECT_EQ(read("&k key: *k\n"), R"({"key":"key"})");
  EXPECT_THAT(read("<<: 5"), HasSubstr("map merge requires map"));
  EXPECT_THAT(read("&a [*a]"), HasSubstr("contains itself"));
  EXPECT_THAT(read("*b"), HasSubstr("yaml: "));
}

// A merged or aliased subtree is a copy: changing one place leaves the other.
TEST(YamlParse, AliasedSubtreesAreIndependent) {
  auto document = parse_yaml("a: &x {k: 1}\nb: *x\n");
  ASSERT_TRUE(document);
  document->root()["b"].put("k", 2);
  EXPECT_EQ(document->to_json(), R"({"a":{"k":1},"b":{"k":2}})");
}

TEST(YamlParse, DuplicateKeysAreNotedAndTheLastWins) {
  ParseNotes notes;
  const auto document =
      parse_yaml("spec:\n  paused: true\n  items:\n  - {a: 1}\n  - {a: 1, a: 2}\n  paused: false\n", &notes);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->to_json(), R"({"spec":{"paused":false,"items":[{"a":1},{"a":2}]}})");
  EXPECT_THAT(notes.duplicate_fields, ElementsAre("spec.items[1].a", "spec.paused"));
  EXPECT_THAT(yaml_duplicate_lines("\na: 1\nb:\n  c: 1\n  c: {d: 2, d: 3}\na: 2\n"),
              ElementsAre(R"(line 5: key "d" already set in map)", R"(line 5: key "c" already set in map)",
                          R"(line 6: key "a" already set in map)"));
}

TEST(YamlParse, OneDocumentOnly) {
  EXPECT_EQ(read(""), "null");
  EXPECT_EQ(read("# nothing\n"), "null");
  EXPECT_EQ(read("---\na: 1\n"), R"({"a":1})");
  EXPECT_EQ(read("---\na: 1\n...\n"), R"({"a":1})");
  EXPECT_THAT(read("a: 1\n---\nb: 2\n"), HasSubstr("expected one document"));
  const auto stream = parse_yaml_stream("a: 1\n---\n# empty\n---\nb: 2\n---\n");
  ASSERT_TRUE(stream);
  ASSERT_EQ(stream->size(), 2u);
  EXPECT_EQ((*stream)[1].to_json(), R"({"b":2})");
}

TEST(YamlParse, MalformedTextIsRefusedWithItsLine) {
  EXPECT_THAT(read("a: 1\nb: [\n"), HasSubstr("error converting YAML to JSON: yaml: line"));
  EXPECT_THAT(read(", .5, , ]"), HasSubstr("did not find expected node content"));
  EXPECT_FALSE(parse_yaml_stream("a: 1\n]"));
  EXPECT_THAT(read("a: \xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(read(std::string_view("a: \0", 4)), HasSubstr("control characters"));
  EXPECT_THAT(read("a: .nan"), HasSubstr("unsupported value: NaN"));
  EXPECT_THAT(read("a: !!int x"), HasSubstr("cannot decode"));
}

TEST(YamlParse, DepthAndAliasesHaveABudget) {
  EXPECT_THAT(read(std::string(300, '[')), HasSubstr("yaml: "));
  EXPECT_THAT(read(std::string(300, '[') + std::string(300, ']')), HasSubstr("exceeded max depth"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += before + ", ";
    bomb += before + "]\n";
  }
  EXPECT_THAT(read(bomb), HasSubstr("excessive aliasing"));
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 400; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_THAT(read(chain), HasSubstr("exceeded max depth"));
}

TEST(YamlWrite, KeysAreSortedByGoYamlsOrder) {
  EXPECT_EQ(print(R"({"b":1,"a10":2,"a2":3,"A":4,"10":5,"9":6,"_x":7,"\u00e9":8})"),
            "_x: 7\n\"9\": 6\n\"10\": 5\nA: 4\na2: 3\na10: 2\nb: 1\n\u00e9: 8\n");
}

TEST(YamlWrite, QuotesWhereAPlainTextWouldMeanSomethingElse) {
  EXPECT_EQ(
      print(R"(["a","yes","1","","null","2001-01-01","12:30:45","a: b","- x","it's","a\tb"," x","#c","0x1f","1e3"])"),
      "- a\n- \"yes\"\n- \"1\"\n- \"\"\n- \"null\"\n- \"2001-01-01\"\n- \"12:30:45\"\n- 'a: b'\n- '- x'\n- it's\n"
      "- \"a\\tb\"\n- ' x'\n- '#c'\n- \"0x1f\"\n- \"1e3\"\n");
}

TEST(YamlWrite, Collections) {
  EXPECT_EQ(print("{}"), "{}\n");
  EXPECT_EQ(print("null"), "null\n");
  EXPECT_EQ(print(R"({"a":{"b":[{"c":1,"d":[]},[1,[2]],{}]},"e":null})"),
            "a:\n  b:\n  - c: 1\n    d: []\n  - - 1\n    - - 2\n  - {}\ne: null\n");
}

TEST(YamlWrite, BlockTextsAndFolding) {
  EXPECT_EQ(print(R"({"a":"x\ny\n","b":"x\ny","c":"x\n\n","d":" x\ny","e":"x \ny"})"),
            "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: \"x \\ny\"\n");
  EXPECT_EQ(
      print(
          R"({"message":"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No victims."})"),
      "message: '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available:\n  1 No "
      "victims.'\n");
}

TEST(YamlWrite, Numbers) {
  EXPECT_EQ(print("[1,-1,1.5,100000,1000000,0.00001,1e21,1234567.25]"),
            "- 1\n- -1\n- 1.5\n- 100000\n- 1000000\n- 1e-05\n- 1e+21\n- 1.23456725e+06\n");
}

TEST(YamlWrite, LongKeys) {
  const std::string key(130, 'k');
  EXPECT_EQ(print("{\"" + key + "\":{\"a\":[1]}}"), "? " + key + "\n: a:\n  - 1\n");
}

TEST(YamlWrite, WhatIsWrittenReadsBack) {
  const std::string json =
      R"({"\u003c\u003c":[],"a":"yes","b":["- x",{"c":"\u2028","d":"\u0001"},"#"],"e":1.5,"f":"x\n\ny\n","g":"'","h":null,"i":{},"j":[true]})";
  EXPECT_EQ(read(print(json)), json);
}

}  // namespace
}  // namespace sublet::schema
