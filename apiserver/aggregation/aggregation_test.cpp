// An API server of the tenant's own beside this one: whose requests it is brought and what it is told of them, what
// discovery and OpenAPI say of it, when it can be had.
#include <gtest/gtest.h>

#include <future>
#include <map>

#include "apiserver/admission/hooks_testing.h"
#include "apiserver/server_testing.h"
#include "sublet/net/http_server.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

const std::string kThings = "/apis/other.test/v1/things", kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

/// It answers with what it was asked, but what is said of itself.
class AggregatedServer {
 public:
  AggregatedServer()
      : front_(make_test_ca("front-ca")),
        server_(
            "other",
            [this](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
              serve(request, sink);
            },
            "other.test.svc", front_.certificate_pem) {}
  ~AggregatedServer() { server_.stop(); }
  AggregatedServer(const AggregatedServer&) = delete;
  AggregatedServer& operator=(const AggregatedServer&) = delete;

  ServerOptions options() const {
    auto options = HookServer::options();
    net::CertificateRequest client;
    client.common_name = "front-proxy-client";
    client.client_auth = true;
    const auto pair = net::make_certificate(client, &front_).value();
    options.outbound.front_proxy_certificate_pem = pair.certificate_pem;
    options.outbound.front_proxy_key_pem = pair.key_pem;
    return options;
  }
  std::string ca_bundle() const { return schema::base64_encode(server_.ca_pem()); }
  std::string port() const { return std::to_string(server_.port()); }

  int asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }
  void break_down() {
    const MutexLock lock(mutex_);
    broken_ = true;
  }
  void say(const std::string& line) {
    const MutexLock lock(mutex_);
    if (held_) held_->write(std::make_shared<const std::string>(line));
  }
  /// Whether whoever was held has left; false after a minute.
  bool wait_left() {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this]() SUBLET_REQUIRES(mutex_) { return left_; });
  }

 private:
  void serve(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
    static const std::map<std::string, std::string, std::less<>> kSaid = {
        {"/apis/other.test/v1",
         R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":"other.test/v1","resources":[{"name":"things",)"
         R"("singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"],"shortNames":["th"]},)"
         R"({"name":"things/status","singularName":"","namespaced":true,"kind":"Thing","verbs":["get"]}]})"},
        {"/openapi/v3",
         R"({"paths":{"apis/other.test/v1":{"serverRelativeURL":"/openapi/v3/apis/other.test/v1?hash=H"},)"
         R"("apis/strange.test/v1":{"serverRelativeURL":"/x"}}})"},
        {"/openapi/v2", R"({"swagger":"2.0","paths":{"/apis/other.test/v1/things":{"get":{"operationId":"listThings",)"
                        R"("parameters":[{"in":"header","name":"h","type":"string"}]}},"/apis/strange.test/v1":{}},)"
                        R"("definitions":{"test.other.Thing":{"type":"object","description":"A thing."}}})"}};
    {
      const MutexLock lock(mutex_);
      ++asked_;
      if (broken_) return sink->respond(500, {}, "broken");
    }
    if (const auto said = kSaid.find(request.path()); said != kSaid.end())
      return sink->respond(200, {{"Content-Type", "application/json"}}, said->second);
    if (request.query() == "watch=1") return hold(sink);
    Document echo = Document::object();
    echo.root().put("method", request.method);
    echo.root().put("target", request.target);
    echo.root().put("body", request.body);
    echo.root().put("peer", request.peer.common_name);
    for (const auto& [name, value] : request.headers) {
      Value list = echo.root().object("headers");
      list.put(name, list[name].text().empty() ? value : list[name].string() + "|" + value);
    }
    sink->respond(201, {{"Content-Type", "application/json"}, {"X-Own", "yes"}}, echo.to_json());
  }
  void hold(const std::shared_ptr<net::ResponseSink>& sink) {
    sink->on_close([this] {
      const MutexLock lock(mutex_);
      left_ = true;
      changed_.notify_all();
    });
    sink->start(200, {{"Content-Type", "application/json"}});
    sink->write(std::make_shared<const std::string>("{\"type\":\"ADDED\"}\n"));
    const MutexLock lock(mutex_);
    held_ = sink;
  }

  const net::KeyPair front_;
  TestTlsServer server_;
  Mutex mutex_;
  CondVar changed_;
  int asked_ SUBLET_GUARDED_BY(mutex_) = 0;
  bool broken_ SUBLET_GUARDED_BY(mutex_) = false, left_ SUBLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<net::ResponseSink> held_ SUBLET_GUARDED_BY(mutex_);
};

