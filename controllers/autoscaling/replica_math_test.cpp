#include "controllers/autoscaling/replica_math.h"

#include <gtest/gtest.h>

#include "controllers/autoscaling/scale_history.h"
#include "controllers/resources_testing.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;
using schema::Document;
using testing_support::parse_json;

/// A pod that has run for an hour, ready or not, with a CPU request in milli.
Pod measured_pod(const std::string& name, const std::string& phase = "Running", const std::string& ready = "True",
                 std::chrono::seconds age = 3600s, int request = 1000) {
  auto object = std::make_shared<store::Object>();
  object->key = "pods/default/" + name;
  const auto since = format_time(kTestNow - age);
  const auto json = R"({"metadata":{"name":")" + name +
                    R"(","namespace":"default"},"spec":{"containers":[{"name":"c","resources":)" +
                    R"({"requests":{"cpu":")" + std::to_string(request) + R"(m"}}}]},"status":{"phase":")" + phase +
                    R"(","startTime":")" + since + R"(","conditions":[{"type":"Ready","status":")" + ready +
                    R"(","lastTransitionTime":")" + since + R"("}]}})";
  object->bytes = json;
  return Pod(object);
}

Samples samples_of(const std::vector<Pod>& pods, std::int64_t value) {
  Samples samples;
  for (const auto& each : pods) samples[std::string(each.name())] = {value, kTestNow, 60s};
  return samples;
}

std::int64_t utilized(const std::vector<Pod>& pods, const Samples& samples, std::int64_t target) {
  const auto requests = requests_of(pods, "", "cpu");
  EXPECT_TRUE(requests);
  const auto proposal =
      by_utilization({pods, static_cast<std::int64_t>(pods.size()), {}, kTestNow}, samples, *requests, "cpu", target);
  EXPECT_TRUE(proposal) << proposal.error().message;
  return proposal ? proposal->replicas : -1;
}

TEST(ReplicaMath, FollowsUtilizationOutsideItsTolerance) {
  const std::vector<Pod> three = {measured_pod("a"), measured_pod("b"), measured_pod("c")};
  EXPECT_EQ(utilized(three, samples_of(three, 500), 50), 3);
  EXPECT_EQ(utilized(three, samples_of(three, 545), 50), 3) << "within ten percent";
  EXPECT_EQ(utilized(three, samples_of(three, 900), 50), 6);
  EXPECT_EQ(utilized(three, samples_of(three, 100), 50), 1);
}

TEST(ReplicaMath, WhatIsNotMeasuredCountsAgainstTheChange) {
  const std::vector<Pod> pods = {measured_pod("a"), measured_pod("b"), measured_pod("c")};
  auto two = samples_of({pods[0], pods[1]}, 1000);
  EXPECT_EQ(utilized(pods, two, 50), 4) << "up: the third is taken to use nothing";
  two = samples_of({pods[0], pods[1]}, 100);
  EXPECT_EQ(utilized(pods, two, 50), 3) << "down: the third is taken to use all that it requested";
  const std::vector<Pod> starting = {measured_pod("a"), measured_pod("b"), measured_pod("c", "Running", "False", 10s)};
  EXPECT_EQ(utilized(starting, samples_of(starting, 1000), 50), 4) << "one that starts is no witness";
  const std::vector<Pod> ended = {measured_pod("a"), measured_pod("b"), measured_pod("c", "Failed")};
  EXPECT_EQ(utilized(ended, samples_of(ended, 1000), 50), 4) << "two use twice their share";
}

TEST(ReplicaMath, SaysWhatIsMissing) {
  const std::vector<Pod> pods = {measured_pod("a")};
  EXPECT_EQ(requests_of(pods, "", "memory").error().message, "missing request for memory in container c of Pod a");
  EXPECT_EQ(requests_of(pods, "x", "cpu").error().message, "container x not found in Pod a");
  const std::vector<Pod> pending = {measured_pod("a", "Pending")};
  EXPECT_EQ(by_average({pending, 1, {}, kTestNow}, samples_of(pending, 1), "", 1).error().message,
            "did not receive metrics for targeted pods (pods might be unready)");
  EXPECT_EQ(by_average({{}, 1, {}, kTestNow}, {}, "", 1).error().message,
            "no pods returned by selector while calculating replica count");
}

