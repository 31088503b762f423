#include "controllers/controlled_server_testing.h"
#include "controllers/disruption/budget.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using namespace std::chrono_literals;

TEST(Budget, SharesAreRoundedUp) {
  const auto share = [](std::string_view json, std::int64_t total) {
    return share_of((*Document::parse_json(json)).root(), total).value_or(-1);
  };
  EXPECT_EQ(share("3", 10), 3);
  EXPECT_EQ(share("\"25%\"", 10), 3);
  EXPECT_EQ(share("\"50%\"", 10), 5);
  EXPECT_EQ(share("\"100%\"", 7), 7);
  EXPECT_EQ(share("\"0%\"", 7), 0);
  EXPECT_EQ(share("\"x\"", 7), -1);
  EXPECT_EQ(share("\"25\"", 7), -1);
}

TEST(Budget, SelectorsReadAsUpstreamsEventsSayThem) {
  const auto selector = std::move(*Document::parse_json(
      R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"t","operator":"In","values":["x","y"]}]})"));
  EXPECT_EQ(go_text(selector.root()),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:t,Operator:In,Values:[x y],},},}");
}

class DisruptionControllerTest : public ControlledServer {
 protected:
  static inline const kube::Resource kBudgets{"policy", "v1", "poddisruptionbudgets"},
      kReplicaSets{"apps", "v1", "replicasets"};

  void make_budget(std::string_view rule) {
    create(kBudgets, "default",
           std::string(R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},)").append(rule) +
               "}}");
  }
  void make_pods(int count, std::string_view owners = "[]") {
    for (int i = 0; i < count; ++i) {
      const auto name = "p" + std::to_string(i);
      create(kPods, "default",
             R"({"metadata":{"name":")" + name + R"(","labels":{"app":"web"},"ownerReferences":)" +
                 std::string(owners) + R"(},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}})");
      say_status(name, R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
    }
  }
  /// "healthy/desired/expected: allowed".
  std::string status() {
    const auto budget = get(kBudgets, "web");
    const auto found = budget["status"];
    const auto text = [&](std::string_view member) { return std::to_string(found[member].integer()); };
    return text("currentHealthy") + "/" + text("desiredHealthy") + "/" + text("expectedPods") + ": " +
           text("disruptionsAllowed");
  }
  std::string reason() { return get(kBudgets, "web")["status"]["conditions"].at(0)["reason"].string(); }
  Outcome evict(const std::string& pod) {
    const auto eviction = parse(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + pod + R"("}})");
    auto evicted = client_.create(kPods, "default", eviction.root(), pod, "eviction");
    settle();
    return evicted ? Outcome() : fail(evicted.error());
  }
};

TEST_F(DisruptionControllerTest, CountsThePodsThatAreHealthy) {
  make_pods(3);
  make_budget(R"("minAvailable":2)");
  EXPECT_EQ(status(), "3/2/3: 1");
  EXPECT_EQ(reason(), "SufficientPods");
  EXPECT_EQ(get(kBudgets, "web")["status"]["observedGeneration"].integer(), 1);
  say_status("p0", R"({"conditions":[{"type":"Ready","status":"False"}]})");
  EXPECT_EQ(status(), "2/2/3: 0");
  EXPECT_EQ(reason(), "InsufficientPods");
  merge(kBudgets, "web", R"({"spec":{"minAvailable":1}})");
  EXPECT_EQ(status(), "2/1/3: 1");
}

TEST_F(DisruptionControllerTest, EvictionObeysTheBudget) {
  make_pods(3);
  make_budget(R"("minAvailable":2)");
  ASSERT_TRUE(evict("p0"));
  EXPECT_EQ(status(), "2/2/3: 0");
  const auto refused = evict("p1");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Reason::too_many_requests));
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove(kPods, "p0", now);
  EXPECT_EQ(status(), "2/2/2: 0");
  EXPECT_FALSE(get(kBudgets, "web")["status"].has("disruptedPods"));
}

TEST_F(DisruptionControllerTest, SharesAreOfWhatTheControllersWant) {
  create(kReplicaSets, "default",
         R"({"metadata":{"name":"web"},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},
    "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  const auto uid = get(kReplicaSets, "web")["metadata"]["uid"].string();
  controllers_->stop();
  merge(kReplicaSets, "web", R"({"spec":{"replicas":10}})");
  make_pods(9,
            R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":")" + uid + R"(","controller":true}])");
  make_budget(R"("maxUnavailable":"25%")");
  restart_controllers();
  EXPECT_EQ(status(), "9/7/10: 2");
}

TEST_F(DisruptionControllerTest, PodsOfNobodyAreNotCountedInShares) {
  make_pods(2);
  make_budget(R"("maxUnavailable":1)");
  EXPECT_EQ(status(), "2/0/0: 0");
  const auto said = said_of("PodDisruptionBudget", "web");
  ASSERT_FALSE(said.empty());
  EXPECT_TRUE(
      said.back().starts_with("UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: "
                              "&LabelSelector{MatchLabels:map[string]string{app: web,},"));
}

TEST_F(DisruptionControllerTest, PodsOfAKindWithoutScaleAllowNothing) {
  const kube::Resource config_maps{"", "v1", "configmaps"};
  create(config_maps, "default", R"({"metadata":{"name":"owner"}})");
  const auto uid = get(config_maps, "owner")["metadata"]["uid"].string();
  make_budget(R"("maxUnavailable":1)");
  make_pods(1, R"([{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":")" + uid + R"(","controller":true}])");
  EXPECT_EQ(reason(), "SyncFailed");
  EXPECT_EQ(get(kBudgets, "web")["status"]["conditions"].at(0)["message"].text(),
            "configmaps does not implement the scale subresource");
}

TEST_F(DisruptionControllerTest, AnEvictionThatNeverHappensIsGivenUp) {
  make_pods(2);
  make_budget(R"("minAvailable":1)");
  // As if the pod could not be deleted after the grant.
  merge(kBudgets, "web",
        R"({"status":{"disruptionsAllowed":0,"disruptedPods":{"p0":")" + format_time(clock_.now()) + R"("}}})",
        "status");
  EXPECT_EQ(status(), "1/1/2: 0");
  advance(2min + 2s);
  EXPECT_EQ(status(), "2/1/2: 1");
  EXPECT_FALSE(get(kBudgets, "web")["status"].has("disruptedPods"));
  EXPECT_FALSE(said_of("Pod", "p0").empty());
}

TEST_F(DisruptionControllerTest, ADisruptionThatNeverCameIsCalledOff) {
  make_pods(1);
  say_status("p0", R"({"conditions":[{"type":"Ready","status":"True"},{"type":"DisruptionTarget","status":"True",
    "reason":"PreemptionByScheduler","lastTransitionTime":")" +
                       format_time(clock_.now()) + R"("}]})");
  advance(119s);
  EXPECT_EQ(get(kPods, "p0")["status"]["conditions"].at(1)["status"].text(), "True");
  advance(2s);
  EXPECT_EQ(get(kPods, "p0")["status"]["conditions"].at(1)["status"].text(), "False");
}

}  // namespace
}  // namespace sublet::controllers
