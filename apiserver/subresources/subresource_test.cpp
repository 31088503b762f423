#include "apiserver/subresources/subresource.h"

#include <gtest/gtest.h>

#include "apiserver/authn/service_account_token.h"
#include "apiserver/authn/test_key_testing.h"
#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

Result<SubresourceAnswer> post(KindBench& bench, std::string_view resource, std::string_view subresource,
                               schema::Value parent, std::string_view body) {
  auto context = bench.context(resource, "default", subresource);
  auto document = parse(body);
  return post_subresource("", resource, subresource)(context, parent, document.root());
}

std::string causes_of(const Status& status) {
  std::string text;
  for (const auto& cause : status.causes) text += cause.field + ": " + cause.message + "\n";
  return text;
}

TEST(Subresources, AreFoundByName) {
  EXPECT_TRUE(post_subresource("", "pods", "binding"));
  EXPECT_FALSE(post_subresource("", "pods", "status"));
  EXPECT_FALSE(post_subresource("apps", "pods", "binding"));
  EXPECT_TRUE(review_for("authentication.k8s.io", "tokenreviews"));
  EXPECT_FALSE(review_for("", "pods"));
}

TEST(Binding, AssignsANode) {
  KindBench bench;
  auto pod = parse(R"({"metadata":{"name":"p","uid":"u"},"spec":{},"status":{"nominatedNodeName":"m"}})");
  auto answer = post(bench, "pods", "binding", pod.root(),
                     R"({"metadata":{"annotations":{"gpu":"1"}},"target":{"kind":"Node","name":"n"}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->store_parent);
  EXPECT_EQ(answer->code, 201);
  EXPECT_EQ(answer->body["status"].text(), "Success");
  EXPECT_EQ(pod["spec"]["nodeName"].text(), "n");
  EXPECT_EQ(pod["metadata"]["annotations"]["gpu"].text(), "1");
  EXPECT_EQ(pod["status"].to_json(),
            R"({"conditions":[{"type":"PodScheduled","lastTransitionTime":"2023-11-14T22:13:20Z","status":"True"}]})");
  auto again = post(bench, "pods", "binding", pod.root(), R"({"target":{"name":"m"}})");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().http_code(), 409);
  EXPECT_EQ(again.error().message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n\"");
}

TEST(Binding, RefusesWhatCannotBe) {
  KindBench bench;
  auto pod = parse(R"({"metadata":{"name":"p","uid":"u"},"spec":{}})");
  auto empty = post(bench, "pods", "binding", pod.root(), R"({"target":{"kind":"Pod"}})");
  ASSERT_FALSE(empty);
  EXPECT_EQ(causes_of(empty.error()),
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"\ntarget.name: Required "
            "value\n");
  EXPECT_EQ(post(bench, "pods", "binding", pod.root(), R"({"metadata":{"uid":"v"},"target":{"name":"n"}})")
                .error()
                .http_code(),
            409);
  auto going = parse(R"({"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}})");
  EXPECT_EQ(post(bench, "pods", "binding", going.root(), R"({"target":{"name":"n"}})").error().http_code(), 409);
  auto gated = parse(R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"g"}]}})");
  EXPECT_EQ(post(bench, "pods", "binding", gated.root(), R"({"target":{"name":"n"}})").error().http_code(), 409);
}

constexpr std::string_view kRunning =
    R"({"metadata":{"name":"p","namespace":"default","labels":{"app":"a"}},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";

void store_budget(KindBench& bench, int allowed, std::string_view name = "b") {
  std::string key = "poddisruptionbudgets.policy/default/" + std::string(name);
  bench.store(
      key,
      R"({"metadata":{"name":")" + std::string(name) +
          R"(","namespace":"default","generation":1,"resourceVersion":""},"spec":{"selector":{"matchLabels":{"app":"a"}}},)" +
          R"("status":{"observedGeneration":1,"disruptionsAllowed":)" + std::to_string(allowed) +
          R"(,"currentHealthy":2,"desiredHealthy":2}})");
}

