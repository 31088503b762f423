// Writes and deletes, through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "apiserver/server_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/tls_context.h"
#include "tests/support/objects.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing_support::pod;

// A Pod bound to a node, so that deletes are graceful.
std::string running_pod_json(const std::string& name) { return pod(name).node("n1").without_token(); }

TEST(Create, FillsWhatTheServerOwns) {
  Rig rig;
  const auto made =
      rig.post(kConfigMaps,
               R"({"metadata":{"name":"a","uid":"mine","creationTimestamp":"2001-01-01T00:00:00Z","generation":9}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_NE(made.text("metadata.uid"), "mine");
  EXPECT_THAT(made.text("metadata.uid"), MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_THAT(made.text("metadata.creationTimestamp"), testing::StartsWith("20"));
  EXPECT_NE(made.text("metadata.creationTimestamp"), "2001-01-01T00:00:00Z");
  EXPECT_EQ(made.text("metadata.namespace"), "test");
  EXPECT_EQ(made["metadata"]["generation"].integer(), 9);  // the kind counts none: it is the writer's
}

TEST(Create, RefusesWhatDoesNotFit) {  // 17, 43
  Rig rig;
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"a","namespace":"other"}})").text("message"),
            "the namespace of the provided object does not match the namespace sent on the request");
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"a","resourceVersion":"abc"}})").code, 400);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"a"}})").code, 400);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})").code, 400);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":)").code, 400);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{}})").code, 422);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"No_Good"}})").code, 422);
  EXPECT_EQ(rig.post("/api/v1/configmaps", R"({"metadata":{"name":"a"}})").code, 405);
  EXPECT_EQ(rig.post("/api/v1/namespaces/none/configmaps", R"({"metadata":{"name":"a"}})").code, 404);
  const auto made = rig.post(kConfigMaps + "?fieldValidation=Ignore", R"({"metadata":{"name":"z"},"Data":{"a":"b"}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_FALSE(made.json.root().has("data"));
}

TEST(Create, AVersionIsRefusedLast) {
  Rig rig;
  const std::string versioned = R"({"metadata":{"name":"a","resourceVersion":"5"}})";
  const auto refused = rig.post(kConfigMaps, versioned);
  EXPECT_EQ(refused.code, 500);
  EXPECT_EQ(refused.text("message"), "resourceVersion should not be set on objects to be created");
  EXPECT_FALSE(refused.json.root().has("reason"));
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"B","resourceVersion":"5"}})").code, 422);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"a","resourceVersion":"0"}})").code, 201);
  EXPECT_EQ(rig.post(kConfigMaps, versioned).code, 500);
}

TEST(Create, ExistsAlready) {
  Rig rig;
  rig.make_config_map("a");
  const auto again = rig.make_config_map("a");
  EXPECT_EQ(again.code, 409);
  EXPECT_EQ(again.text("reason"), "AlreadyExists");
  EXPECT_EQ(again.text("message"), "configmaps \"a\" already exists");
}

