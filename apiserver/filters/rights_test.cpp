// Rights as a client meets them: what is refused and in which words, who may act as whom, what reviews say, and that a
// right that goes takes its open streams along.
#include <gtest/gtest.h>

#include <set>

#include "apiserver/server_testing.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kRbac = "/apis/rbac.authorization.k8s.io/v1/";

std::string binding(const std::string& name, const std::string& role, const std::string& user) {
  return R"({"metadata":{"name":")" + name + R"("},"roleRef":{"kind":"ClusterRole","name":")" + role +
         R"("},"subjects":[{"kind":"User","name":")" + user + R"("}]})";
}

class RightsTest : public testing::Test {
 protected:
  RightsTest() : rig(options(), Rig::WithRights()) {}
  static ServerOptions options() {
    ServerOptions made;
    made.pod_logs = [](const PodLogRequest&, const std::shared_ptr<net::ResponseSink>& sink) {
      sink->start(200, {});
      sink->write(std::make_shared<const std::string>("line\n"));
    };
    return made;
  }
  void bind(const std::string& role, const std::string& user) {
    ASSERT_EQ(rig.post(std::string(kRbac) + "clusterrolebindings", binding(user + "-" + role, role, user)).code, 201);
  }
  int code_as(const std::string& user, std::string method, std::string target, std::string body = {}) {
    return rig.call_as(user, std::move(method), std::move(target), std::move(body)).code;
  }
  Reply anonymous(std::string method, std::string target) {
    const auto transport = net::make_in_process_transport(nobody(), {}, &rig.loop());
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    auto response = net::fetch(*transport, std::move(request), std::chrono::seconds(60));
    Reply reply;
    if (!response) return reply;
    reply.code = response->code;
    reply.body = std::move(response->body);
    return reply;
  }
  /// What somebody with a certificate of that name, who may do everything, is answered.
  Reply with_certificate(const std::string& name, net::Headers headers = {}) {
    const auto from_outside = [handler = rig.server().handler(), name](net::Request request,
                                                                       std::shared_ptr<net::ResponseSink> sink) {
      request.peer = {};
      request.peer.kind = net::PeerIdentity::Kind::certificate;
      request.peer.common_name = name;
      request.peer.organizations = {"system:masters"};
      handler(std::move(request), std::move(sink));
    };
    const auto transport = net::make_in_process_transport(from_outside, {}, &rig.loop());
    net::Request request;
    request.method = "GET";
    request.target = "/api/v1/namespaces/test";
    request.headers = std::move(headers);
    auto response = net::fetch(*transport, std::move(request), std::chrono::seconds(60));
    Reply reply;
    if (!response) return reply;
    reply.code = response->code;
    reply.body = std::move(response->body);
    return reply;
  }
  net::Handler nobody() {
    return [handler = rig.server().handler()](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
      request.peer = {};
      handler(std::move(request), std::move(sink));
    };
  }
  Rig rig;
};

TEST_F(RightsTest, NamesOfComponentsAreReserved) {
  for (const std::string own : {"system:sublet:syncer", "system:apiserver"}) {
    const auto by_certificate = with_certificate(own);
    EXPECT_EQ(by_certificate.code, 403) << own;
    EXPECT_NE(by_certificate.body.find("is reserved for a component of this virtual cluster"), std::string::npos);
    EXPECT_EQ(with_certificate("admin", {{"Impersonate-User", own}}).code, 403) << own;
    EXPECT_EQ(with_certificate("admin", {{"Impersonate-User", own}, {"Impersonate-Group", "system:masters"}}).code,
              403);
    EXPECT_EQ(code_as(own, "GET", "/version"), 200) << "this process itself";
  }
  EXPECT_EQ(with_certificate("admin").code, 200);
  EXPECT_EQ(with_certificate("admin", {{"Impersonate-User", "ann"}, {"Impersonate-Group", "system:masters"}}).code,
            200);
}