TEST(Eviction, DeletesThePod) {
  KindBench bench;
  auto pod = parse(kRunning);
  auto answer = post(bench, "pods", "eviction", pod.root(),
                     R"({"metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":5}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->delete_parent);
  EXPECT_EQ(answer->delete_options["gracePeriodSeconds"].integer(), 5);
  EXPECT_EQ(pod["status"]["conditions"].at(1)["type"].text(), "DisruptionTarget");
}

TEST(Eviction, RespectsBudgets) {
  KindBench bench;
  store_budget(bench, 0);
  auto pod = parse(kRunning);
  auto refused = post(bench, "pods", "eviction", pod.root(), R"({"metadata":{"name":"p"}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().http_code(), 429);
  EXPECT_EQ(refused.error().message, "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(refused.error().causes.at(0),
            (Cause{"DisruptionBudget", "The disruption budget b needs 2 healthy pods and has 2 currently", ""}));
  auto pending =
      parse(R"({"metadata":{"name":"p","namespace":"default","labels":{"app":"a"}},"status":{"phase":"Pending"}})");
  EXPECT_TRUE(post(bench, "pods", "eviction", pending.root(), "{}"));
}

TEST(Eviction, SpendsTheBudgetInTheSameTxn) {
  KindBench bench;
  store_budget(bench, 1);
  auto pod = parse(kRunning);
  auto answer = post(bench, "pods", "eviction", pod.root(), "{}");
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(bench.txn.ops.size(), 1u);
  EXPECT_EQ(bench.txn.ops[0].key, "poddisruptionbudgets.policy/default/b");
  auto bytes = bench.txn.ops[0].put->bytes;
  bytes.insert(bench.txn.ops[0].put->hole, "5");
  auto budget = parse(bytes);
  EXPECT_EQ(budget["metadata"]["resourceVersion"].text(), "5");
  EXPECT_EQ(budget["status"]["disruptionsAllowed"].integer(-1), 0);
  EXPECT_TRUE(budget["status"]["disruptedPods"].has("p"));
  EXPECT_EQ(bench.txn.guards.size(), 1u);
  store_budget(bench, 1, "c");
  auto two = post(bench, "pods", "eviction", pod.root(), "{}");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().http_code(), 500);
}

class Token : public testing::Test {
 protected:
  Token() {
    bench.options.service_account_key_pem = test_key_pem();
    bench.store("serviceaccounts/default/sa", R"({"metadata":{"name":"sa","namespace":"default","uid":"sa-uid"}})");
    bench.store("pods/default/p",
                R"({"metadata":{"name":"p","uid":"p-uid"},"spec":{"serviceAccountName":"sa","nodeName":"n"}})");
    bench.store("pods/default/q", R"({"metadata":{"name":"q","uid":"q-uid"},"spec":{"serviceAccountName":"other"}})");
    bench.store("nodes/n", R"({"metadata":{"name":"n","uid":"n-uid"}})");
  }
  Result<SubresourceAnswer> request(std::string_view body) {
    return post(bench, "serviceaccounts", "token", account.root(), body);
  }

  KindBench bench;
  schema::Document account = parse(R"({"metadata":{"name":"sa","namespace":"default","uid":"sa-uid"}})");
};

TEST_F(Token, IsSignedForTheAccount) {
  auto answer = request("{}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(answer->store_parent);
  auto body = answer->body.root();
  EXPECT_EQ(body["kind"].text(), "TokenRequest");
  EXPECT_EQ(
      body["spec"].to_json(),
      R"({"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":3600,"boundObjectRef":null})");
  EXPECT_EQ(body["status"]["expirationTimestamp"].text(), "2023-11-14T23:13:20Z");
  auto claims = verify_token(test_key_pem(), body["status"]["token"].text(), bench.options.service_account_issuer,
                             {bench.options.service_account_issuer}, bench.clock.now());
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->account.name, "sa");
}

TEST_F(Token, BindsToObjects) {
  auto answer = request(
      R"({"spec":{"audiences":["a"],"expirationSeconds":600,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"p-uid"}}})");
  ASSERT_TRUE(answer) << answer.error().message;
  auto claims = verify_token(test_key_pem(), answer->body["status"]["token"].text(),
                             bench.options.service_account_issuer, {"a"}, bench.clock.now());
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->pod.uid, "p-uid");
  EXPECT_EQ(claims->node.uid, "n-uid");
  EXPECT_EQ(request(R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"x"}}})")
                .error()
                .http_code(),
            409);
  EXPECT_EQ(
      request(R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}})").error().http_code(),
      404);
  EXPECT_EQ(request(R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"q"}}})").error().message,
            "cannot bind token for serviceaccount \"sa\" to pod running with different serviceaccount name.");
  EXPECT_EQ(request(R"({"spec":{"boundObjectRef":{"kind":"Job","apiVersion":"v1","name":"q"}}})").error().http_code(),
            400);
}