TEST(Create, FieldValidationModes) {  // 41, 42
  Rig rig;
  const std::string typo = R"({"metadata":{"name":"a"},"dta":{"a":"b"}})";
  const auto strict = rig.post(kConfigMaps + "?fieldValidation=Strict", typo);
  EXPECT_EQ(strict.code, 400);
  EXPECT_THAT(strict.text("message"), HasSubstr("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict "
                                                "decoding error: unknown field \"dta\""));
  const auto nope = rig.post(kConfigMaps + "?fieldValidation=Nope", typo);
  EXPECT_EQ(nope.code, 422);
  EXPECT_THAT(nope.text("message"), HasSubstr("\"Nope\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""));
  EXPECT_THAT(rig.post(kConfigMaps + "?dryRun=Some", typo).text("message"),
              HasSubstr("Unsupported value: [\"Some\"]: supported values: \"All\""));
  const auto twice =
      rig.post(kConfigMaps + "?fieldValidation=Strict", R"({"metadata":{"name":"a"},"data":{},"data":{"a":"b"}})");
  EXPECT_EQ(twice.code, 400);
  EXPECT_THAT(twice.text("message"), HasSubstr("duplicate field \"data\""));
  const auto warned = rig.post(kConfigMaps, typo);
  EXPECT_EQ(warned.code, 201);
  EXPECT_EQ(warned.headers.get("Warning"), "299 - \"unknown field \\\"dta\\\"\"");
}

TEST(Create, GenerateNameInParallel) {  // 39
  Rig rig;
  Mutex mutex;
  std::set<std::string> names;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto made = rig.post(kConfigMaps, R"({"metadata":{"generateName":"base"}})");
        EXPECT_EQ(made.code, 201);
        const MutexLock lock(mutex);
        names.insert(made.text("metadata.name"));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(names.size(), 200u);
  EXPECT_THAT(*names.begin(), MatchesRegex("base[bcdfghjklmnpqrstvwxz2456789]{5}"));
}

TEST(Create, DryRunWritesNothing) {  // 40
  Rig rig;
  const auto before = rig.store().snapshot().revision();
  const auto made = rig.post(kConfigMaps + "?dryRun=All", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_FALSE(made.text("metadata.uid").empty());
  EXPECT_FALSE(made["metadata"].has("resourceVersion")) << made.body;
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
  EXPECT_EQ(rig.store().snapshot().revision(), before);
  EXPECT_EQ(rig.post(kConfigMaps + "?dryRun=Some", R"({"metadata":{"name":"a"}})").code, 422);
}

TEST(Update, ConflictsAndPreconditions) {  // 35, 36
  Rig rig;
  const auto made = rig.make_config_map("a");
  const auto body = [&](const std::string& meta) {
    return R"({"metadata":{"name":"a")" + meta + R"(},"data":{"n":"1"}})";
  };
  EXPECT_EQ(rig.put(kConfigMaps + "/a", body("")).code, 200);
  const auto stale = rig.put(kConfigMaps + "/a", body(R"(,"resourceVersion":")" + made.version() + "\""));
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(stale.text("reason"), "Conflict");
  EXPECT_EQ(
      stale.text("message"),
      "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes "
      "to the latest version and try again");
  const auto other = rig.put(kConfigMaps + "/a", body(R"(,"uid":"x")"));
  EXPECT_EQ(other.code, 409);
  EXPECT_THAT(other.text("message"), HasSubstr("Precondition failed: UID in precondition: x, UID in object meta: "));
  EXPECT_EQ(rig.put(kConfigMaps + "/b", body("")).code, 400);
  EXPECT_EQ(rig.put(kConfigMaps + "/none", R"({"metadata":{"name":"none"}})").code, 404);
}

TEST(Update, NothingChangedWritesNothing) {  // 34
  Rig rig;
  const auto made = rig.make_config_map("a");
  const auto again = rig.put(kConfigMaps + "/a", R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.version(), made.version());
  const auto patched = rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"k":"v"}})");
  EXPECT_EQ(patched.version(), made.version());
}

TEST(Update, TheMainEndpointKeepsStatus) {
  Rig rig;
  const std::string base = "/apis/policy/v1/namespaces/test/poddisruptionbudgets";
  const auto made = rig.post(base, R"({"metadata":{"name":"d"},"spec":{"minAvailable":1}})");
  ASSERT_EQ(made.code, 201);
  const auto put = rig.put(base + "/d", R"({"metadata":{"name":"d","resourceVersion":")" + made.version() +
                                            R"("},"spec":{"minAvailable":2},"status":{"currentHealthy":7,)" +
                                            R"("desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}})");
  EXPECT_EQ(put.code, 200) << put.body;
  EXPECT_EQ(put["spec"]["minAvailable"].integer(), 2);
  EXPECT_EQ(put["status"]["currentHealthy"].integer(), 0);
}