class AggregationTest : public testing::Test {
 protected:
  AggregationTest() : rig(other.options(), Rig::WithRights()) {
    rig.post("/api/v1/namespaces/test/services",
             R"({"metadata":{"name":"other"},"spec":{"ports":[{"name":"api","port":443}]}})");
    // Nobody may say so by the API: it is this machine's own address.
    store::Put put;
    put.bytes =
        R"({"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"name":"other-1","namespace":"test",)"
        R"("labels":{"kubernetes.io/service-name":"other"}},"addressType":"IPv4","endpoints":[{"addresses":["127.0.0.1"]}],)"
        R"("ports":[{"name":"api","port":)" +
        other.port() + "}]}";
    put.index.labels.emplace_back("kubernetes.io/service-name", "other");
    store::Txn txn;
    txn.ops.push_back({"endpointslices.discovery.k8s.io/test/other-1", std::move(put)});
    EXPECT_TRUE(rig.store().commit(std::move(txn)));
  }
  Reply add_service(const std::string& group = "other.test", const std::string& service = "other",
                    const std::string& port = "443") {
    return rig.post(kApiServices,
                    R"({"metadata":{"name":"v1.)" + group + R"("},"spec":{"group":")" + group +
                        R"(","version":"v1","groupPriorityMinimum":100,"versionPriority":1,"caBundle":")" +
                        other.ca_bundle() + R"(","service":{"namespace":"test","name":")" + service + R"(","port":)" +
                        port + "}}}");
  }
  ApiAvailability check(const std::string& name = "v1.other.test") {
    std::promise<ApiAvailability> said;
    const auto asked =
        rig.server().check_api_service()(name, [&](ApiAvailability verdict) { said.set_value(verdict); });
    return said.get_future().get();
  }
  void set_available(const std::string& status, const std::string& name = "v1.other.test") {
    EXPECT_EQ(rig.patch(kApiServices + "/" + name + "/status", "merge-patch",
                        R"({"status":{"conditions":[{"type":"Available","status":")" + status + "\"}]}}")
                  .code,
              200);
  }
  void serve() {
    ASSERT_EQ(add_service().code, 201);
    const auto verdict = check();
    ASSERT_TRUE(verdict.available) << verdict.reason << ": " << verdict.message;
    set_available("True");
  }
  AggregatedServer other;
  Rig rig;
};

TEST_F(AggregationTest, TheServerIsToldWhoAsksAndNothingElse) {
  serve();
  const auto answer = rig.call("POST", kThings + "?a=b%2Fc", R"({"x":1})",
                               {{"Content-Type", "application/json"},
                                {"Impersonate-User", "ned"},
                                {"Impersonate-Group", "system:masters"},
                                {"Impersonate-Group", "two"},
                                {"Impersonate-Extra-A%2fb", "c"},
                                {"X-Remote-User", "forged"},
                                {"x-remote-group", "forged"},
                                {"X-Remote-Extra-Forged", "forged"}});
  EXPECT_EQ(answer.code, 201);
  EXPECT_EQ(answer.headers.get("X-Own"), "yes");
  EXPECT_EQ(answer.text("method"), "POST");
  EXPECT_EQ(answer.text("target"), kThings + "?a=b%2Fc");
  EXPECT_EQ(answer.text("body"), R"({"x":1})");
  EXPECT_EQ(answer.text("peer"), "front-proxy-client");
  const Value headers = answer["headers"];
  EXPECT_EQ(headers["X-Remote-User"].text(), "ned");
  EXPECT_EQ(headers["X-Remote-Group"].text(), "system:masters|two|system:authenticated");
  EXPECT_EQ(headers["X-Remote-Extra-a%2Fb"].text(), "c");
  EXPECT_EQ(answer.body.find("forged"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("mpersonate"), std::string::npos) << answer.body;
}

TEST_F(AggregationTest, NobodyIsBelievedToBeAFrontProxyHere) {
  const auto who = rig.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                            {{"Content-Type", "application/json"}, {"X-Remote-User", "forged"}});
  EXPECT_EQ(who.code, 201);
  EXPECT_EQ(who.body.find("forged"), std::string::npos);
}

TEST_F(AggregationTest, RightsAreLookedAtFirst) {
  serve();
  const int before = other.asked();
  const auto answer = rig.call_as("nobody", "GET", "/apis/other.test/v1/namespaces/test/things");
  EXPECT_EQ(answer.code, 403);
  EXPECT_EQ(answer.text("message"),
            "things.other.test is forbidden: User \"nobody\" cannot list resource \"things\" in API group "
            "\"other.test\" in the namespace \"test\"");
  EXPECT_EQ(other.asked(), before);
}

TEST_F(AggregationTest, WhatIsNotAvailableIsNotAsked) {
  ASSERT_EQ(add_service().code, 201);
  const auto answer = rig.get(kThings);
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.body, "service unavailable\n");
  EXPECT_EQ(other.asked(), 0);
  set_available("True");
  EXPECT_EQ(rig.get(kThings).code, 201);
  rig.remove(kApiServices + "/v1.other.test");
  EXPECT_EQ(rig.get(kThings).code, 404);
}

