#include "controllers/deployment/rollout_math.h"

#include <gtest/gtest.h>

#include "controllers/deployment/progress.h"
#include "controllers/deployment/revisions.h"
#include "controllers/pods/template_hash.h"
#include "controllers/resources_testing.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using testing_support::parse_json;
using Sizes = std::vector<int>;

TEST(RolloutMath, FencepostsAreNeverBothZero) {
  struct Case {
    std::string surge, unavailable;
    int desired, surge_pods, unavailable_pods;
  };
  const Case cases[] = {{"0", R"("1%")", 2, 0, 1},
                        {R"("1%")", R"("25%")", 2, 1, 0},
                        {R"("25%")", R"("25%")", 10, 3, 2},
                        {R"("1%")", "0", 1, 1, 0},
                        {"0", "0", 5, 0, 1},
                        {"2", "3", 1, 2, 3},
                        {R"("100%")", "0", 7, 7, 0}};
  for (const auto& c : cases) {
    const auto surge = parse_json(c.surge), unavailable = parse_json(c.unavailable);
    const auto posts = resolve_fenceposts(surge.root(), unavailable.root(), c.desired);
    EXPECT_EQ(posts.surge, c.surge_pods) << c.surge << " of " << c.desired;
    EXPECT_EQ(posts.unavailable, c.unavailable_pods) << c.unavailable << " of " << c.desired;
  }
}

TEST(RolloutMath, TheNewSetGrowsWithinTheSurge) {
  EXPECT_EQ(new_set_size({.replicas = 10, .surge = 3}, 10, 0), 3);
  EXPECT_EQ(new_set_size({.replicas = 10, .surge = 3}, 13, 3), 3) << "no room";
  EXPECT_EQ(new_set_size({.replicas = 10, .surge = 3}, 0, 0), 10) << "no more than is wanted";
  EXPECT_EQ(new_set_size({.replicas = 10, .rolling = false}, 5, 0), 10);
}

SetSize set(int replicas, int max_before, std::string created) {
  return {replicas, replicas, max_before, std::move(created), "s"};
}

// The figures are those of upstream's own table (TestScale); newer sets first.
TEST(RolloutMath, ScalingAmidARolloutIsShared) {
  struct Case {
    int from, to;
    std::vector<int> before, after;
    int surge_before = 0, surge = 0;
  };
  const Case cases[] = {{5, 10, {2, 3}, {4, 6}},          {5, 3, {2, 3}, {1, 2}},
                        {9, 4, {8, 1}, {4, 0}},           {7, 10, {2, 3, 2}, {3, 4, 3}},
                        {13, 8, {2, 8, 3}, {1, 5, 2}},    {3, 4, {1, 1, 1}, {2, 1, 1}},
                        {3, 5, {1, 1, 1}, {2, 2, 1}},     {10, 0, {3, 7}, {0, 0}},
                        {10, 20, {6, 6}, {11, 11}, 2, 2}, {10, 50, {5, 8}, {22, 34}, 3, 6}};
  for (const auto& c : cases) {
    std::vector<SetSize> sets;
    for (std::size_t i = 0; i < c.before.size(); ++i)
      sets.push_back(set(c.before[i], c.from + c.surge_before, std::to_string(9 - i)));
    EXPECT_EQ(proportional_sizes({.replicas = c.to, .surge = c.surge, .seen = c.from}, sets), c.after)
        << c.from << " -> " << c.to;
  }
}

TEST(RolloutMath, WithoutItsNoteASetTakesTheDeploymentsSize) {
  SetSize bare = set(2, 0, "2"), other = set(3, 0, "1");
  bare.max_before = other.max_before = std::nullopt;
  EXPECT_EQ(proportional_sizes({.replicas = 10, .seen = 5}, {bare, other}), (Sizes{4, 6}));
  EXPECT_EQ(proportional_sizes({.replicas = 10, .seen = 0}, {bare, other}), (Sizes{2, 8})) << "all to the largest";
}

// As upstream's TestDeploymentController_reconcileOldReplicaSets.
TEST(RolloutMath, OldSetsShrinkAsFarAsTheMinimumAllows) {
  struct Case {
    int unavailable, old_replicas, new_replicas, old_available, new_available, expected;
  };
  const Case cases[] = {{0, 10, 0, 10, 0, 10}, {2, 10, 0, 10, 0, 8}, {2, 10, 0, 8, 0, 8},
                        {2, 10, 0, 9, 0, 8},   {2, 8, 2, 8, 0, 8},   {0, 10, 3, 10, 1, 9}};
  for (const auto& c : cases)
    EXPECT_EQ(old_set_sizes({.replicas = 10, .unavailable = c.unavailable}, {{c.old_replicas, c.old_available}},
                            {c.new_replicas, c.new_available}),
              Sizes{c.expected})
        << c.old_replicas << "/" << c.old_available << " and " << c.new_replicas << "/" << c.new_available;
}

TEST(RolloutMath, PodsThatAreNotAvailableGoFirstInAllOldSets) {
  const RolloutSize size{.replicas = 10, .unavailable = 2};
  EXPECT_EQ(old_set_sizes(size, {{4, 4}, {6, 3}}, {0, 0}), (Sizes{4, 4})) << "two of three that hang";
  EXPECT_EQ(old_set_sizes(size, {{6, 6}, {4, 4}}, {3, 3}), (Sizes{1, 4})) << "then the oldest";
}