TEST(NoEffect, WhatNothingActsOnIsTold) {
  Rig rig;
  const std::string policy = "/apis/admissionregistration.k8s.io/v1/";
  struct Case {
    std::string path, body, warning;
  };
  const Case cases[] = {
      {"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
       R"({"metadata":{"name":"n"},"spec":{"podSelector":{}}})",
       "NetworkPolicy is stored, but nothing enforces it here: traffic of the pods is not restricted by it"},
      {policy + "validatingwebhookconfigurations", R"({"metadata":{"name":"w"}})", ""},
      {"/apis/rbac.authorization.k8s.io/v1/clusterroles", R"({"metadata":{"name":"r"},"rules":[]})", ""},
      {"/api/v1/namespaces", R"({"metadata":{"name":"x","labels":{"pod-security.kubernetes.io/enforce":"baseline"}}})",
       ""},
      {"/api/v1/namespaces", R"({"metadata":{"name":"y","labels":{"a":"b"}}})", ""},
      {"/api/v1/namespaces/default/services",
       R"({"metadata":{"name":"l"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})",
       "Service is stored, but no load balancer is made for it yet"},
      {"/apis/batch/v1/namespaces/default/jobs",
       R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":
       "Never","containers":[{"name":"c","image":"i"}]}}}})",
       ""},
      {"/apis/policy/v1/namespaces/default/poddisruptionbudgets",
       R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}})", ""},
  };
  for (const auto& test : cases) {
    const auto made = rig.post(test.path, test.body);
    ASSERT_EQ(made.code, 201) << made.body;
    EXPECT_EQ(made.headers.get("Warning"), test.warning.empty() ? "" : "299 - \"" + test.warning + "\"") << test.path;
    const auto again = rig.post(test.path, test.body);
    EXPECT_EQ(again.code, 409);
    EXPECT_EQ(again.headers.get("Warning"), "") << "nothing was stored";
  }
}

TEST(NoEffect, TheChangeThatMakesItSoIsTold) {
  Rig rig;
  const std::string services = "/api/v1/namespaces/default/services";
  const auto made = rig.post(services, R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.headers.get("Warning"), "");
  const auto changed = rig.patch(services + "/s", "merge-patch", R"({"spec":{"type":"LoadBalancer"}})");
  EXPECT_EQ(changed.code, 200) << changed.body;
  EXPECT_EQ(changed.headers.get("Warning"), "299 - \"Service is stored, but no load balancer is made for it yet\"");
  const auto labelled = rig.patch(services + "/s", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labelled.code, 200);
  EXPECT_EQ(labelled.headers.get("Warning"), "") << "it was said already";
}

TEST(Update, StatusAndSpecAreSeparate) {  // 37, 38
  Rig rig;
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const std::string spec =
      R"("spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})";
  const auto made = rig.post(deployments, R"({"metadata":{"name":"d"},)" + spec + R"(,"status":{"replicas":7}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.headers.get("Warning"), "");
  EXPECT_EQ(made["status"]["replicas"].integer(), 0);
  EXPECT_EQ(made["metadata"]["generation"].integer(), 1);
  const auto status =
      rig.patch(deployments + "/d/status", "merge-patch", R"({"spec":{"replicas":5},"status":{"replicas":3}})");
  EXPECT_EQ(status.code, 200) << status.body;
  EXPECT_EQ(status["status"]["replicas"].integer(), 3);
  EXPECT_EQ(status["spec"]["replicas"].integer(), 1);
  EXPECT_EQ(status["metadata"]["generation"].integer(), 1);
  const auto scaled =
      rig.patch(deployments + "/d", "merge-patch", R"({"spec":{"replicas":5},"status":{"replicas":9}})");
  EXPECT_EQ(scaled["status"]["replicas"].integer(), 3);
  EXPECT_EQ(scaled["metadata"]["generation"].integer(), 2);
  const auto labelled = rig.patch(deployments + "/d", "merge-patch", R"({"metadata":{"labels":{"x":"y"}}})");
  EXPECT_EQ(labelled["metadata"]["generation"].integer(), 2);
}

