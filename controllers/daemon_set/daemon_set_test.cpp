#include <gmock/gmock.h>

#include "controllers/daemon_set/daemon_plan.h"
#include "controllers/resources_testing.h"
#include "controllers/workloads_testing.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using testing_support::parse_json;

// --- where a daemon belongs ---

TEST(NodeFit, AsTheSchedulerWouldButForWhatRunsThere) {
  struct Case {
    const char* why;
    const char *spec, *node;
    bool run, stay;
  };
  const Case cases[] = {
      {"any", "{}", "{}", true, true},
      {"its name", R"({"nodeName":"n"})", "{}", true, true},
      {"another name", R"({"nodeName":"m"})", "{}", false, false},
      {"labels", R"({"nodeSelector":{"a":"b"}})", R"("labels":{"a":"b"})", true, true},
      {"other labels", R"({"nodeSelector":{"a":"b"}})", R"("labels":{"a":"c"})", false, false},
      {"a field",
       R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
           {"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n"]}]}]}}}})",
       "{}", false, false},
      {"a taint", "{}", R"(taint:NoSchedule)", false, true},
      {"a taint that drives away", "{}", R"(taint:NoExecute)", false, false},
      {"a tolerated taint", R"({"tolerations":[{"key":"t","operator":"Exists"}]})", R"(taint:NoExecute)", true, true},
      {"another value", R"({"tolerations":[{"key":"t","value":"x"}]})", R"(taint:NoSchedule)", false, true},
      {"a mild taint", "{}", R"(taint:PreferNoSchedule)", true, true}};
  for (const auto& c : cases) {
    auto node = parse_json(R"({"metadata":{"name":"n"}})");
    const std::string text = c.node;
    if (text.starts_with("taint:")) {
      auto taint = node.root().object("spec").array("taints").push_object();
      taint.put("key", "t");
      taint.put("value", "v");
      taint.put("effect", text.substr(6));
    } else if (text != "{}") {
      node = parse_json(R"({"metadata":{"name":"n",)" + text + "}}");
    }
    const auto fit = node_fit(parse_json(c.spec).root(), node.root());
    EXPECT_EQ(fit.should_run, c.run) << c.why;
    EXPECT_EQ(fit.may_stay, c.stay) << c.why;
  }
}

TEST(NodeFit, DaemonsTolerateNodesInTrouble) {
  auto spec = parse_json(
      R"({"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute"}]})");
  add_daemon_tolerations(spec.root());
  EXPECT_EQ(spec["tolerations"].size(), 6u);
  spec.root().put("hostNetwork", true);
  add_daemon_tolerations(spec.root());
  EXPECT_EQ(spec["tolerations"].size(), 7u);
}

// --- plans ---

enum class State { pending, ready, ending, failed };

Pod daemon_pod(const std::string& name, const std::string& hash, State state, const std::string& node = "n") {
  auto object = std::make_shared<store::Object>();
  object->key = "pods/ns/" + name;
  const std::string ready =
      R"({"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2023-11-14T00:00:00Z"}]})";
  object->bytes = R"({"metadata":{"name":")" + name + "\"" +
                  (state == State::ending ? R"(,"deletionTimestamp":"2023-11-14T00:00:00Z")" : "") + R"(},"status":)" +
                  (state == State::pending  ? R"({"phase":"Pending"})"
                   : state == State::failed ? R"({"phase":"Failed"})"
                                            : ready) +
                  "}";
  object->hole = store::Object::kNoHole;
  object->index.labels = {{std::string(kDaemonHashLabel), hash}};
  if (!node.empty()) object->index.fields.emplace_back("spec.nodeName", node);
  return Pod(object);
}

const NodeFit kFits{true, true}, kStays{false, true}, kUnfit{false, false};

DaemonWish wish(bool surges = false) { return {"new", "", surges, std::chrono::seconds(0), kTestNow}; }

TEST(DaemonPlan, OnePodPerNodeThatFits) {
  DaemonNodes nodes;
  nodes["empty"] = {kFits};
  nodes["full"] = {kFits, true, {daemon_pod("a", "new", State::ready)}};
  nodes["twice"] = {kFits, true, {daemon_pod("b", "new", State::ready), daemon_pod("c", "new", State::ready)}};
  nodes["leaving"] = {kFits, true, {daemon_pod("d", "new", State::ending)}};
  nodes["unfit"] = {kUnfit, true, {daemon_pod("e", "new", State::ready)}};
  nodes["stays"] = {kStays, true, {daemon_pod("f", "new", State::ready)}};
  nodes["closed"] = {kStays};
  nodes["gone"] = {{}, false, {daemon_pod("g", "new", State::pending, ""), daemon_pod("h", "new", State::ready)}};
  nodes["failed"] = {kFits, true, {daemon_pod("i", "new", State::failed)}};
  const auto plan = plan_nodes(nodes, wish());
  EXPECT_THAT(plan.nodes_to_fill, ElementsAre("empty"));
  EXPECT_THAT(plan.pods_to_remove, UnorderedElementsAre("c", "e", "g"));
  ASSERT_EQ(plan.ended.size(), 1u);
  EXPECT_EQ(plan.ended[0].pod, "i");
}

