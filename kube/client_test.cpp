#include "sublet/kube/client.h"

#include <gtest/gtest.h>

#include <thread>

#include "kube/scripted_transport_testing.h"
#include "sublet/base/status_json.h"

namespace sublet::kube {
namespace {

const Resource kPods{"", "v1", "pods"};
const Resource kDeployments{"apps", "v1", "deployments"};

TEST(Resource, BuildsPaths) {
  EXPECT_EQ(kPods.path(""), "/api/v1/pods");
  EXPECT_EQ(kPods.path("ns", "p", "status"), "/api/v1/namespaces/ns/pods/p/status");
  EXPECT_EQ(kDeployments.path("", "d"), "/apis/apps/v1/deployments/d");
  EXPECT_EQ(kPods.path("a/b", "x?y"), "/api/v1/namespaces/a%2Fb/pods/x%3Fy");
}

class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : transport_(std::make_shared<ScriptedTransport>()),
        client_(transport_, {.user_agent = "test", .bearer_token = "secret", .timeout = std::chrono::seconds(10)}) {}

  /// Runs `call` against a peer that answers so, and gives the request.
  template <class Call>
  net::Request during(Call call, int code, std::string_view body, net::Headers headers = {}) {
    std::thread caller(call);
    auto arrived = transport_->next();
    arrived->answer(code, body, std::move(headers));
    caller.join();
    return arrived->request;
  }