TEST(Patch, TypesAndErrors) {  // 44, 45
  Rig rig;
  rig.make_config_map("a");
  const std::string path = kConfigMaps + "/a";
  EXPECT_EQ(rig.patch(path, "json-patch", R"([{"op":"add","path":"/data/x","value":"1"}])").text("data.x"), "1");
  EXPECT_EQ(rig.patch(path, "json-patch", R"([{"op":"test","path":"/data/x","value":"2"}])").code, 422);
  EXPECT_EQ(rig.patch(path, "json-patch", R"({"op":"test"})").code, 400);
  EXPECT_FALSE(rig.patch(path, "merge-patch", R"({"data":{"x":null}})")["data"].has("x"));
  EXPECT_EQ(rig.patch(path, "strategic-merge-patch", R"({"data":{"y":"2"}})").text("data.y"), "2");
  EXPECT_EQ(rig.patch(path, "apply-patch", "{}").code, 415);
  EXPECT_EQ(rig.patch(path, "merge-patch", R"({"metadata":{"resourceVersion":"1"}})").code, 409);
  EXPECT_EQ(rig.patch(path, "merge-patch", R"({"metadata":{"name":"b"}})").code, 400);
  EXPECT_EQ(rig.patch(kConfigMaps + "/none", "merge-patch", "{}").code, 404);
  const auto strict = rig.patch(path + "?fieldValidation=Strict", "merge-patch", R"({"nope":1})");
  EXPECT_EQ(strict.code, 422);
  EXPECT_EQ(strict["details"]["causes"].at(0)["field"].text(), "patch");
  std::string many = "[";
  for (int i = 0; i < 10'001; ++i) many += std::string(i ? "," : "") + R"({"op":"test","path":"/data/k","value":"v"})";
  EXPECT_EQ(rig.patch(path, "json-patch", many + "]").code, 413);
}

TEST(Patch, ConcurrentPatchesAllCount) {
  Rig rig;
  rig.make_config_map("a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&rig, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string key = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_EQ(rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{")" + key + R"(":"1"}})").code, 200);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(rig.get(kConfigMaps + "/a")["data"].size(), 101u);
}

TEST(Limits, LargeBodies) {  // 53
  Rig rig;
  EXPECT_EQ(rig.make_config_map("a", std::string(4 << 20, 'x')).code, 413);
}

TEST(Delete, AnswersWithStatus) {
  Rig rig;
  const auto made = rig.make_config_map("a");
  const auto gone = rig.remove(kConfigMaps + "/a", R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(gone.code, 200);
  EXPECT_EQ(gone.text("status"), "Success");
  EXPECT_EQ(gone.text("details.name"), "a");
  EXPECT_EQ(gone.text("details.kind"), "configmaps");
  EXPECT_EQ(gone.text("details.uid"), made.text("metadata.uid"));
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a").code, 404);
  const auto again = rig.make_config_map("a");  // 62
  EXPECT_NE(again.text("metadata.uid"), made.text("metadata.uid"));
}

TEST(Delete, FinalizersHold) {  // 54
  Rig rig;
  rig.post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/f"]}})");
  const auto marked = rig.remove(kConfigMaps + "/a");
  EXPECT_EQ(marked.code, 200);
  EXPECT_FALSE(marked.text("metadata.deletionTimestamp").empty());
  EXPECT_EQ(marked["metadata"]["deletionGracePeriodSeconds"].integer(-1), 0);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a").version(), marked.version());  // later deletes change nothing
  EXPECT_EQ(rig.make_config_map("a").text("message"), "object is being deleted: configmaps \"a\" already exists");
  EXPECT_EQ(
      rig.patch(kConfigMaps + "/a", "merge-patch", R"({"metadata":{"finalizers":["example.com/f","example.com/g"]}})")
          .code,
      422);
  auto watching = rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + marked.version());
  const auto last = rig.patch(kConfigMaps + "/a", "merge-patch", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(last.code, 200);
  EXPECT_EQ(last.text("metadata.name"), "a");
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
  const auto event = watching->event(0);
  EXPECT_EQ(event["type"].text(), "DELETED");
  EXPECT_FALSE(event["object"]["metadata"].has("finalizers"));
  EXPECT_EQ(event["object"]["metadata"]["resourceVersion"].text(), last.version());
}

TEST(Delete, GraceRunsAndShortens) {  // 55
  Rig rig;
  const auto made = rig.post(kDefaultPods, running_pod_json("p"));
  ASSERT_EQ(made.code, 201) << made.body;
  const auto first = rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":30})");
  EXPECT_EQ(first.code, 200);
  EXPECT_EQ(first["metadata"]["deletionGracePeriodSeconds"].integer(), 30);
  const auto deadline = parse_time(first.text("metadata.deletionTimestamp"));
  ASSERT_TRUE(deadline);
  EXPECT_GE(*deadline, parse_time(made.text("metadata.creationTimestamp")).value() + std::chrono::seconds(30));
  EXPECT_EQ(rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":60})").text("metadata.deletionTimestamp"),
            first.text("metadata.deletionTimestamp"));
  EXPECT_EQ(rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":5})")["metadata"]["deletionGracePeriodSeconds"]
                .integer(),
            5);
  EXPECT_EQ(rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":0})").code, 200);
  EXPECT_EQ(rig.get(kDefaultPods + "/p").code, 404);
}