TEST_F(Token, ChecksTheRequest) {
  auto brief = request(R"({"spec":{"expirationSeconds":599}})");
  ASSERT_FALSE(brief);
  EXPECT_EQ(causes_of(brief.error()),
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes\n");
  EXPECT_EQ(request(R"({"metadata":{"name":"other"}})").error().http_code(), 422);
  EXPECT_EQ(request(R"({"metadata":{"uid":"other"}})").error().http_code(), 409);
}

schema::Document review(KindBench& bench, std::string_view group, std::string_view resource, std::string_view json,
                        Outcome* outcome = nullptr) {
  auto context = bench.context(resource);
  auto document = parse(json);
  auto result = review_for(group, resource)(context, document.root());
  if (outcome) *outcome = result;
  return document;
}

TEST(Reviews, SayWhoAsks) {
  KindBench bench;
  bench.user.extra = {{"k", {"v"}}};
  auto answer = review(bench, "authentication.k8s.io", "selfsubjectreviews", "{}");
  EXPECT_EQ(answer["status"]["userInfo"].to_json(),
            R"({"username":"jane","groups":["system:authenticated"],"extra":{"k":["v"]}})");
}

TEST(Reviews, AreCheckedBeforeTheyAreAnswered) {
  KindBench bench;
  Outcome outcome;
  constexpr std::string_view kGroup = "authorization.k8s.io";
  review(bench, kGroup, "selfsubjectaccessreviews", R"({"spec":{}})", &outcome);
  EXPECT_EQ(outcome.error().http_code(), 422);
  review(bench, kGroup, "localsubjectaccessreviews",
         R"({"spec":{"user":"bob","resourceAttributes":{"namespace":"other"}}})", &outcome);
  EXPECT_EQ(outcome.error().http_code(), 422);
}

TEST(Reviews, CheckTokens) {
  KindBench bench;
  bench.options.static_tokens = {{"t", {.name = "robot", .uid = "", .groups = {}, .extra = {}}}};
  auto good = review(bench, "authentication.k8s.io", "tokenreviews", R"({"spec":{"token":"t"}})");
  EXPECT_TRUE(good["status"]["authenticated"].boolean());
  EXPECT_EQ(good["status"]["user"]["username"].text(), "robot");
  auto bad = review(bench, "authentication.k8s.io", "tokenreviews", R"({"spec":{"token":"x"}})");
  EXPECT_FALSE(bad["status"]["authenticated"].boolean());
  EXPECT_EQ(bad["status"]["error"].text(), "invalid bearer token");
  Outcome outcome;
  review(bench, "authentication.k8s.io", "tokenreviews", R"({"spec":{}})", &outcome);
  EXPECT_EQ(outcome.error().http_code(), 400);
}

}  // namespace
}  // namespace sublet::apiserver