  std::shared_ptr<ScriptedTransport> transport_;
  Client client_;
};

TEST_F(ClientTest, SendsCredentialsAndParses) {
  const net::Request sent = during(
      [&] {
        const auto pod = client_.get(kPods, "ns", "p");
        ASSERT_TRUE(pod);
        EXPECT_EQ((*pod)["kind"].text(), "Pod");
      },
      200, R"({"kind":"Pod"})");
  EXPECT_EQ(sent.method, "GET");
  EXPECT_EQ(sent.headers.get("authorization"), "Bearer secret");
  EXPECT_EQ(sent.headers.get("user-agent"), "test");
  EXPECT_EQ(sent.headers.get("accept"), "application/json");
}

TEST_F(ClientTest, ListCarriesItsOptions) {
  const net::Request sent = during(
      [&] {
        client_.list(kPods, "", {.label_selector = "a in (b,c)", .field_selector = "spec.nodeName=n", .limit = 5});
      },
      200, "{}");
  EXPECT_EQ(sent.target, "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=spec.nodeName%3Dn&limit=5");
}

TEST_F(ClientTest, ListOfMetadataAloneSaysSo) {
  const net::Request sent = during([&] { client_.list(kPods, "ns", {.metadata_only = true}); }, 200, "{}");
  EXPECT_EQ(sent.headers.all("accept"),
            std::vector<std::string_view>{"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"});
}

// What came with a success is not read, whatever it is; an error is.
TEST_F(ClientTest, WhoSendsReadsOnlyErrors) {
  const net::Request sent =
      during([&] { EXPECT_TRUE(client_.send(answered_by_metadata(client_.remove_request(kPods, "ns", "p")))); }, 200,
             "no JSON");
  EXPECT_EQ(sent.method, "DELETE");
  EXPECT_EQ(
      sent.headers.all("accept"),
      std::vector<std::string_view>{"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"});
  during(
      [&] {
        const auto refused = client_.send(client_.remove_request(kPods, "ns", "p"));
        ASSERT_FALSE(refused);
        EXPECT_TRUE(refused.error().is(Reason::not_found));
        EXPECT_EQ(refused.error().message, "gone");
      },
      404, R"({"kind":"Status","status":"Failure","reason":"NotFound","message":"gone","code":404})");
}

TEST_F(ClientTest, WritesCarryBodyAndType) {
  const auto object = schema::Document::parse_json(R"({"kind":"Binding"})").value();
  net::Request sent = during([&] { client_.create(kPods, "ns", object.root(), "p", "binding"); }, 201, "{}");
  EXPECT_EQ(sent.method + " " + sent.target, "POST /api/v1/namespaces/ns/pods/p/binding");
  EXPECT_EQ(sent.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(sent.body, R"({"kind":"Binding"})");
  sent = during([&] { client_.patch(kPods, "ns", "p", PatchType::merge, R"({"a":1})"); }, 200, "{}");
  EXPECT_EQ(sent.headers.get("Content-Type"), "application/merge-patch+json");
  const auto config = schema::Document::parse_json(R"({"kind":"Pod"})");
  sent = during([&] { client_.apply(kPods, "ns", "p", config->root(), {"me", true}, "status"); }, 200, "{}");
  EXPECT_EQ(sent.method, "PATCH");
  EXPECT_EQ(sent.target, "/api/v1/namespaces/ns/pods/p/status?fieldManager=me&force=true");
  EXPECT_EQ(sent.headers.get("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(sent.body, R"({"kind":"Pod"})");
  sent = during(
      [&] {
        client_.remove(kPods, "ns", "p", {.grace_period_seconds = 0, .uid = "u", .propagation_policy = "Orphan"});
      },
      200, "{}");
  EXPECT_EQ(sent.method, "DELETE");
  EXPECT_EQ(
      sent.body,
      R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Orphan"})");
}

TEST_F(ClientTest, StatusAnswersBecomeStatus) {
  during(
      [&] {
        const auto pod = client_.get(kPods, "ns", "p");
        ASSERT_FALSE(pod);
        EXPECT_TRUE(pod.error().is(Reason::not_found));
        EXPECT_EQ(pod.error().name, "p");
        EXPECT_EQ(pod.error().http_code(), 404);
      },
      404,
      R"({"kind":"Status","status":"Failure","message":"pods \"p\" not found","reason":"NotFound","details":{"name":"p","kind":"pods"},"code":404})");
  during(
      [&] {
        const auto pod = client_.get(kPods, "ns", "p");
        ASSERT_FALSE(pod);
        EXPECT_TRUE(pod.error().is(Reason::service_unavailable));
        EXPECT_EQ(pod.error().retry_after_seconds, 7);
        EXPECT_NE(pod.error().message.find("<html>"), std::string::npos) << pod.error().message;
      },
      503, "<html>\nbusy", {{"Retry-After", "7"}});
  during([&] { EXPECT_FALSE(client_.get(kPods, "ns", "p")); }, 200, "{not json");
}

TEST_F(ClientTest, WhatIsNoTextInAnAnswerIsTextInItsMessage) {
  during(
      [&] {
        const auto pod = client_.get(kPods, "ns", "web");
        ASSERT_FALSE(pod);
        EXPECT_TRUE(schema::Document::parse_json("\"" + pod.error().message + "\"")) << pod.error().message;
        EXPECT_NE(pod.error().message.find("\xef\xbf\xbd"), std::string::npos);
      },
      500, "a\xff\xfe" + std::string(196, 'b') + "\xe4\xb8\xad");  // cut within its last character
}

TEST(StatusDocument, RoundTrips) {
  Status status = invalid_status("apps", "Deployment", "d", {{"FieldValueRequired", "Required value", "spec.x"}});
  status.retry_after_seconds = 3;
  status.uid = "u";
  const std::string json = status_json(status);
  EXPECT_EQ(
      json,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"Deployment.apps \"d\" is invalid: spec.x: Required value","reason":"Invalid","details":{"name":"d",)"
      R"("group":"apps","kind":"Deployment","uid":"u","causes":[{"reason":"FieldValueRequired",)"
      R"("message":"Required value","field":"spec.x"}],"retryAfterSeconds":3},"code":422})");
  const Status back = status_from_document(schema::Document::parse_json(json)->root(), 422);
  EXPECT_EQ(back.message, status.message);
  EXPECT_EQ(back.causes, status.causes);
  EXPECT_EQ(status_json(back), json);
}

TEST_F(ClientTest, WatchGivesEventsAndItsEnd) {
  struct Recorder final : WatchObserver {
    void on_event(WatchEventType type, std::string_view object) override {
      events.emplace_back(type, std::string(object));
    }
    void on_end(Outcome outcome) override {
      ++ends;
      ended_well = outcome.has_value();
    }
    std::vector<std::pair<WatchEventType, std::string>> events;
    int ends = 0;
    bool ended_well = false;
  };
  const auto recorder = std::make_shared<Recorder>();
  const auto exchange = client_.watch(kPods, "ns", {.resource_version = "5"}, recorder);
  const auto call = transport_->next();
  EXPECT_EQ(call->request.target, "/api/v1/namespaces/ns/pods?watch=true&resourceVersion=5&allowWatchBookmarks=true");
  call->head(200);
  call->body("{\"type\":\"ADDED\",\"obj");
  call->body("ect\":{\"a\":\"\\n}\"}}\n\n{\"object\":{},\"type\":\"DELETED\"}\n");
  call->end();
  ASSERT_EQ(recorder->events.size(), 2u);
  EXPECT_EQ(recorder->events[0], std::pair(WatchEventType::added, std::string(R"({"a":"\n}"})")));
  EXPECT_EQ(recorder->events[1].first, WatchEventType::deleted);
  EXPECT_EQ(recorder->ends, 1);
  EXPECT_TRUE(recorder->ended_well);
}

}  // namespace
}  // namespace sublet::kube