TEST(Delete, Preconditions) {  // 56
  Rig rig;
  const auto made = rig.make_config_map("a");
  const auto other = rig.remove(kConfigMaps + "/a", R"({"preconditions":{"uid":"x"}})");
  EXPECT_EQ(other.code, 409);
  EXPECT_EQ(other.text("details.kind"), "ConfigMap");
  EXPECT_THAT(other.text("message"), HasSubstr("the UID in the precondition (x) does not match the UID in record ("));
  EXPECT_EQ(rig.remove(kConfigMaps + "/a", R"({"preconditions":{"resourceVersion":"1"}})").code, 409);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a?dryRun=All").code, 200);
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 200);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a", R"({"propagationPolicy":"Nope"})").code, 422);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a", R"({"propagationPolicy":"Orphan","orphanDependents":true})").code, 422);
  EXPECT_EQ(rig.remove(kConfigMaps + "/a", R"({"preconditions":{"uid":")" + made.text("metadata.uid") + "\"}}").code,
            200);
}

TEST(Delete, PropagationBecomesFinalizers) {  // 58
  Rig rig;
  rig.make_config_map("a");
  const auto foreground = rig.remove(kConfigMaps + "/a", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(foreground["metadata"]["finalizers"].at(0).text(), "foregroundDeletion");
  EXPECT_EQ(foreground.headers.get("Warning"), "");
  rig.make_config_map("b");
  EXPECT_EQ(rig.remove(kConfigMaps + "/b?propagationPolicy=Orphan")["metadata"]["finalizers"].at(0).text(), "orphan");
}

TEST(Delete, JobsAndReplicationControllersLeaveTheirPodsBehindWhenNothingIsSaid) {
  Rig rig;
  const std::string pods =
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"POLICY","containers":[{"name":"c","image":"i"}]}})";
  const auto with = [&](std::string_view policy, std::string_view name = "x") {
    auto text = R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{)" + pods + "}}";
    return text.replace(text.find("POLICY"), 6, policy);
  };
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs",
                    controllers = "/api/v1/namespaces/default/replicationcontrollers";
  ASSERT_EQ(rig.post(jobs, with("Never")).code, 201);
  ASSERT_EQ(rig.post(controllers, with("Always")).code, 201);
  const auto job = rig.remove(jobs + "/x"), controller = rig.remove(controllers + "/x");
  EXPECT_EQ(job["metadata"]["finalizers"].at(0).text(), "orphan") << job.body;
  EXPECT_THAT(std::string(job.headers.get("Warning")), HasSubstr("child pods are preserved by default"));
  EXPECT_EQ(controller["metadata"]["finalizers"].at(0).text(), "orphan") << controller.body;
  ASSERT_EQ(rig.post(jobs, with("Never", "y")).code, 201);
  const auto background = rig.remove(jobs + "/y", R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(background.headers.get("Warning"), "");
  EXPECT_EQ(rig.get(jobs + "/y").code, 404);
}

TEST(DeleteCollection, HonoursSelectors) {  // 60
  Rig rig;
  rig.make_config_map("a", "v", R"({"app":"x"})");
  rig.make_config_map("b", "v", R"({"app":"x"})");
  rig.make_config_map("c");
  EXPECT_EQ(rig.remove(kConfigMaps + "?labelSelector=app%3Dx&dryRun=All")["items"].size(), 2u);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), 3u);
  const auto gone = rig.remove(kConfigMaps + "?labelSelector=app%3Dx");
  EXPECT_EQ(gone.code, 200);
  EXPECT_EQ(gone["items"].size(), 2u);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), 1u);
  EXPECT_EQ(rig.remove("/api/v1/configmaps").code, 405);
}

