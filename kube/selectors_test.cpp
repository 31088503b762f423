#include "sublet/kube/selectors.h"

#include <gtest/gtest.h>

#include "sublet/kube/selector_text.h"

namespace sublet::kube {
namespace {

schema::Document json(std::string_view text) { return schema::Document::parse_json(text).value(); }

bool matches(std::string_view selector, std::string_view labels) {
  const auto parsed = LabelSelector::parse(selector);
  EXPECT_TRUE(parsed) << selector << ": " << (parsed ? "" : parsed.error().message);
  return parsed && parsed->matches(json(labels).root());
}

TEST(LabelSelector, IsWrittenInOrderOfKeysAndValues) {
  const auto written = [](std::string_view selector) { return selector_text(json(selector).root()); };
  EXPECT_EQ(written("{}"), "");
  EXPECT_EQ(written(R"({"matchLabels":{"tier":"back","app":"web"}})"), "app=web,tier=back");
  EXPECT_EQ(written(R"({"matchLabels":{"z":"1"},"matchExpressions":[
      {"key":"tier","operator":"In","values":["front","back"]},{"key":"env","operator":"NotIn","values":["test"]},
      {"key":"old","operator":"DoesNotExist"},{"key":"app","operator":"Exists"}]})"),
            "app,env notin (test),!old,tier in (back,front),z=1");
}

TEST(LabelSelector, MatchesAsUpstream) {
  struct Case {
    std::string_view selector, labels;
    bool expected;
  };
  const Case cases[] = {
      {"", "{}", true},
      {"  ", R"({"a":"b"})", true},
      {"app=web", R"({"app":"web"})", true},
      {"app=web", R"({"app":"db"})", false},
      {"app==web", R"({"app":"web"})", true},
      {"app = web , tier != back", R"({"app":"web"})", true},
      {"tier!=back", R"({"tier":"back"})", false},
      {"tier!=back", "{}", true},
      {"app in (web, db)", R"({"app":"db"})", true},
      {"app in (web,db)", R"({"app":"x"})", false},
      {"app in (web)", "{}", false},
      {"app notin (web,db)", "{}", true},
      {"app notin (web,db)", R"({"app":"web"})", false},
      {"app in (,a)", R"({"app":""})", true},
      {"app in ()", R"({"app":""})", true},
      {"app", R"({"app":""})", true},
      {"app", "{}", false},
      {"!app", "{}", true},
      {"!app,x", R"({"x":"1"})", true},
      {"app=", R"({"app":""})", true},
      {"app=", "{}", false},
      {"app=,x", R"({"app":"","x":"1"})", true},
      {"n>5", R"({"n":"6"})", true},
      {"n>5", R"({"n":"5"})", false},
      {"n<5", R"({"n":"six"})", false},
      {"n<5", "{}", false},
      {"in in (in,notin)", R"({"in":"notin"})", true},
      {"example.com/a=b", R"({"example.com/a":"b"})", true},
  };
  for (const Case& c : cases) EXPECT_EQ(matches(c.selector, c.labels), c.expected) << c.selector << " " << c.labels;
}

TEST(LabelSelector, RefusesWhatUpstreamRefuses) {
  for (std::string_view text :
       {"=",    "a=b,", ",a",    "a in b", "a in (b", "a in (b c)", "!a=b", "a=b c",       "a==b=c", "a>x",
        "-a=b", "a=-b", "a/b/c", "/a",     "a notin", "!",          "a=(",  "UPPER.com/a", "a..b/c", "a!b"})
    EXPECT_FALSE(LabelSelector::parse(text)) << text;
  EXPECT_EQ(LabelSelector::parse("a in b").error().message, "unable to parse requirement: found 'b', expected: '('");
}

TEST(LabelSelector, ReadsSortedPairs) {
  const std::vector<std::pair<std::string, std::string>> labels = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  EXPECT_TRUE(LabelSelector::parse("a=1,c in (3),!d")->matches(labels));
  EXPECT_FALSE(LabelSelector::parse("b=1")->matches(labels));
}

TEST(LabelSelector, ReadsObjects) {
  const auto of = [](std::string_view text) { return LabelSelector::from_object(json(text).root()); };
  EXPECT_TRUE(of("{}")->everything());
  EXPECT_FALSE(LabelSelector::from_object({})->matches(json("{}").root()));
  const auto both = of(R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"NotIn","values":["x"]},
                           {"key":"c","operator":"Exists"},{"key":"d","operator":"DoesNotExist"}]})");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->matches(json(R"({"a":"1","c":""})").root()));
  EXPECT_FALSE(both->matches(json(R"({"a":"1","b":"x","c":""})").root()));
  EXPECT_FALSE(both->matches(json(R"({"a":"1","c":"","d":""})").root()));
  EXPECT_FALSE(of(R"({"matchExpressions":[{"key":"b","operator":"Like","values":["x"]}]})"));
  EXPECT_FALSE(of(R"({"matchExpressions":[{"key":"b","operator":"In"}]})"));
  EXPECT_FALSE(of(R"({"matchExpressions":[{"key":"b","operator":"Exists","values":["x"]}]})"));
  EXPECT_TRUE(LabelSelector::from_expressions(json(R"([{"key":"n","operator":"Gt","values":["5"]}])").root())
                  ->matches(json(R"({"n":"12"})").root()));
}

TEST(FieldSelector, ParsesAndMatches) {
  const auto selector = FieldSelector::parse("metadata.name=a,spec.nodeName!=n,status.phase==Running");
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->required("metadata.name"), "a");
  EXPECT_FALSE(selector->required("spec.nodeName"));
  const auto field = [](std::string_view path) -> std::string_view {
    return path == "metadata.name" ? "a" : path == "status.phase" ? "Running" : "";
  };
  EXPECT_TRUE(selector->matches(field));
  EXPECT_FALSE(selector->matches([](std::string_view) { return "n"; }));
  EXPECT_TRUE(FieldSelector::parse("")->everything());
  EXPECT_EQ(FieldSelector::parse("a=x\\,y\\=z\\\\")->terms()[0].value, "x,y=z\\");
  EXPECT_EQ(FieldSelector::parse("a=")->terms()[0].value, "");
  for (std::string_view wrong : {"a", "a=b=c", "a=\\x", "a=b\\"}) EXPECT_FALSE(FieldSelector::parse(wrong)) << wrong;
}

}  // namespace
}  // namespace sublet::kube