TEST(DaemonPlan, AnUpdateTakesAsManyAsMayBeMissing) {
  DaemonNodes nodes;
  for (const auto* name : {"a", "b", "c", "d"}) nodes[name] = {kFits, true, {daemon_pod(name, "old", State::ready)}};
  EXPECT_THAT(plan_update(nodes, wish(), {0, 2, 4}).pods_to_remove, ElementsAre("a", "b"));
  nodes["a"].pods = {daemon_pod("a2", "new", State::pending)};
  EXPECT_THAT(plan_update(nodes, wish(), {0, 2, 4}).pods_to_remove, ElementsAre("b"));
  nodes["c"].pods = {daemon_pod("c", "old", State::pending)};
  EXPECT_THAT(plan_update(nodes, wish(), {0, 2, 4}).pods_to_remove, ElementsAre("c"))
      << "what serves nobody goes first";
}

TEST(DaemonPlan, ASurgePutsTheNewBesideTheOld) {
  DaemonNodes nodes;
  for (const auto* name : {"a", "b", "c"}) nodes[name] = {kFits, true, {daemon_pod(name, "old", State::ready)}};
  auto plan = plan_update(nodes, wish(true), {1, 0, 3});
  EXPECT_THAT(plan.nodes_to_fill, ElementsAre("a"));
  EXPECT_THAT(plan.pods_to_remove, IsEmpty());
  nodes["a"].pods.push_back(daemon_pod("a2", "new", State::pending));
  EXPECT_TRUE(plan_update(nodes, wish(true), {1, 0, 3}).empty());
  EXPECT_TRUE(plan_nodes(nodes, wish(true)).empty());
  nodes["a"].pods[1] = daemon_pod("a2", "new", State::ready);
  plan = plan_update(nodes, wish(true), {1, 0, 3});
  EXPECT_THAT(plan.pods_to_remove, ElementsAre("a"));
  EXPECT_THAT(plan.nodes_to_fill, ElementsAre("b"));
}

TEST(DaemonPlan, LimitsAreNeverBothZero) {
  const auto set = [](const std::string& rolling) {
    return parse_json(R"({"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":)" + rolling + "}}}");
  };
  EXPECT_EQ(update_limits(set(R"({"maxUnavailable":"30%","maxSurge":0})").root(), 10).unavailable, 3);
  EXPECT_EQ(update_limits(set(R"({"maxUnavailable":0,"maxSurge":"15%"})").root(), 10).surge, 2);
  EXPECT_EQ(update_limits(set(R"({"maxUnavailable":0,"maxSurge":0})").root(), 10).unavailable, 1);
}

// --- over an API server ---

std::string daemon_set(const std::string& more = "") {
  return R"({"metadata":{"name":"agent"},"spec":{"selector":{"matchLabels":{"app":"agent"}},"template":{"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"name":"c","image":"good"}]}})" +
         more + "}}";
}

class DaemonSetTest : public testing::Test, public WorkloadsRig {
 protected:
  void add_node(const std::string& name, const std::string& spec = "{}") {
    create(kNodes, R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}", "");
    // A new node is tainted until it says that it is ready.
    auto patched = client_.patch(kNodes, "", name, kube::PatchType::merge, R"({"spec":{"taints":null}})");
    ASSERT_TRUE(patched);
  }
  /// What a scheduler does with pods that name their node.
  void schedule() {
    settle();
    for (const auto& pod : list(kPods)) {
      if (!pod["spec"]["nodeName"].text().empty()) continue;
      const auto name = pod["metadata"]["name"].string();
      const auto node =
          pod.root()
              .path("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")["nodeSelectorTerms"]
              .at(0)["matchFields"]
              .at(0)["values"]
              .at(0)
              .string();
      auto binding =
          parse_json(R"({"metadata":{"name":")" + name + R"("},"target":{"kind":"Node","name":")" + node + "\"}}");
      ASSERT_TRUE(client_.create(kPods, "default", binding.root(), name, "binding"));
    }
  }
  void come_to_rest() {
    for (int i = 0; i < 20; ++i) {
      schedule();
      converge();
    }
  }
  std::vector<std::string> nodes_with_pods() {
    std::vector<std::string> nodes;
    for (const auto& pod : list(kPods)) nodes.push_back(pod["spec"]["nodeName"].string());
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
  std::int64_t status(const std::string& field) { return get(kDaemonSets, "agent")["status"][field].integer(); }
};