TEST_F(RightsTest, WhatIsNotAllowedIsSaidInUpstreamsWords) {
  const auto refused = rig.call_as("jane", "GET", "/api/v1/namespaces/test/pods");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.json.root().to_json(),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods is forbidden: User )"
            R"(\"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"test\"",)"
            R"("reason":"Forbidden","details":{"kind":"pods"},"code":403})");
  EXPECT_EQ(rig.call_as("jane", "PUT", "/apis/apps/v1/namespaces/test/deployments/x/scale").text("message"),
            R"(deployments.apps "x" is forbidden: User "jane" cannot update resource "deployments/scale" in API group )"
            R"("apps" in the namespace "test")");
  EXPECT_EQ(rig.call_as("jane", "GET", "/api/v1/nodes").text("message"),
            R"(nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope)");
  EXPECT_EQ(rig.call_as("jane", "GET", "/api/v1/namespaces/test").text("message"),
            R"(namespaces "test" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the )"
            R"(namespace "test")");
  EXPECT_EQ(
      rig.call_as("jane", "GET", "/metrics").json.root().to_json(),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"jane\" )"
      R"(cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403})");
  EXPECT_EQ(code_as("jane", "GET", "/apis/none/v1/things"), 403) << "what is not there is nobody's business";
  EXPECT_EQ(code_as("jane", "GET", "/api"), 200) << "discovery is everyone's who is known";
}

TEST_F(RightsTest, RolesGiveWhatTheySay) {
  bind("view", "vera");
  bind("edit", "ed");
  bind("admin", "ada");
  bind("cluster-admin", "clara");
  const std::string body = R"({"metadata":{"name":"NAME"},"data":{}})";
  const auto named = [&](const std::string& name) { return std::string(body).replace(body.find("NAME"), 4, name); };
  EXPECT_EQ(code_as("vera", "GET", kConfigMaps), 200);
  EXPECT_EQ(code_as("vera", "POST", kConfigMaps, named("v")), 403);
  EXPECT_EQ(code_as("vera", "GET", "/api/v1/namespaces/test/secrets"), 403);
  EXPECT_EQ(code_as("ed", "POST", kConfigMaps, named("e")), 201);
  EXPECT_EQ(code_as("ed", "GET", "/api/v1/namespaces/test/secrets"), 200);
  EXPECT_EQ(code_as("ed", "GET", std::string(kRbac) + "namespaces/test/roles"), 403);
  EXPECT_EQ(code_as("ada", "GET", std::string(kRbac) + "namespaces/test/roles"), 200);
  EXPECT_EQ(code_as("ada", "GET", "/api/v1/nodes"), 403);
  EXPECT_EQ(code_as("clara", "GET", "/api/v1/nodes"), 200);
  EXPECT_EQ(code_as("system:serviceaccount:test:default", "GET", kConfigMaps), 403);
}

TEST_F(RightsTest, ListsAndWatchesOfOneNameNeedOnlyIt) {
  ASSERT_EQ(rig.post(std::string(kRbac) + "namespaces/test/roles",
                     R"({"metadata":{"name":"one"},"rules":[{"verbs":["list"],"apiGroups":[""],)"
                     R"("resources":["configmaps"],"resourceNames":["one"]}]})")
                .code,
            201);
  ASSERT_EQ(rig.post(std::string(kRbac) + "namespaces/test/rolebindings",
                     R"({"metadata":{"name":"one"},"roleRef":{"kind":"Role","name":"one"},)"
                     R"("subjects":[{"kind":"User","name":"jane"}]})")
                .code,
            201);
  EXPECT_EQ(code_as("jane", "GET", kConfigMaps + "?fieldSelector=metadata.name%3Done"), 200);
  EXPECT_EQ(code_as("jane", "GET", kConfigMaps + "?fieldSelector=metadata.name%3Dtwo"), 403);
  EXPECT_EQ(code_as("jane", "GET", kConfigMaps), 403);
}

TEST_F(RightsTest, APutThatCreatesNeedsTheRightToCreate) {
  ASSERT_EQ(rig.post(std::string(kRbac) + "clusterroles",
                     R"({"metadata":{"name":"writer"},"rules":[{"verbs":["update","patch","get"],)"
                     R"("apiGroups":["coordination.k8s.io"],"resources":["leases"]}]})")
                .code,
            201);
  bind("writer", "jane");
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/test/leases/x";
  const auto refused = rig.call_as("jane", "PUT", lease, R"({"metadata":{"name":"x"},"spec":{}})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.text("message"),
            R"(leases.coordination.k8s.io "x" is forbidden: User "jane" cannot create resource "leases" in API group )"
            R"("coordination.k8s.io" in the namespace "test")");
  const auto made = rig.put(lease, R"({"metadata":{"name":"x"},"spec":{}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(code_as("jane", "PUT", lease,
                    R"({"metadata":{"name":"x","resourceVersion":")" + made.version() + R"("},"spec":{}})"),
            200);
}