TEST(DeleteCollection, IsOfWhatAListWithTheSameOptionsWouldShow) {
  Rig rig;
  for (const auto* name : {"a", "b", "c"}) rig.make_config_map(name);
  for (const auto* query :
       {"?limit=x", "?limit=", "?timeoutSeconds=x", "?resourceVersion=x", "?continue=x", "?gracePeriodSeconds=x"})
    EXPECT_EQ(rig.remove(kConfigMaps + query).code, 400) << query;
  EXPECT_EQ(rig.remove(kConfigMaps + "?limit=x").text("message"), "strconv.ParseInt: parsing \"x\": invalid syntax");
  for (const auto* query : {"?sendInitialEvents=true", "?resourceVersionMatch=Exact",
                            "?resourceVersionMatch=Other&resourceVersion=1", "?dryRun=All&dryRun=Some"})
    EXPECT_EQ(rig.remove(kConfigMaps + query).code, 422) << query;
  for (const auto* precondition : {"uid", "resourceVersion"})
    EXPECT_EQ(rig.remove(kConfigMaps, R"({"preconditions":{")" + std::string(precondition) + R"(":""}})").code, 409);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), 3u);
  const auto page = rig.remove(kConfigMaps + "?limit=2");
  EXPECT_EQ(page["items"].size(), 2u);
  EXPECT_EQ(page["metadata"]["remainingItemCount"].integer(), 1);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].at(0)["metadata"]["name"].text(), "c");
  EXPECT_EQ(rig.remove(kConfigMaps + "?continue=" + page.text("metadata.continue"))["items"].size(), 1u);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), 0u);
}

TEST(Delete, WhatIsHeldTakesAnotherPropagationWhileItGoes) {
  Rig rig;
  rig.post(kDefaultPods, R"({"metadata":{"name":"p","finalizers":["example.com/f"]},
    "spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(
      rig.remove(kDefaultPods + "/p?propagationPolicy=Orphan&gracePeriodSeconds=0")["metadata"]["finalizers"].size(),
      2u);
  EXPECT_EQ(rig.remove(kDefaultPods + "/p?propagationPolicy=Background")["metadata"]["finalizers"].size(), 1u);
}

TEST(Delete, EventsOwnNothing) {
  Rig rig;
  const std::string events = "/api/v1/namespaces/default/events";
  const auto made = rig.post(events, R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(rig.remove(events + "/e?propagationPolicy=Foreground").text("status"), "Success");
  EXPECT_EQ(rig.get(events + "/e").code, 404);
}

TEST(Update, GenerateNameIsTheSenders) {
  Rig rig;
  rig.post(kConfigMaps, R"({"metadata":{"name":"a","generateName":"a-"}})");
  EXPECT_FALSE(rig.put(kConfigMaps + "/a", R"({"metadata":{"name":"a"}})")["metadata"].has("generateName"));
}

// The schema asks for its namespace, which of a volume upstream does not.
TEST(Create, AVolumeOfAzureFilesNeedsNoNamespaceOfItsSecret) {
  Rig rig;
  const auto made = rig.post(
      "/api/v1/persistentvolumes",
      R"({"metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"azureFile":{"secretName":"s","shareName":"t"}}})");
  EXPECT_EQ(made.code, 201) << made.body;
}

TEST(Patch, TheKindIsNoFieldToChange) {
  Rig rig;
  rig.make_config_map("a");
  for (const auto* patch : {R"({"kind":"Other"})", R"({"apiVersion":"v9"})", R"({"metadata":{"uid":"other"}})"})
    EXPECT_EQ(rig.patch(kConfigMaps + "/a", "merge-patch", patch).code, 422) << patch;
  EXPECT_EQ(rig.patch(kConfigMaps + "/a", "merge-patch", R"({"kind":null})").code, 200);
  EXPECT_EQ(rig.patch(kConfigMaps + "/a", "strategic-merge-patch", R"({"kind":"Other"})").code, 200);
}

TEST(Subresources, OfAPodNameItAgain) {
  Rig rig;
  ASSERT_EQ(rig.post(kDefaultPods, running_pod_json("p")).code, 201);
  for (const auto* body : {R"({"target":{"name":"n"}})", R"({"metadata":{"name":"q"},"target":{"name":"n"}})"})
    EXPECT_EQ(rig.post(kDefaultPods + "/p/binding", body).text("message"),
              "name in URL does not match name in Binding object");
  for (const auto* pod : {"/p", "/nobody"})
    EXPECT_EQ(rig.post(kDefaultPods + pod + "/eviction", "{}").text("message"),
              "name in URL does not match name in Eviction object");
  EXPECT_EQ(rig.get(kDefaultPods + "/p").code, 200);
}