TEST_F(DaemonSetTest, EveryNodeHasOne) {
  add_node("a");
  add_node("b");
  create(kDaemonSets, daemon_set());
  come_to_rest();
  EXPECT_THAT(nodes_with_pods(), ElementsAre("a", "b"));
  EXPECT_EQ(status("desiredNumberScheduled"), 2);
  EXPECT_EQ(status("numberReady"), 2);
  EXPECT_EQ(status("numberAvailable"), 2);
  EXPECT_EQ(status("updatedNumberScheduled"), 2);
  EXPECT_THAT(names(kRevisions), SizeIs(1));
  add_node("c");
  come_to_rest();
  EXPECT_THAT(nodes_with_pods(), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(client_.patch(kNodes, "", "b", kube::PatchType::merge,
                            R"({"spec":{"taints":[{"key":"t","effect":"NoExecute"}]}})"));
  come_to_rest();
  EXPECT_THAT(nodes_with_pods(), ElementsAre("a", "c"));
  EXPECT_EQ(status("desiredNumberScheduled"), 2);
  ASSERT_TRUE(
      client_.patch(kNodes, "", "b", kube::PatchType::merge, R"({"spec":{"taints":null,"unschedulable":true}})"));
  come_to_rest();
  EXPECT_THAT(nodes_with_pods(), ElementsAre("a", "b", "c")) << "a cordon does not keep daemons away";
}

TEST_F(DaemonSetTest, AHeartbeatWakesNobody) {
  add_node("a");
  create(kDaemonSets, daemon_set());
  come_to_rest();
  ASSERT_TRUE(client_.patch(kNodes, "", "a", kube::PatchType::merge, R"({"status":{"phase":"x"}})", "status"));
  EXPECT_EQ(executor_.tasks(), 0u);
}

TEST_F(DaemonSetTest, AnUpdateRollsOverTheNodesAndIsUndone) {
  for (const auto* node : {"a", "b", "c"}) add_node(node);
  create(kDaemonSets, daemon_set());
  come_to_rest();
  const auto first = names(kRevisions);
  patch(kDaemonSets, "agent", image_patch("bad"));
  schedule();
  converge();
  schedule();
  std::size_t good = 0;
  for (const auto& pod : list(kPods)) good += pod["spec"]["containers"].at(0)["image"].text() == "good" ? 1u : 0u;
  EXPECT_EQ(good, 2u) << "one at a time";
  patch(kDaemonSets, "agent", image_patch("good"));
  come_to_rest();
  for (const auto& pod : list(kPods)) EXPECT_EQ(pod["spec"]["containers"].at(0)["image"].text(), "good");
  EXPECT_EQ(status("updatedNumberScheduled"), 3);
  EXPECT_EQ(get(kRevisions, first[0])["revision"].integer(), 3) << "the first revision is the latest again";
}

TEST_F(DaemonSetTest, WhatFailsIsReplacedEverMoreSlowly) {
  add_node("a");
  create(kDaemonSets, daemon_set());
  come_to_rest();
  const auto fail_pod = [&] {
    patch(kPods, names(kPods)[0], R"({"status":{"phase":"Failed"}})", "status");
    settle();
  };
  const auto first = names(kPods)[0];
  fail_pod();
  come_to_rest();
  EXPECT_NE(names(kPods)[0], first) << "at once";
  const auto second = names(kPods)[0];
  fail_pod();
  EXPECT_FALSE(get(kPods, second)["metadata"].has("deletionTimestamp")) << "not yet";
  pass(std::chrono::seconds(2));
  come_to_rest();
  EXPECT_NE(names(kPods)[0], second);
  EXPECT_THAT(events("agent"),
              testing::Contains(testing::StartsWith("FailedDaemonPod: Found failed daemon pod default/")));
}

TEST_F(DaemonSetTest, GoesWithItsPodsAndItsHistory) {
  add_node("a");
  create(kDaemonSets, daemon_set());
  come_to_rest();
  remove(kDaemonSets, "agent", "Foreground");
  come_to_rest();
  EXPECT_FALSE(exists(kDaemonSets, "agent"));
  EXPECT_THAT(names(kPods), IsEmpty());
  EXPECT_THAT(names(kRevisions), IsEmpty());
}

}  // namespace
}  // namespace sublet::controllers