TEST(ReplicaMath, ValuesOfOneNumberForAll) {
  const std::vector<Pod> pods = {measured_pod("a"), measured_pod("b"), measured_pod("c", "Running", "False")};
  EXPECT_EQ(by_value({pods, 3, {}, kTestNow}, 20'000, 10'000)->replicas, 4) << "twice of the two that are ready";
  EXPECT_EQ(by_value({pods, 3, {}, kTestNow}, 10'500, 10'000)->replicas, 3);
  const auto each = by_value_per_pod(3, {}, 20'000, 5'000);
  EXPECT_EQ(each.replicas, 4);
  EXPECT_EQ(each.usage, 6667);
  EXPECT_EQ(by_value_per_pod(4, {}, 20'000, 5'000).replicas, 4);
}

TEST(ScaleHistory, WithoutBehaviourItDoublesAtMostAndWaitsToGoDown) {
  ScaleHistory history;
  history.begin(3, kTestNow);
  auto said = history.normalize({}, {3, 20, 1, 30}, kTestNow);
  EXPECT_EQ(said.replicas, 6);
  EXPECT_EQ(said.limit_reason, "ScaleUpLimit");
  EXPECT_TRUE(said.limited);
  said = history.normalize({}, {6, 2, 1, 30}, kTestNow + 15s);
  EXPECT_EQ(said.replicas, 12) << "the 20 of a moment ago still counts";
  EXPECT_EQ(said.able_reason, "ScaleDownStabilized");
  said = history.normalize({}, {6, 2, 3, 30}, kTestNow + 400s);
  EXPECT_EQ(said.replicas, 3);
  EXPECT_EQ(said.limit_reason, "TooFewReplicas");
  said = history.normalize({}, {6, 40, 3, 8}, kTestNow + 800s);
  EXPECT_EQ(said.replicas, 8);
  EXPECT_EQ(said.limit_reason, "TooManyReplicas");
}

TEST(ScaleHistory, PoliciesLimitTheRate) {
  const auto behavior = parse_json(R"({"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Min","policies":[
    {"type":"Pods","value":2,"periodSeconds":60},{"type":"Percent","value":100,"periodSeconds":60}]},
    "scaleDown":{"stabilizationWindowSeconds":0,"policies":[{"type":"Percent","value":50,"periodSeconds":60}]}})");
  ScaleHistory history;
  history.begin(4, kTestNow);
  auto said = history.normalize(behavior.root(), {4, 20, 1, 30}, kTestNow);
  EXPECT_EQ(said.replicas, 6);
  history.note(behavior.root(), 4, 6, kTestNow);
  said = history.normalize(behavior.root(), {6, 20, 1, 30}, kTestNow + 15s);
  EXPECT_EQ(said.replicas, 6) << "two in this minute already";
  said = history.normalize(behavior.root(), {6, 20, 1, 30}, kTestNow + 61s);
  EXPECT_EQ(said.replicas, 8);
  said = history.normalize(behavior.root(), {6, 1, 1, 30}, kTestNow + 200s);
  EXPECT_EQ(said.replicas, 3);
  EXPECT_EQ(said.limit_reason, "ScaleDownLimit");
  const auto never = parse_json(R"({"scaleDown":{"selectPolicy":"Disabled","stabilizationWindowSeconds":0}})");
  ScaleHistory other;
  other.begin(6, kTestNow);
  EXPECT_EQ(other.normalize(never.root(), {6, 1, 1, 30}, kTestNow + 1s).replicas, 6);
}

TEST(ScaleHistory, TheWindowTakesTheLowestOnTheWayUp) {
  const auto behavior = parse_json(R"({"scaleUp":{"stabilizationWindowSeconds":60,"policies":[
    {"type":"Pods","value":100,"periodSeconds":15}]}})");
  ScaleHistory history;
  history.begin(2, kTestNow);
  auto said = history.normalize(behavior.root(), {2, 10, 1, 30}, kTestNow + 15s);
  EXPECT_EQ(said.replicas, 2);
  EXPECT_EQ(said.able_reason, "ScaleUpStabilized");
  said = history.normalize(behavior.root(), {2, 12, 1, 30}, kTestNow + 62s);
  EXPECT_EQ(said.replicas, 10) << "the lowest of the last minute";
}

}  // namespace
}  // namespace sublet::controllers