std::string condition_of(const schema::Document& pod, std::string_view type) {
  for (const schema::Value condition : pod["status"]["conditions"])
    if (condition["type"].text() == type) return condition["reason"].string() + "=" + condition["status"].string();
  return "";
}

TEST(Subresources, AnEvictionStoresWhatItSaysOfThePod) {
  Rig rig;
  ASSERT_EQ(rig.post(kDefaultPods, pod("held").node("n1").finalizer("example.com/held")).code, 201);
  ASSERT_EQ(rig.post(kDefaultPods, running_pod_json("gone")).code, 201);
  const auto watch = rig.watch(
      kDefaultPods + "?watch=1&fieldSelector=metadata.name=gone&resourceVersion=" + rig.get(kDefaultPods).version());
  for (const std::string name : {"held", "gone"})
    EXPECT_EQ(rig.post(kDefaultPods + "/" + name + "/eviction",
                       R"({"metadata":{"name":")" + name + R"("},"deleteOptions":{"gracePeriodSeconds":0}})")
                  .code,
              201);
  const auto held = rig.get(kDefaultPods + "/held");
  EXPECT_TRUE(held["metadata"].has("deletionTimestamp"));
  EXPECT_EQ(condition_of(held.json, "DisruptionTarget"), "EvictionByEvictionAPI=True");
  const auto last = watch->event(0);
  EXPECT_EQ(last["type"].text(), "DELETED");
  EXPECT_EQ(condition_of(schema::Document::copy_of(last["object"]), "DisruptionTarget"), "EvictionByEvictionAPI=True");
  // A pod that is being deleted already keeps its grace period and gets the condition.
  ASSERT_EQ(rig.post(kDefaultPods, running_pod_json("going")).code, 201);
  ASSERT_EQ(rig.remove(kDefaultPods + "/going", R"({"gracePeriodSeconds":60})").code, 200);
  ASSERT_EQ(rig.post(kDefaultPods + "/going/eviction", R"({"metadata":{"name":"going"}})").code, 201);
  EXPECT_EQ(condition_of(rig.get(kDefaultPods + "/going").json, "DisruptionTarget"), "EvictionByEvictionAPI=True");
  // Nothing of it is stored in a dry run.
  ASSERT_EQ(rig.post(kDefaultPods, running_pod_json("dry")).code, 201);
  ASSERT_EQ(rig.post(kDefaultPods + "/dry/eviction?dryRun=All", R"({"metadata":{"name":"dry"}})").code, 201);
  EXPECT_EQ(condition_of(rig.get(kDefaultPods + "/dry").json, "DisruptionTarget"), "");
}

TEST(Subresources, ABindingStoresItsNodeAndMetadata) {
  Rig rig;
  ASSERT_EQ(rig.post("/api/v1/nodes", R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z1",
      "topology.kubernetes.io/region":"r1","other":"x"}}})")
                .code,
            201);
  ASSERT_EQ(rig.post(kDefaultPods, pod("p")).code, 201);
  ASSERT_EQ(rig.post(kDefaultPods + "/p/binding",
                     R"({"metadata":{"name":"p","annotations":{"gpu":"1"}},"target":{"kind":"Node","name":"n"}})")
                .code,
            201);
  const auto bound = rig.get(kDefaultPods + "/p");
  EXPECT_EQ(bound.text("spec.nodeName"), "n");
  EXPECT_EQ(bound["metadata"]["annotations"]["gpu"].text(), "1");
  EXPECT_EQ(bound["metadata"]["labels"].to_json(),
            R"({"topology.kubernetes.io/region":"r1","topology.kubernetes.io/zone":"z1"})");
}

TEST(Create, AJobKeepsTheLabelsThatItWasSentWith) {
  Rig rig;
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  const auto job = [](const std::string& name, const std::string& labels) {
    return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name + R"(")" + labels +
           R"(},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never",
           "containers":[{"name":"c","image":"i"}]}}}})";
  };
  const auto sent = rig.post(jobs, job("sent", R"(,"labels":{"a":"b"})"));
  ASSERT_EQ(sent.code, 201) << sent.body;
  EXPECT_EQ(sent["metadata"]["labels"].to_json(), R"({"a":"b"})");
  EXPECT_EQ(sent["spec"]["template"]["metadata"]["labels"].size(), 5u);
  const auto applied = rig.call("PATCH", jobs + "/applied?fieldManager=me", job("applied", R"(,"labels":{"a":"b"})"),
                                {{"Content-Type", "application/apply-patch+yaml"}});
  EXPECT_EQ(applied["metadata"]["labels"].to_json(), R"({"a":"b"})") << applied.body;
  EXPECT_EQ(rig.post(jobs, job("bare", ""))["metadata"]["labels"].size(), 5u);
}