TEST_F(AggregationTest, OwnKindsAreNeverHandedOver) {
  ASSERT_EQ(add_service("apps").code, 201);
  set_available("True", "v1.apps");
  EXPECT_EQ(rig.get("/apis/apps/v1/deployments").text("kind"), "DeploymentList");
  EXPECT_EQ(other.asked(), 0);
}

TEST_F(AggregationTest, AWatchIsPassedOnAsItComes) {
  serve();
  {
    const auto watch = rig.watch(kThings + "?watch=1");
    EXPECT_EQ(watch->event(0)["type"].text(), "ADDED");
    other.say("{\"type\":\"BOOKMARK\"}\n");
    EXPECT_EQ(watch->event(1)["type"].text(), "BOOKMARK");
  }
  EXPECT_TRUE(other.wait_left());
}

TEST_F(AggregationTest, DiscoveryHasItsGroup) {
  serve();
  const auto groups = rig.get("/apis");
  EXPECT_NE(groups.body.find(R"({"name":"other.test","versions":[{"groupVersion":"other.test/v1","version":"v1"}],)"),
            std::string::npos);
  EXPECT_EQ(rig.get("/apis/other.test").text("preferredVersion.groupVersion"), "other.test/v1");
  EXPECT_EQ(rig.get("/apis/other.test/v1").text("kind"), "APIResourceList");
  const std::string accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const auto aggregated = [&] {
    const auto all = rig.get("/apis", {{"Accept", accept}});
    for (const Value group : all["items"])
      if (group["metadata"]["name"].text() == "other.test") return group.to_json();
    return std::string();
  };
  EXPECT_EQ(
      aggregated(),
      R"({"metadata":{"name":"other.test"},"versions":[{"version":"v1","resources":[{"resource":"things",)"
      R"("responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced","singularResource":"thing",)"
      R"("verbs":["get","list"],"shortNames":["th"],"subresources":[{"subresource":"status","responseKind":)"
      R"({"group":"","version":"","kind":"Thing"},"verbs":["get"]}]}],"freshness":"Current"}]})");
  set_available("False");
  EXPECT_NE(aggregated().find(R"("freshness":"Stale")"), std::string::npos);
  rig.remove(kApiServices + "/v1.other.test");
  EXPECT_EQ(aggregated(), "");
}

TEST_F(AggregationTest, OpenApiHasItsPaths) {
  serve();
  const auto index = rig.get("/openapi/v3");
  EXPECT_EQ(index["paths"]["apis/other.test/v1"]["serverRelativeURL"].text(), "/openapi/v3/apis/other.test/v1?hash=H");
  EXPECT_TRUE(index["paths"]["apis/strange.test/v1"].missing());
  EXPECT_EQ(rig.get("/openapi/v3/apis/other.test/v1?hash=H").text("target"), "/openapi/v3/apis/other.test/v1?hash=H");
  const auto v2 = rig.get("/openapi/v2");
  EXPECT_EQ(v2["paths"]["/apis/other.test/v1/things"]["get"]["operationId"].text(), "listThings");
  EXPECT_TRUE(v2["paths"]["/apis/strange.test/v1"].missing());
  EXPECT_EQ(v2["definitions"]["test.other.Thing"]["description"].text(), "A thing.");
  EXPECT_FALSE(v2["paths"]["/api/v1/pods"].missing());
  const auto protobuf =
      rig.get("/openapi/v2", {{"Accept", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}});
  EXPECT_NE(protobuf.body.find("test.other.Thing"), std::string::npos);
}

TEST_F(AggregationTest, WhyItCannotBeHadIsSaid) {
  const auto verdict_of = [&](const std::string& service, const std::string& port) {
    EXPECT_EQ(add_service("other.test", service, port).code, 201);
    const auto verdict = check();
    EXPECT_FALSE(verdict.available);
    rig.remove(kApiServices + "/v1.other.test");
    return verdict.reason + ": " + verdict.message;
  };
  EXPECT_EQ(verdict_of("none", "443"), "ServiceNotFound: service/none in \"test\" is not present");
  EXPECT_EQ(verdict_of("other", "444"), "ServicePortError: service/other in \"test\" is not listening on port 444");
  rig.post("/api/v1/namespaces/test/services", R"({"metadata":{"name":"empty"},"spec":{"ports":[{"port":443}]}})");
  EXPECT_EQ(verdict_of("empty", "443"), "EndpointsNotFound: cannot find endpointslices for service/empty in \"test\"");
  other.break_down();
  EXPECT_EQ(verdict_of("other", "443"),
            "FailedDiscoveryCheck: failing or missing response from https://other.test.svc:443/apis/other.test/v1: bad "
            "status from https://other.test.svc:443/apis/other.test/v1: 500");
  EXPECT_EQ(check("v1.local").reason, "Local");
}

}  // namespace
}  // namespace sublet::apiserver
