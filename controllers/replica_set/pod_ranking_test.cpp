#include "controllers/replica_set/pod_ranking.h"

#include <gtest/gtest.h>

#include "controllers/resources_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

PodRank running() {
  PodRank rank;
  rank.uid = "m";
  rank.assigned = rank.ready = true;
  rank.phase = 2;
  rank.created = rank.ready_since = kTestNow - 64h;
  return rank;
}

TEST(PodRanking, EachRuleDecidesBeforeTheNext) {
  struct Case {
    const char* why;
    void (*first)(PodRank& rank);
  };
  // Each goes before a pod that is worse by all later rules.
  const Case cases[] = {{"unassigned", [](PodRank& r) { r.assigned = false; }},
                        {"pending", [](PodRank& r) { r.phase = 0; }},
                        {"not ready", [](PodRank& r) { r.ready = false; }},
                        {"cheaper", [](PodRank& r) { r.deletion_cost = -1; }},
                        {"doubled up", [](PodRank& r) { r.neighbours = 2; }},
                        {"ready for a shorter time", [](PodRank& r) { r.ready_since = kTestNow - 1h; }},
                        {"more restarts", [](PodRank& r) { r.restarts = 3; }},
                        {"more restarts of sidecars", [](PodRank& r) { r.sidecar_restarts = 1; }},
                        {"younger", [](PodRank& r) { r.created = kTestNow - 1h; }}};
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    auto first = running(), second = running();
    cases[i].first(first);
    for (auto later = i + 1; later < std::size(cases); ++later) cases[later].first(second);
    EXPECT_TRUE(goes_first(first, second, kTestNow)) << cases[i].why;
    EXPECT_FALSE(goes_first(second, first, kTestNow)) << cases[i].why;
  }
}

TEST(PodRanking, AmongPodsOfAboutTheSameAgeTheUidDecides) {
  auto a = running(), b = running();
  a.uid = "a";
  b.uid = "b";
  a.created = a.ready_since = kTestNow - 40h;  // both between 2^n and 2^(n+1)
  EXPECT_TRUE(goes_first(a, b, kTestNow));
  EXPECT_FALSE(goes_first(b, a, kTestNow));
}

Pod ranked_pod(const std::string& name, const std::string& node, const std::string& metadata,
               const std::string& status) {
  auto object = std::make_shared<store::Object>();
  object->key = "pods/ns/" + name;
  object->bytes = R"({"metadata":{"name":")" + name + "\"" + metadata + R"(},"status":)" + status + "}";
  object->hole = store::Object::kNoHole;
  object->index.uid = name;
  if (!node.empty()) object->index.fields.emplace_back("spec.nodeName", node);
  return Pod(object);
}

TEST(PodRanking, ReadsWhatDecidesFromThePod) {
  const std::string ready =
      R"({"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2023-11-14T00:00:00Z"}],
          "containerStatuses":[{"name":"c","restartCount":2},{"name":"d","restartCount":4}]})";
  const auto cost = [](const std::string& value) {
    return R"(,"annotations":{"controller.kubernetes.io/pod-deletion-cost":")" + value + "\"}";
  };
  const auto rank = rank_of(ranked_pod("a", "n", cost("-10"), ready));
  EXPECT_TRUE(rank.assigned && rank.ready && rank.phase == 2);
  EXPECT_EQ(rank.deletion_cost, -10);
  EXPECT_EQ(rank.restarts, 4);
  for (const auto* odd : {"+1", "01", "x", "1.5", ""})
    EXPECT_EQ(rank_of(ranked_pod("a", "n", cost(odd), ready)).deletion_cost, 0) << odd;
  const std::vector<Pod> pods = {ranked_pod("a", "n1", "", ready), ranked_pod("b", "n2", "", ready),
                                 ranked_pod("c", "", "", R"({"phase":"Pending"})")};
  std::vector<Pod> family = pods;
  family.push_back(ranked_pod("other", "n2", "", ready));
  EXPECT_EQ(pods_to_delete(pods, family, 2, kTestNow), (std::vector<std::string>{"c", "b"}));
}

}  // namespace
}  // namespace sublet::controllers