TEST(Namespaces, AFinalizeIsAnUpdateOfMetadataToo) {
  Rig rig;
  rig.post("/api/v1/namespaces", R"({"metadata":{"name":"n","labels":{"a":"b"}}})");
  const auto last = rig.put("/api/v1/namespaces/n/finalize",
                            R"({"metadata":{"name":"n","labels":{"c":"d"}},"status":{"phase":"x"}})");
  EXPECT_EQ(last["metadata"]["labels"].to_json(), R"({"c":"d","kubernetes.io/metadata.name":"n"})") << last.body;
  EXPECT_EQ(last.text("status.phase"), "Active");
}

TEST(Namespaces, StayUntilFinalized) {  // 61
  Rig rig;
  rig.post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  const auto marked = rig.remove("/api/v1/namespaces/n");
  EXPECT_EQ(marked.code, 200);
  EXPECT_EQ(marked.text("status.phase"), "Terminating") << marked.body;
  EXPECT_FALSE(marked["metadata"].has("deletionGracePeriodSeconds"));
  EXPECT_EQ(rig.remove("/api/v1/namespaces/n").text("metadata.resourceVersion"),
            marked.text("metadata.resourceVersion"));
  const auto refused = rig.post("/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused["details"]["causes"].at(0)["reason"].text(), "NamespaceTerminating");
  const auto last = rig.put("/api/v1/namespaces/n/finalize", R"({"metadata":{"name":"n"},"spec":{"finalizers":[]}})");
  EXPECT_EQ(last.code, 200) << last.body;
  EXPECT_EQ(rig.get("/api/v1/namespaces/n").code, 404);
  EXPECT_EQ(rig.remove("/api/v1/namespaces/default").code, 403);
}

TEST(Events, AreOneObjectInTwoVersions) {
  Rig rig;
  const auto made =
      rig.post("/api/v1/namespaces/default/events",
               R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)"
               R"("reason":"Started","message":"it runs","type":"Normal"})");
  ASSERT_EQ(made.code, 201) << made.body;
  const auto other = rig.get("/apis/events.k8s.io/v1/namespaces/default/events/e");
  EXPECT_EQ(other.code, 200) << other.body;
  EXPECT_EQ(other.text("apiVersion"), "events.k8s.io/v1");
  EXPECT_EQ(other.text("note"), "it runs");
  EXPECT_EQ(other.text("regarding.name"), "p");
  EXPECT_EQ(other.version(), made.version());
  EXPECT_EQ(rig.get("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp")["items"].size(), 1u);
  EXPECT_EQ(rig.get("/api/v1/events?fieldSelector=involvedObject.name%3Dq")["items"].size(), 0u);
}

// The conformed body holds an absent reference as null, as Go writes it: kubectl create token sends it so in protobuf.
TEST(TokenRequest, AbsentReferenceIsNull) {
  ServerOptions options;
  options.service_account_key_pem = *net::make_key();
  Rig rig({}, options);
  const auto made = rig.post("/api/v1/namespaces/default/serviceaccounts/default/token",
                             R"({"spec":{"audiences":null,"boundObjectRef":null}})");
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_THAT(made.text("status.token"), testing::StartsWith("ey"));
}

TEST(System, NamespacesAndServiceExist) {
  Rig rig;
  for (const auto* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    EXPECT_EQ(rig.get("/api/v1/namespaces/" + std::string(name)).code, 200);
  EXPECT_EQ(rig.get("/api/v1/namespaces/default/services/kubernetes").text("spec.clusterIP"), "10.96.0.1");
  EXPECT_EQ(
      rig.get("/api/v1/namespaces/default/endpoints/kubernetes")["subsets"].at(0)["ports"].at(0)["port"].integer(),
      6443);
}

}  // namespace
}  // namespace sublet::apiserver
