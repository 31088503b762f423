#include "sublet/kube/node_match.h"

#include <gtest/gtest.h>

namespace sublet::kube {
namespace {

using schema::Document;

Document parse(std::string_view json) { return std::move(*Document::parse_json(json)); }

TEST(NodeMatch, TolerationsCoverByKeyValueAndEffect) {
  const Taint taint{"gpu", "yes", kNoSchedule};
  struct Case {
    const char* toleration;
    bool covers;
  };
  for (const auto& [toleration, covers] : {Case{R"({"operator":"Exists"})", true},
                                           {R"({"key":"gpu","operator":"Exists"})", true},
                                           {R"({"key":"gpu","value":"yes"})", true},
                                           {R"({"key":"gpu","operator":"Equal","value":"no"})", false},
                                           {R"({"key":"cpu","operator":"Exists"})", false},
                                           {R"({"key":"gpu","operator":"Exists","effect":"NoExecute"})", false},
                                           {R"({"key":"gpu","operator":"Lt","value":"yes"})", false},
                                           {R"({"value":"yes"})", false}})
    EXPECT_EQ(tolerates(parse(toleration).root(), taint), covers) << toleration;
}

TEST(NodeMatch, TheFirstTaintThatIsNotTolerated) {
  const auto node = parse(R"({"spec":{"taints":[{"key":"a","effect":"PreferNoSchedule"},{"key":"b","value":"1",
    "effect":"NoExecute"},{"key":"c","effect":"NoSchedule"}]}})");
  const auto pod = parse(R"({"tolerations":[{"key":"b","operator":"Exists"}]})");
  const auto found = untolerated_taint(pod.root(), node.root(), {kNoSchedule, kNoExecute});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, "c");
  EXPECT_FALSE(untolerated_taint(pod.root(), node.root(), {kNoExecute}));
}

TEST(NodeMatch, SelectorAndRequiredAffinity) {
  const auto node = parse(R"({"metadata":{"name":"n1","labels":{"zone":"a","disk":"ssd"}}})");
  const auto selects = [&](const char* spec) { return selects_node(parse(spec).root(), node.root()); };
  EXPECT_TRUE(selects("{}"));
  EXPECT_TRUE(selects(R"({"nodeSelector":{"zone":"a"}})"));
  EXPECT_FALSE(selects(R"({"nodeSelector":{"zone":"b"}})"));
  const auto affinity = [&](const std::string& terms) {
    return selects((R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":)" +
                    terms + "}}}}")
                       .c_str());
  };
  EXPECT_TRUE(affinity(R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}])"));
  EXPECT_TRUE(affinity(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])"));
  EXPECT_FALSE(affinity(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])"));
  EXPECT_FALSE(affinity("[{}]")) << "an empty term matches nothing";
}

}  // namespace
}  // namespace sublet::kube