TEST_F(RightsTest, NobodyGivesAwayWhatHeHasNot) {
  bind("admin", "ada");
  const std::string roles = std::string(kRbac) + "namespaces/test/roles";
  const auto refused = rig.call_as("ada", "POST", roles,
                                   R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],)"
                                   R"("resources":["nodes"]}]})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.text("message"),
            "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"ada\" (groups=[\"system:authenticated\"]) is "
            "attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], "
            "Verbs:[\"get\"]}");
  EXPECT_EQ(code_as("ada", "POST", roles,
                    R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})"),
            201);
  EXPECT_EQ(rig.call("PATCH", roles + "/r", R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})",
                     {{"Impersonate-User", "ada"}, {"Content-Type", "application/merge-patch+json"}})
                .code,
            403);
  const std::string bindings = std::string(kRbac) + "namespaces/test/rolebindings";
  EXPECT_EQ(code_as("ada", "POST", bindings, binding("b", "cluster-admin", "ada")), 403);
  EXPECT_EQ(code_as("ada", "POST", bindings, binding("b", "edit", "ed")), 201);
  EXPECT_EQ(code_as("ada", "POST", bindings, binding("c", "none", "ed")), 404);
}

TEST_F(RightsTest, ActingAsSomebodyIsARight) {
  const auto call = [&](net::Headers headers) {
    return rig.call("GET", "/api/v1/namespaces/test/pods", {}, std::move(headers));
  };
  // The tester is of system:masters; john acts as jane through him.
  ASSERT_EQ(rig.post(std::string(kRbac) + "clusterroles",
                     R"({"metadata":{"name":"acting"},"rules":[)"
                     R"({"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],"resourceNames":["jane"]},)"
                     R"({"verbs":["impersonate"],"apiGroups":[""],"resources":["groups"],"resourceNames":["devs"]}]})")
                .code,
            201);
  bind("acting", "john");
  bind("view", "jane");
  // These may see pods as well: what is refused below is to act as them.
  bind("view", "kate");
  bind("view", "system:serviceaccount:test:default");
  EXPECT_EQ(call({{"Impersonate-Group", "devs"}}).text("message"),
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"devs\"}, "
            "Extra:map[string][]string(nil)} without impersonating a user name");
  const auto as_john = [&](net::Headers headers) {
    net::PeerIdentity john;
    john.kind = net::PeerIdentity::Kind::in_process;
    john.common_name = "john";
    john.organizations = {"staff"};
    const auto transport = net::make_in_process_transport(rig.server().handler(), john, &rig.loop());
    net::Request request;
    request.method = "GET";
    request.target = "/api/v1/namespaces/test/pods";
    request.headers = std::move(headers);
    auto response = net::fetch(*transport, std::move(request), std::chrono::seconds(60));
    return response ? response->code : 0;
  };
  EXPECT_EQ(as_john({}), 403);
  EXPECT_EQ(as_john({{"Impersonate-User", "jane"}}), 200);
  EXPECT_EQ(as_john({{"Impersonate-User", "jane"}, {"Impersonate-Group", "devs"}}), 200);
  EXPECT_EQ(as_john({{"Impersonate-User", "jane"}, {"Impersonate-Group", "system:masters"}}), 403);
  EXPECT_EQ(as_john({{"Impersonate-User", "jane"}, {"Impersonate-Uid", "7"}}), 403);
  EXPECT_EQ(as_john({{"Impersonate-User", "jane"}, {"Impersonate-Extra-Scopes", "x"}}), 403);
  EXPECT_EQ(as_john({{"Impersonate-User", "kate"}}), 403);
  EXPECT_EQ(as_john({{"Impersonate-User", "system:serviceaccount:test:default"}}), 403);
}