TEST(Revisions, TheHashIsReadableAndTellsTemplatesApart) {
  const auto a = parse_json(R"({"metadata":{"labels":{"a":"b"}},"spec":{}})"), b = parse_json(R"({"spec":{}})");
  EXPECT_EQ(template_hash(a.root(), std::nullopt), template_hash(a.root(), std::nullopt));
  EXPECT_NE(template_hash(a.root(), std::nullopt), template_hash(b.root(), std::nullopt));
  EXPECT_NE(template_hash(a.root(), std::nullopt), template_hash(a.root(), 1));
  EXPECT_EQ(safe_encoded(1234567890).find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  EXPECT_EQ(set_name(std::string(253, 'a'), "hash").size(), 253u);
}

TEST(Revisions, TemplatesAreComparedWithoutTheHash) {
  const auto a = parse_json(R"({"metadata":{"labels":{"a":"b","pod-template-hash":"x"}}})"),
             b = parse_json(R"({"metadata":{"labels":{"a":"b"}}})"),
             c = parse_json(R"({"metadata":{"labels":{"a":"c"}}})");
  EXPECT_TRUE(same_template(a.root(), b.root()));
  EXPECT_FALSE(same_template(a.root(), c.root()));
}

TEST(Revisions, ASetThatComesBackRemembersWhatItWas) {
  const auto deployment = parse_json(
      R"({"metadata":{"annotations":{"note":"n","deployment.kubernetes.io/revision":"7","kubectl.kubernetes.io/last-applied-configuration":"{}"}}})");
  auto set = parse_json(R"({"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}})");
  EXPECT_TRUE(annotate_set(set.root(), deployment.root(), 3));
  EXPECT_EQ(set["metadata"]["annotations"].to_json(),
            R"({"deployment.kubernetes.io/revision":"3","note":"n","deployment.kubernetes.io/revision-history":"1"})");
  EXPECT_TRUE(annotate_set(set.root(), deployment.root(), 5));
  EXPECT_EQ(set["metadata"]["annotations"][kRevisionHistory].text(), "1,3");
  EXPECT_FALSE(annotate_set(set.root(), deployment.root(), 4)) << "never less";
  EXPECT_EQ(revision_of(set.root()), 5);
}

WallTime at_second(int second) { return kTestNow + std::chrono::seconds(second); }

/// A Deployment of three with the conditions that it had, and one set with so many pods.
struct Progress {
  Document deployment = parse_json(R"({"metadata":{"name":"d","generation":2},"spec":{"replicas":3,
      "progressDeadlineSeconds":60,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}},
      "status":{}})");
  SetsOf sets;
  Document see(int replicas, int available, WallTime now) {
    sets.fresh = std::make_shared<Document>(
        parse_json(R"({"metadata":{"name":"d-1"},"spec":{"replicas":3},"status":{"observedGeneration":1,
        "terminatingReplicas":0}})"));
    sets.fresh->root()["status"].put("replicas", replicas);
    sets.fresh->root()["status"].put("availableReplicas", available);
    auto status = rollout_status(deployment.root(), sets, now);
    deployment.root().object("status").set(status.root());
    return status;
  }
  static std::string say(const Document& status, std::string_view type) {
    const auto condition = find_condition(status["conditions"], type);
    return condition["status"].string() + " " + condition["reason"].string() + " " + condition["message"].string();
  }
};

TEST(DeploymentProgress, GoesOnStallsAndEnds) {
  Progress progress;
  auto status = progress.see(2, 0, at_second(0));
  EXPECT_EQ(Progress::say(status, "Progressing"), "True ReplicaSetUpdated ReplicaSet \"d-1\" is progressing.");
  EXPECT_EQ(Progress::say(status, "Available"),
            "False MinimumReplicasUnavailable Deployment does not have minimum availability.");
  EXPECT_EQ(next_progress_check(progress.deployment.root(), status.root(), at_second(10)), std::chrono::seconds(51));
  status = progress.see(2, 0, at_second(60));
  EXPECT_EQ(Progress::say(status, "Progressing"), "True ReplicaSetUpdated ReplicaSet \"d-1\" is progressing.");
  status = progress.see(2, 0, at_second(61));
  EXPECT_EQ(Progress::say(status, "Progressing"),
            "False ProgressDeadlineExceeded ReplicaSet \"d-1\" has timed out progressing.");
  EXPECT_EQ(next_progress_check(progress.deployment.root(), status.root(), at_second(61)), std::nullopt);
  status = progress.see(3, 3, at_second(70));
  EXPECT_EQ(Progress::say(status, "Progressing"),
            "True NewReplicaSetAvailable ReplicaSet \"d-1\" has successfully progressed.");
  EXPECT_EQ(Progress::say(status, "Available"), "True MinimumReplicasAvailable Deployment has minimum availability.");
  EXPECT_EQ(next_progress_check(progress.deployment.root(), status.root(), at_second(71)), std::nullopt);
  status = progress.see(3, 2, at_second(500));
  EXPECT_EQ(Progress::say(status, "Progressing").substr(0, 28), "True NewReplicaSetAvailable ") << "done is done";
}

}  // namespace
}  // namespace sublet::controllers
