#include "syncer/from_host/pod_status.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

using schema::Document;

std::string status(std::string_view host_pod, std::string_view tenant_pod) {
  const auto host = std::move(*Document::parse_json(host_pod)), tenant = std::move(*Document::parse_json(tenant_pod));
  return tenant_pod_status({}, host.root(), tenant.root(),
                           [](std::string_view text) { return std::string(text); })["conditions"]
      .to_json();
}

constexpr std::string_view kEvicted =
    R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}]}})";

TEST(TenantPodStatus, KeepsTheWordOfAnEviction) {
  EXPECT_EQ(
      status(R"({"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}})", kEvicted),
      R"([{"type":"Ready","status":"False"},{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}])");
  EXPECT_EQ(status(R"({"status":{"phase":"Pending"}})", kEvicted),
            R"([{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}])");
}

// user-pain, demand 1: what a tenant's pod says of itself is what the host says.
TEST(TenantPodStatus, SaysWhatTheHostSaysInTheTenantsWords) {
  const auto host = std::move(*Document::parse_json(R"({"status":{"message":"said",
    "conditions":[{"type":"PodScheduled","status":"False","message":"said"}],
    "containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff","message":"said"}},
                          "lastState":{"terminated":{"reason":"StartError","message":"said"}}},
                         {"name":"d","state":{"terminated":{"reason":"Error","message":"said"}}}]}})"));
  const auto tenant = std::move(
      *Document::parse_json(R"({"spec":{"containers":[{"name":"c"},{"name":"d"}]},"status":{"phase":"Pending"}})"));
  const auto words = [](std::string_view text) { return "<" + std::string(text) + ">"; };
  const Document status = tenant_pod_status({}, host.root(), tenant.root(), words);
  EXPECT_EQ(status["message"].text(), "<said>");
  EXPECT_EQ(status["conditions"].at(0)["message"].text(), "<said>");
  const auto containers = status["containerStatuses"];
  EXPECT_EQ(containers.at(0)["state"]["waiting"]["message"].text(), "<said>");
  EXPECT_EQ(containers.at(0)["lastState"]["terminated"]["message"].text(), "<said>");
  EXPECT_EQ(containers.at(1)["state"]["terminated"]["message"].text(), "said");  // its own last words
}

TEST(TenantPodStatus, TheHostsOwnDisruptionCountsMore) {
  EXPECT_EQ(
      status(
          R"({"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})",
          kEvicted),
      R"([{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}])");
}

TEST(TenantPodStatus, OtherConditionsAreTheHosts) {
  EXPECT_EQ(
      status(R"({"status":{"conditions":[]}})", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
      "[]");
}

// A pod that is bound in the tenant a second later than on the host is not written again for that.
TEST(TenantPodStatus, WhenItWasScheduledComesWithTheKubeletsFirstWord) {
  const auto scheduled = [](const std::string& second, const std::string& is = "True", const std::string& more = "") {
    return R"({"status":{)" + more + R"("conditions":[{"type":"PodScheduled","status":")" + is +
           R"(","lastTransitionTime":"2026-01-01T00:00:0)" + second + R"(Z"}]}})";
  };
  const auto said_at = [](const std::string& second, const std::string& is = "True") {
    return R"([{"type":"PodScheduled","status":")" + is + R"(","lastTransitionTime":"2026-01-01T00:00:0)" + second +
           R"(Z"}])";
  };
  EXPECT_EQ(status(scheduled("1"), scheduled("2")), said_at("2"));
  EXPECT_EQ(status(scheduled("1", "True", R"("startTime":"2026-01-01T00:00:02Z",)"), scheduled("2")), said_at("1"));
  EXPECT_EQ(status(scheduled("1", "False"), scheduled("2")), said_at("1", "False"));
  EXPECT_EQ(status(scheduled("1"), scheduled("2", "False")), said_at("1"));
  EXPECT_EQ(status(scheduled("1"), R"({"status":{}})"), said_at("1"));
}

TEST(TenantPodStatus, WhatATenantsControllerSaysStays) {
  const std::string tenant =
      R"({"status":{"conditions":[{"type":"a.b/warm","status":"True"},{"type":"Ready","status":"True"}]}})";
  EXPECT_EQ(status(R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})", tenant),
            R"([{"type":"Ready","status":"False"},{"type":"a.b/warm","status":"True"}])");
  EXPECT_EQ(status(R"({"status":{"conditions":[{"type":"a.b/warm","status":"False"}]}})", tenant),
            R"([{"type":"a.b/warm","status":"False"}])")
      << "where the host says it too, it is the host's";
}

// The host's pod has no gates; its containers are ready.
constexpr std::string_view kReady =
    R"({"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:05Z"}]}})";

std::string gated(const std::string& conditions, const std::string& gates = R"({"conditionType":"a.b/gate"})") {
  return R"({"spec":{"readinessGates":[)" + gates + R"(]},"status":{"conditions":[)" + conditions + "]}}";
}

TEST(TenantPodStatus, AGateThatIsNotOpenKeepsThePodFromBeingReady) {
  EXPECT_EQ(status(kReady, gated("")),
            R"([{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:05Z",)"
            R"("reason":"ReadinessGatesNotReady",)"
            R"("message":"corresponding condition of pod readiness gate \"a.b/gate\" does not exist."}])");
  const std::string closed = R"({"type":"a.b/gate","status":"False","lastTransitionTime":"2026-01-01T00:00:07Z"})";
  EXPECT_EQ(status(kReady, gated(closed)),
            R"([{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:07Z",)"
            R"("reason":"ReadinessGatesNotReady",)"
            R"("message":"the status of pod readiness gate \"a.b/gate\" is not \"True\", but False"},)" +
                closed + "]");
  EXPECT_EQ(status(kReady, gated(R"({"type":"x","status":"True"})",
                                 R"({"conditionType":"x"},{"conditionType":"y"},{"conditionType":"z"})")),
            R"([{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:05Z",)"
            R"("reason":"ReadinessGatesNotReady",)"
            R"("message":"corresponding condition of pod readiness gate \"y\" does not exist., )"
            R"(corresponding condition of pod readiness gate \"z\" does not exist."},{"type":"x","status":"True"}])");
}

TEST(TenantPodStatus, WithItsGatesOpenItIsReadySinceTheLastOfThem) {
  const std::string open = R"({"type":"a.b/gate","status":"True","lastTransitionTime":"2026-01-01T00:00:09Z"})";
  EXPECT_EQ(status(kReady, gated(open)),
            R"([{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:09Z"},)" + open + "]");
  // What it has said since then it says again, or every look would be a write.
  const std::string before = R"({"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:06Z"},)";
  EXPECT_EQ(status(kReady, gated(before + open)),
            R"([{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:06Z"},)" + open + "]");
  EXPECT_EQ(status(R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}]}})",
                   gated(open)),
            R"([{"type":"Ready","status":"False","reason":"ContainersNotReady"},)" + open + "]");
}

TEST(TenantPodStatus, AskIfSomebodyElseWritesConditionsToo) {
  const auto asks = [](const std::string& pod) { return has_conditions_of_tenant(Document::parse_json(pod)->root()); };
  EXPECT_TRUE(asks(gated("")));
  EXPECT_TRUE(asks(R"({"status":{"conditions":[{"type":"a.b/warm","status":"True"}]}})"));
  EXPECT_FALSE(asks(R"({"status":{"conditions":[{"type":"Ready"},{"type":"DisruptionTarget"}]}})"));
}

}  // namespace
}  // namespace sublet::syncer