TEST_F(RightsTest, ReviewsTellTheTruth) {
  bind("view", "vera");
  const auto review = [&](const std::string& resource, const std::string& spec, const std::string& user) {
    return rig.call_as(user, "POST", "/apis/authorization.k8s.io/v1/" + resource, R"({"spec":)" + spec + "}")
        .json["status"]
        .to_json();
  };
  const std::string pods = R"({"resourceAttributes":{"verb":"list","resource":"pods","namespace":"test"}})";
  EXPECT_EQ(review("selfsubjectaccessreviews", pods, "vera"),
            R"({"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"vera-view\" of ClusterRole \"view\" to )"
            R"(User \"vera\""})");
  EXPECT_EQ(review("selfsubjectaccessreviews", pods, "jane"), R"({"allowed":false})");
  const auto asked = rig.post("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                              R"({"spec":{"user":"vera","resourceAttributes":{"verb":"delete","resource":"pods"}}})");
  EXPECT_EQ(asked["status"].to_json(), R"({"allowed":false})");
  EXPECT_EQ(code_as("vera", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", R"({"spec":{}})"), 403);
  const auto rules = rig.call_as("vera", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                                 R"({"spec":{"namespace":"test"}})");
  EXPECT_GT(rules["status"]["resourceRules"].size(), 5u);
  EXPECT_GT(rules["status"]["nonResourceRules"].size(), 1u);
}

TEST_F(RightsTest, ARightThatGoesTakesItsStreamsAlong) {
  bind("view", "vera");
  bind("view", "stays");
  ASSERT_EQ(rig.post("/api/v1/namespaces/test/pods",
                     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .code,
            201);
  auto watch = rig.watch(kConfigMaps + "?watch=1", {{"Impersonate-User", "vera"}});
  auto other = rig.watch(kConfigMaps + "?watch=1", {{"Impersonate-User", "stays"}});
  auto log = rig.watch("/api/v1/namespaces/test/pods/p/log?follow=true", {{"Impersonate-User", "vera"}});
  ASSERT_EQ(watch->code(), 200);
  ASSERT_EQ(log->code(), 200);
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(rig.remove(std::string(kRbac) + "clusterrolebindings/vera-view").code, 200);
  ASSERT_TRUE(watch->ended());
  ASSERT_TRUE(log->ended());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  const auto last = watch->event(watch->count() - 1);
  EXPECT_EQ(last["type"].text(), "ERROR");
  EXPECT_EQ(last["object"]["code"].integer(), 403);
  EXPECT_EQ(
      last["object"]["message"].text(),
      R"(configmaps is forbidden: User "vera" cannot watch resource "configmaps" in API group "" in the namespace )"
      R"("test")");
  ASSERT_EQ(rig.make_config_map("later").code, 201);
  EXPECT_EQ(other->event(0)["type"].text(), "ADDED");
}

// Every route with every method, without credentials: nothing but health and the version, and those only read.
TEST_F(RightsTest, NobodySeesHealthAndVersionAndNothingElse) {
  const std::set<std::string> open = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
  std::set<std::string> paths = {"/healthz/ping", "/livez/ping", "/readyz/ping", "/openapi/v3/api/v1",
                                 "/none",         "//",          "/api/v1/"};
  paths.insert(open.begin(), open.end());
  const auto root = rig.get("/");
  for (const auto path : root["paths"]) paths.insert(path.string());
  ASSERT_GT(paths.size(), 40u);
  for (const auto& facts : rig.server().kinds()->resources()) {
    if (!facts.served) continue;
    const std::string base =
        (facts.group.empty() ? "/api/" : "/apis/" + std::string(facts.group) + "/") + std::string(facts.version) + "/";
    const std::string resource(facts.resource);
    paths.insert(base + resource);
    const std::string one = base + (facts.namespaced ? "namespaces/test/" : "") + resource;
    paths.insert(one);
    paths.insert(one + "/x");
    paths.insert(base + "watch/" + resource);
    for (const auto& sub : facts.subresources) paths.insert(one + "/x/" + std::string(sub.name));
  }
  std::size_t asked = 0, refused = 0;
  for (const auto& path : paths)
    for (const auto* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
      const bool allowed = open.contains(path) && std::string_view(method) == "GET";
      const int code = anonymous(method, path).code;
      ++asked;
      refused += code == 403;
      EXPECT_EQ(code, allowed ? 200 : 403) << method << " " << path;
    }
  std::printf("anonymous sweep: %zu requests, %zu refused\n", asked, refused);
}

}  // namespace
}  // namespace sublet::apiserver
