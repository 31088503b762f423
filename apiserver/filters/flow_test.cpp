// Flow control as a client meets it: what answers say, who waits without holding up the loop, who is told to come
// later.
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"
#include "sublet/apiserver/flow_objects.h"

namespace sublet::apiserver {
namespace {

const std::string kBase = "/apis/flowcontrol.apiserver.k8s.io/v1/";
constexpr std::string_view kSchemaHeader = "X-Kubernetes-PF-FlowSchema-UID",
                           kLevelHeader = "X-Kubernetes-PF-PriorityLevel-UID";

std::string level(const std::string& response) {
  return R"({"metadata":{"name":"narrow"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":0,)"
         R"("borrowingLimitPercent":0,"limitResponse":)" +
         response + "}}}";
}
constexpr std::string_view kSchema =
    R"({"metadata":{"name":"narrow"},"spec":{"matchingPrecedence":10,"priorityLevelConfiguration":{"name":"narrow"},)"
    R"("rules":[{"subjects":[{"kind":"User","user":{"name":"ned"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],)"
    R"("resources":["*"],"namespaces":["*"],"clusterScope":true}]}]}})";

// What holds a seat here is a write that waits for its
// Service's addresses from a host that never gives any.
class FlowTest : public testing::Test {
 protected:
  FlowTest() : rig(options(), Rig::WithRights()) {
    rig.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             R"({"metadata":{"name":"ned"},"roleRef":{"kind":"ClusterRole","name":"cluster-admin"},)"
             R"("subjects":[{"kind":"User","name":"ned"}]})");
  }
  static ServerOptions options() {
    ServerOptions made;
    made.service_addresses_of_host = true;
    made.service_address_wait = std::chrono::seconds(30);
    made.request_timeout = std::chrono::seconds(8);  // so that a seat is waited for two seconds
    return made;
  }
  void narrow(const std::string& response) {
    ASSERT_EQ(rig.post(kBase + "prioritylevelconfigurations", level(response)).code, 201);
    ASSERT_EQ(rig.post(kBase + "flowschemas", std::string(kSchema)).code, 201);
  }
  Watching as_ned(std::string method, std::string target, std::string body = {}) {
    return rig.begin(std::move(method), std::move(target), std::move(body), {{"Impersonate-User", "ned"}});
  }
  Watching hold_the_seat() {
    return as_ned("POST", "/api/v1/namespaces/test/services",
                  R"({"metadata":{"name":"held"},"spec":{"ports":[{"port":80}]}})");
  }
  Rig rig;
};

TEST_F(FlowTest, AnswersSayWhoseTheyAre) {
  narrow(R"({"type":"Reject"})");
  const auto answer = rig.call_as("ned", "GET", kConfigMaps);
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.headers.get(kSchemaHeader), rig.get(kBase + "flowschemas/narrow").text("metadata.uid"));
  EXPECT_EQ(answer.headers.get(kLevelHeader),
            rig.get(kBase + "prioritylevelconfigurations/narrow").text("metadata.uid"));
  const auto other = rig.call_as("else", "GET", kConfigMaps);
  EXPECT_EQ(other.code, 403) << "it is sorted before it is judged";
  EXPECT_EQ(other.headers.get(kSchemaHeader), rig.get(kBase + "flowschemas/global-default").text("metadata.uid"));
}

TEST_F(FlowTest, UpstreamsOwnAreManagedAsUpstreamsAre) {
  for (const auto* object : {"flowschemas/global-default", "prioritylevelconfigurations/workload-low"})
    EXPECT_EQ(rig.get(kBase + object)["metadata"]["managedFields"].at(0)["manager"].text(),
              "api-priority-and-fairness-config-producer-v1");
}

TEST_F(FlowTest, WhoFindsNoSeatIsToldToComeLater) {
  narrow(R"({"type":"Reject"})");
  const auto held = hold_the_seat();
  const auto refused = rig.call_as("ned", "GET", kConfigMaps);
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.body, "Too many requests, please try again later.\n");
  EXPECT_EQ(refused.headers.get("Retry-After"), "1");
  EXPECT_EQ(refused.headers.get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(refused.headers.get(kSchemaHeader), rig.get(kBase + "flowschemas/narrow").text("metadata.uid"));
  EXPECT_EQ(rig.call_as("else", "GET", "/api").code, 200) << "nobody else is held up";
  const auto metrics = rig.get("/metrics").body;
  EXPECT_NE(
      metrics.find(R"(apiserver_flowcontrol_rejected_requests_total{priority_level="narrow",flow_schema="narrow",)"
                   R"(reason="concurrency-limit"})"),
      std::string::npos);
}

TEST_F(FlowTest, WhoWaitsGetsTheSeatOfWhoLeaves) {
  narrow(R"({"type":"Queue","queuing":{"queues":2,"handSize":1,"queueLengthLimit":5}})");
  const auto watch = as_ned("GET", kConfigMaps + "?watch=1");
  EXPECT_EQ(watch->code(), 200) << "it keeps no seat";
  auto held = hold_the_seat();
  const auto waiting = as_ned("GET", kConfigMaps);
  EXPECT_EQ(rig.get(kConfigMaps).code, 200) << "the loop goes on";
  EXPECT_FALSE(waiting->ended(std::chrono::seconds(0)));
  ASSERT_EQ(rig.remove("/api/v1/namespaces/test/services/held").code, 200);  // and so its create is answered
  ASSERT_TRUE(waiting->ended());
  EXPECT_EQ(waiting->code(), 200) << waiting->raw();
  EXPECT_EQ(held->code(), 201);
}

TEST_F(FlowTest, WhoWaitsTooLongIsToldToComeLater) {
  narrow(R"({"type":"Queue","queuing":{"queues":2,"handSize":1,"queueLengthLimit":5}})");
  auto held = hold_the_seat();
  const auto waiting = as_ned("GET", kConfigMaps);
  ASSERT_TRUE(waiting->ended());
  EXPECT_EQ(waiting->code(), 429);
}

}  // namespace
}  // namespace sublet::apiserver
