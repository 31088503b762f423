// Admission webhooks over real HTTPS: order, reinvocation, selectors, failure, what is sent and what is made of
// answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "apiserver/admission/hooks_testing.h"
#include "apiserver/admission/webhook_review.h"
#include "apiserver/server_testing.h"
#include "sublet/kube/pod_proxy.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
using testing::HasSubstr;

const std::string kWebhooks = "/apis/admissionregistration.k8s.io/v1/";

std::string allow(const Value&) { return R"("allowed":true)"; }

class Webhooks : public testing::Test {
 protected:
  Webhooks() : rig_({}, HookServer::options()) {}

  /// `more`: further members of the webhook, each with a comma before it.
  std::string webhook(const std::string& name, const std::string& path, const std::string& more = "",
                      const std::string& resource = "configmaps") {
    return R"({"name":")" + name + R"(.example.com","sideEffects":"None","admissionReviewVersions":["v1"],)" +
           R"("clientConfig":{"url":")" + hook_.url(path) + R"(","caBundle":")" + hook_.ca_bundle() + R"("},)" +
           R"("rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":[")" + resource +
           R"("]}])" + more + "}";
  }
  void install(const std::string& resource, const std::string& name, const std::string& webhooks) {
    const auto made =
        rig_.post(kWebhooks + resource, R"({"metadata":{"name":")" + name + R"("},"webhooks":[)" + webhooks + "]}");
    ASSERT_EQ(made.code, 201) << made.body;
    EXPECT_EQ(made.headers.get("Warning"), "");  // it acts
  }
  void validating(const std::string& name, const std::string& webhooks) {
    install("validatingwebhookconfigurations", name, webhooks);
  }
  void mutating(const std::string& name, const std::string& webhooks) {
    install("mutatingwebhookconfigurations", name, webhooks);
  }

  HookServer hook_;
  Rig rig_;
};

TEST_F(Webhooks, OneThatDeniesIsHeard) {
  hook_.on("/deny", [](const Value& request) -> std::string {
    if (request["object"]["data"]["k"].text() != "bad") return R"("allowed":true,"warnings":["seen"])";
    return R"("allowed":false,"status":{"code":403,"reason":"Forbidden","message":"no such thing"})";
  });
  validating("v", webhook("deny", "/deny"));
  const auto good = rig_.make_config_map("good");
  EXPECT_EQ(good.code, 201) << good.body;
  EXPECT_THAT(std::string(good.headers.get("Warning")), HasSubstr("seen"));
  const auto bad = rig_.make_config_map("bad", "bad");
  EXPECT_EQ(bad.code, 403);
  EXPECT_EQ(bad.text("message"), "admission webhook \"deny.example.com\" denied the request: no such thing");
  EXPECT_EQ(bad.text("reason"), "Forbidden");
  EXPECT_EQ(rig_.get(kConfigMaps + "/bad").code, 404);
}

TEST_F(Webhooks, TheReviewSaysWhatWasAskedFor) {
  hook_.on("/look", allow);
  validating("v", webhook("look", "/look"));
  ASSERT_EQ(rig_.make_config_map("a").code, 201);
  ASSERT_EQ(rig_.patch(kConfigMaps + "/a?fieldManager=me", "merge-patch", R"({"data":{"k":"w"}})").code, 200);
  ASSERT_EQ(rig_.remove(kConfigMaps + "/a", R"({"propagationPolicy":"Background"})").code, 200);
  const auto asked = hook_.asked("/look");
  ASSERT_EQ(asked.size(), 3u);
  const Value create = asked[0]["request"], update = asked[1]["request"], remove = asked[2]["request"];
  EXPECT_EQ(asked[0]["kind"].text(), "AdmissionReview");
  EXPECT_EQ(asked[0]["apiVersion"].text(), "admission.k8s.io/v1");
  EXPECT_EQ(create["operation"].text(), "CREATE");
  EXPECT_EQ(create["kind"].to_json(), R"({"group":"","version":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(create["resource"].to_json(), R"({"group":"","version":"v1","resource":"configmaps"})");
  EXPECT_EQ(create["requestKind"].to_json(), create["kind"].to_json());
  EXPECT_EQ(create["name"].text(), "a");
  EXPECT_EQ(create["namespace"].text(), "test");
  EXPECT_EQ(create["userInfo"]["username"].text(), "tester");
  EXPECT_EQ(create["object"]["kind"].text(), "ConfigMap");
  EXPECT_EQ(create["object"]["apiVersion"].text(), "v1");
  EXPECT_EQ(create["object"]["data"]["k"].text(), "v");
  EXPECT_TRUE(create["oldObject"].is_null());
  EXPECT_TRUE(create["dryRun"].is_boolean());
  EXPECT_EQ(create["options"]["kind"].text(), "CreateOptions");
  EXPECT_EQ(update["operation"].text(), "UPDATE");
  EXPECT_EQ(update["object"]["data"]["k"].text(), "w");
  EXPECT_EQ(update["oldObject"]["data"]["k"].text(), "v");
  EXPECT_EQ(update["options"]["fieldManager"].text(), "me");
  EXPECT_EQ(remove["operation"].text(), "DELETE");
  EXPECT_TRUE(remove["object"].is_null());
  EXPECT_EQ(remove["oldObject"]["data"]["k"].text(), "w");
  EXPECT_EQ(remove["options"]["propagationPolicy"].text(), "Background");
  EXPECT_EQ(remove["name"].text(), "a");
}

TEST_F(Webhooks, EachOfACollectionIsAskedFor) {
  hook_.on("/keep", [](const Value& request) {
    const bool kept = request["operation"].text() == "DELETE" && request["oldObject"]["data"]["k"].text() == "kept";
    return std::string(kept ? R"("allowed":false,"status":{"message":"stays"})" : R"("allowed":true)");
  });
  validating("v", webhook("keep", "/keep"));
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(rig_.make_config_map(name, *name == 'b' ? "kept" : "v").code, 201);
  EXPECT_EQ(rig_.remove(kConfigMaps).code, 400);
  EXPECT_EQ(rig_.get(kConfigMaps)["items"].size(), 1u);
  int removals = 0;
  for (const auto& asked : hook_.asked("/keep")) removals += asked["request"]["operation"].text() == "DELETE" ? 1 : 0;
  EXPECT_EQ(removals, 3);
}

TEST_F(Webhooks, MutatingOnesChangeTheObjectInOrder) {
  hook_.on("/first", [](const Value&) { return patch_answer(R"([{"op":"add","path":"/data/first","value":"1"}])"); });
  hook_.on("/second", [](const Value& request) {
    const bool after = request["object"]["data"].has("first");
    return patch_answer(std::string(R"([{"op":"add","path":"/data/second","value":")") + (after ? "after" : "before") +
                        "\"}]");
  });
  mutating("b", webhook("second", "/second"));
  mutating("a", webhook("first", "/first"));
  const auto made = rig_.make_config_map("x");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("data.first"), "1");
  EXPECT_EQ(made.text("data.second"), "after");
  // Nobody owns what a webhook has set.
  EXPECT_EQ(made.body.find("f:first"), std::string::npos);
  EXPECT_NE(made.body.find("f:k"), std::string::npos);
  EXPECT_EQ(hook_.asked("/first").size(), 1u);  // Never is the default of reinvocationPolicy
}

TEST_F(Webhooks, AnEarlierOneIsAskedAgainWhenALaterOneChangedSomething) {
  hook_.on("/early", [](const Value& request) -> std::string {
    if (!request["object"]["data"].has("late")) return R"("allowed":true)";
    return patch_answer(R"([{"op":"add","path":"/data/early","value":"saw late"}])");
  });
  hook_.on("/late", [](const Value&) { return patch_answer(R"([{"op":"add","path":"/data/late","value":"1"}])"); });
  mutating("a", webhook("early", "/early", R"(,"reinvocationPolicy":"IfNeeded")") + "," + webhook("late", "/late"));
  const auto made = rig_.make_config_map("x");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("data.early"), "saw late");
  EXPECT_EQ(hook_.asked("/early").size(), 2u);
  EXPECT_EQ(hook_.asked("/late").size(), 1u);
}

TEST_F(Webhooks, WhatOneMakesIsDefaultedAndValidated) {
  hook_.on("/port", [](const Value&) {
    return patch_answer(R"([{"op":"add","path":"/spec/ports/-","value":{"name":"more","port":81}}])");
  });
  mutating("m", webhook("port", "/port", "", "services"));
  const auto made = rig_.post("/api/v1/namespaces/test/services",
                              R"({"metadata":{"name":"s"},"spec":{"ports":[{"name":"one","port":80}]}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["spec"]["ports"].at(1)["protocol"].text(), "TCP");
  EXPECT_EQ(made["spec"]["ports"].at(1)["targetPort"].integer(), 81);
  hook_.on("/port", [](const Value&) {
    return patch_answer(R"([{"op":"replace","path":"/spec/ports/0/port","value":99999}])");
  });
  EXPECT_EQ(rig_.post("/api/v1/namespaces/test/services",
                      R"({"metadata":{"name":"t"},"spec":{"ports":[{"name":"one","port":80}]}})")
                .code,
            422);
}

TEST_F(Webhooks, ANameThatTheServerMakesUpComesAfterMutation) {
  hook_.on("/look", [](const Value& request) {
    EXPECT_FALSE(request.has("name"));
    EXPECT_FALSE(request["object"]["metadata"].has("name"));
    EXPECT_FALSE(request["object"]["metadata"].has("uid"));
    return std::string(R"("allowed":true)");
  });
  hook_.on("/later", allow);
  mutating("m", webhook("look", "/look"));
  validating("v", webhook("later", "/later"));
  ASSERT_EQ(rig_.post(kConfigMaps, R"({"metadata":{"generateName":"g-"}})").code, 201);
  const auto later = hook_.asked("/later");
  ASSERT_EQ(later.size(), 1u);
  EXPECT_THAT(later[0]["request"]["object"]["metadata"]["name"].string(), testing::StartsWith("g-"));
  EXPECT_FALSE(later[0]["request"]["object"]["metadata"]["uid"].text().empty());
}

TEST_F(Webhooks, FailuresAreToldOrIgnored) {
  validating("v", webhook("nobody", "/nobody"));
  const auto refused = rig_.make_config_map("a");
  EXPECT_EQ(refused.code, 500);
  EXPECT_EQ(
      refused.text("message"),
      "Internal error occurred: failed calling webhook \"nobody.example.com\": failed to call webhook: the server "
      "could not find the requested resource");
  ASSERT_EQ(rig_.remove(kWebhooks + "validatingwebhookconfigurations/v").code, 200);
  validating("v", webhook("nobody", "/nobody", R"(,"failurePolicy":"Ignore")"));
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
}

TEST_F(Webhooks, OneThatHangsEndsAtItsTimeAndDelaysNobodyElse) {
  hook_.on("/hang", [](const Value&) { return std::string("hang"); });
  hook_.on("/quick", allow);
  validating("v", webhook("hang", "/hang", R"(,"timeoutSeconds":2)") + "," +
                      webhook("quick", "/quick", R"(,"timeoutSeconds":30)", "secrets"));
  std::vector<Watching> slow;
  for (int i = 0; i < 20; ++i)
    slow.push_back(rig_.begin("POST", kConfigMaps, R"({"metadata":{"name":"slow-)" + std::to_string(i) + "\"}}"));
  hook_.wait_asked("/hang", 20);
  // With all of them under way: a write that no webhook is about, and one whose webhook answers.
  EXPECT_EQ(rig_.post("/api/v1/namespaces/test/serviceaccounts", R"({"metadata":{"name":"s"}})").code, 201);
  EXPECT_EQ(rig_.post("/api/v1/namespaces/test/secrets", R"({"metadata":{"name":"s"}})").code, 201);
  for (const auto& one : slow) EXPECT_FALSE(one->ended(std::chrono::seconds(0)));
  for (const auto& one : slow) {
    EXPECT_EQ(one->code(), 500);
    ASSERT_TRUE(one->ended());
    EXPECT_THAT(one->raw(), HasSubstr("/hang?timeout=2s\\\": context deadline exceeded"));
  }
}

TEST_F(Webhooks, DryRunsAreOnlyForThoseWithoutSideEffects) {
  hook_.on("/look", allow);
  validating("v", webhook("look", "/look"));
  const auto dry = rig_.post(kConfigMaps + "?dryRun=All", R"({"metadata":{"name":"d"}})");
  EXPECT_EQ(dry.code, 201);
  ASSERT_EQ(hook_.asked("/look").size(), 1u);
  EXPECT_TRUE(hook_.asked("/look")[0]["request"]["dryRun"].boolean());
}

TEST_F(Webhooks, SelectorsAndConditionsSayWhatOneIsAbout) {
  hook_.on("/deny", [](const Value&) { return std::string(R"("allowed":false)"); });
  validating("v", webhook("object", "/deny", R"(,"objectSelector":{"matchLabels":{"deny":"yes"}})") + "," +
                      webhook("condition", "/deny",
                              R"(,"matchConditions":[{"name":"c","expression":"object.data.k == 'cel'"}])") +
                      "," + webhook("space", "/deny", R"(,"namespaceSelector":{"matchLabels":{"strict":"yes"}})"));
  EXPECT_EQ(rig_.make_config_map("fine").code, 201);
  const auto labelled = rig_.make_config_map("labelled", "v", R"({"deny":"yes"})");
  EXPECT_EQ(labelled.code, 400);
  EXPECT_EQ(labelled.text("message"),
            "admission webhook \"object.example.com\" denied the request without explanation");
  EXPECT_THAT(rig_.make_config_map("by-condition", "cel").text("message"), HasSubstr("condition.example.com"));
  ASSERT_EQ(rig_.patch("/api/v1/namespaces/test", "merge-patch", R"({"metadata":{"labels":{"strict":"yes"}}})").code,
            200);
  EXPECT_THAT(rig_.make_config_map("in-space").text("message"), HasSubstr("space.example.com"));
  // What cannot be evaluated counts as the failure policy says.
  const auto erring = rig_.post(kConfigMaps, R"({"metadata":{"name":"e"}})");
  EXPECT_EQ(erring.code, 403);
  EXPECT_THAT(erring.text("message"),
              HasSubstr("expression 'object.data.k == 'cel'' resulted in error: no such key: data"));
}

TEST_F(Webhooks, EquivalentResourcesAreConverted) {
  hook_.on("/event", [](const Value& request) {
    EXPECT_EQ(request["kind"]["group"].text(), "");
    EXPECT_EQ(request["requestKind"]["group"].text(), "events.k8s.io");
    EXPECT_EQ(request["object"]["apiVersion"].text(), "v1");
    EXPECT_EQ(request["object"]["message"].text(), "hello");
    return patch_answer(R"([{"op":"replace","path":"/message","value":"changed"}])");
  });
  std::string about = webhook("event", "/event", "", "events");
  about.replace(about.find(R"("apiGroups":["*"])"), 17, R"("apiGroups":[""])");
  mutating("m", about);
  const auto made = rig_.post("/apis/events.k8s.io/v1/namespaces/test/events",
                              R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","note":"hello",)"
                              R"("action":"a","reason":"r","type":"Normal","reportingController":"c.example.com/x",)"
                              R"("reportingInstance":"i","regarding":{"kind":"Pod","name":"p","namespace":"test"}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("note"), "changed");
}

TEST_F(Webhooks, AreNeverAskedAboutAdmissionItself) {
  hook_.on("/deny", [](const Value&) { return std::string(R"("allowed":false)"); });
  validating("v", webhook("deny", "/deny", "", "*"));
  EXPECT_EQ(rig_.make_config_map("x").code, 400);
  validating("w", webhook("deny", "/deny", "", "*"));
  EXPECT_EQ(rig_.remove(kWebhooks + "validatingwebhookconfigurations/v").code, 200);
  EXPECT_EQ(rig_.remove(kWebhooks + "validatingwebhookconfigurations/w").code, 200);
  EXPECT_EQ(rig_.make_config_map("x").code, 201);
}

TEST_F(Webhooks, ReachAServiceAtItsReadyEndpoints) {
  hook_.on("/hook", [](const Value&) { return std::string(R"("allowed":false,"status":{"message":"by service"})"); });
  std::string about = webhook("svc", "/hook");
  const auto at = about.find(R"("url":")");
  about.replace(at, about.find("\",", at) - at + 1, R"("service":{"name":"hook","namespace":"test","path":"/hook"})");
  validating("v", about);
  EXPECT_THAT(rig_.make_config_map("x").text("message"),
              HasSubstr("Post \"https://hook.test.svc:443/hook?timeout=10s\": service \"hook\" not found"));
  ASSERT_EQ(rig_.post("/api/v1/namespaces/test/services",
                      R"({"metadata":{"name":"hook"},"spec":{"ports":[{"name":"https","port":443}]}})")
                .code,
            201);
  EXPECT_THAT(rig_.make_config_map("x").text("message"), HasSubstr("no endpoints available for service \"hook\""));
  const std::string slice =
      R"({"metadata":{"name":"hook-1","labels":{"kubernetes.io/service-name":"hook"}},"addressType":"IPv4",)"
      R"("ports":[{"name":"https","port":)" +
      std::to_string(hook_.port()) +
      R"(}],"endpoints":[{"addresses":["127.0.0.2"],"conditions":{"ready":false}},{"addresses":["127.0.0.1"]}]})";
  // The API takes no loopback address, so it is put where a controller's would be stored.
  store::Put put{slice, store::Object::kNoHole, {}};
  put.index.labels.emplace_back("kubernetes.io/service-name", "hook");
  store::Txn txn;
  txn.ops.push_back({"endpointslices.discovery.k8s.io/test/hook-1", std::move(put)});
  ASSERT_TRUE(rig_.store().commit(std::move(txn)));
  EXPECT_THAT(rig_.make_config_map("x").text("message"), HasSubstr("denied the request: by service"));
}

TEST_F(Webhooks, ReachAPodOfTheTenantThroughWhoKnowsIt) {
  ServerOptions options;
  std::vector<ServiceCall> calls;
  Mutex mutex;
  options.outbound.services = [&](ServiceCall call, const std::function<void(Result<net::Response>)>& done) {
    const MutexLock lock(mutex);
    const auto review = schema::Document::parse_json(call.request.body);
    const std::string uid = (*review)["request"]["uid"].string();
    calls.push_back(std::move(call));
    std::thread([done, uid] {
      done(net::Response{200,
                         {},
                         R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":")" + uid +
                             R"(","allowed":false,"status":{"message":"the pod says no"}}})"});
    }).detach();
    return std::make_shared<int>();
  };
  Rig rig({}, options);
  std::string about = webhook("svc", "/hook");
  const auto at = about.find(R"("url":")");
  about.replace(at, about.find("\",", at) - at + 1,
                R"("service":{"name":"hook","namespace":"test","path":"/hook","port":8443})");
  ASSERT_EQ(
      rig.post(kWebhooks + "validatingwebhookconfigurations", R"({"metadata":{"name":"v"},"webhooks":[)" + about + "]}")
          .code,
      201);
  ASSERT_EQ(rig.post("/api/v1/namespaces/test/services",
                     R"({"metadata":{"name":"hook"},"spec":{"ports":[{"name":"https","port":8443}]}})")
                .code,
            201);
  const auto slice = [](const std::string& name, const std::string& target) {
    return R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/service-name":"hook"}},)" +
           R"("addressType":"IPv4","ports":[{"name":"https","port":9443}],"endpoints":[{"addresses":["10.0.0.7"])" +
           target + "}]}";
  };
  const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
  ASSERT_EQ(rig.post(slices, slice("a", "")).code, 201);
  EXPECT_THAT(rig.make_config_map("x").text("message"), HasSubstr("is no pod of this virtual cluster"));
  ASSERT_EQ(rig.remove(slices + "/a").code, 200);
  ASSERT_EQ(rig.post(slices, slice("b", R"(,"targetRef":{"kind":"Pod","namespace":"test","name":"p","uid":"u"})")).code,
            201);
  EXPECT_THAT(rig.make_config_map("x").text("message"), HasSubstr("denied the request: the pod says no"));
  const MutexLock lock(mutex);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].pod_name + "/" + calls[0].pod_uid, "p/u");
  EXPECT_EQ(calls[0].port, 9443);
  EXPECT_EQ(calls[0].server_name, "hook.test.svc");
  EXPECT_EQ(calls[0].request.target, "/hook?timeout=10s");
}

TEST_F(Webhooks, GuardedAddressesAreNotCalled) {
  Rig guarded;  // without the test's permission
  const auto made = guarded.post(kWebhooks + "validatingwebhookconfigurations",
                                 R"({"metadata":{"name":"v"},"webhooks":[)" + webhook("inside", "/inside") + "]}");
  ASSERT_EQ(made.code, 201) << made.body;
  const auto refused = guarded.make_config_map("x");
  EXPECT_EQ(refused.code, 500);
  EXPECT_THAT(refused.text("message"), HasSubstr("127.0.0.1 is a loopback address"));
  EXPECT_TRUE(hook_.asked("/inside").empty());
}

TEST_F(Webhooks, StatusAndScaleAreSubresources) {
  hook_.on("/scale", [](const Value& request) {
    EXPECT_EQ(request["object"]["kind"].text(), "Scale");
    EXPECT_EQ(request["subResource"].text(), "scale");
    return patch_answer(R"([{"op":"replace","path":"/spec/replicas","value":2}])");
  });
  mutating("m", webhook("scale", "/scale", "", "deployments/scale"));
  const std::string deployments = "/apis/apps/v1/namespaces/test/deployments";
  ASSERT_EQ(
      rig_.post(deployments, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":)"
                             R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .code,
      201);
  const auto scaled = rig_.patch(deployments + "/d/scale", "merge-patch", R"({"spec":{"replicas":7}})");
  ASSERT_EQ(scaled.code, 200) << scaled.body;
  EXPECT_EQ(scaled["spec"]["replicas"].integer(), 2);
}

TEST_F(Webhooks, AnEvictionIsACreateOfItsOwn) {
  hook_.on("/evict", [](const Value& request) {
    EXPECT_EQ(request["operation"].text(), "CREATE");
    EXPECT_EQ(request["object"]["kind"].text(), "Eviction");
    return std::string(R"("allowed":false,"status":{"message":"stays"})");
  });
  validating("v", webhook("evict", "/evict", "", "pods/eviction"));
  ASSERT_EQ(rig_.post("/api/v1/namespaces/test/serviceaccounts", R"({"metadata":{"name":"default"}})").code, 201);
  ASSERT_EQ(rig_.post("/api/v1/namespaces/test/pods",
                      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .code,
            201);
  const auto evicted = rig_.post("/api/v1/namespaces/test/pods/p/eviction",
                                 R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})");
  EXPECT_EQ(evicted.code, 400) << evicted.body;
  EXPECT_THAT(evicted.text("message"), HasSubstr("stays"));
}

// Exec, attach, port-forward and proxies: what is asked of a pod is the object.
class ConnectHooks : public Webhooks {
 protected:
  ConnectHooks() : connected_({}, options()) {
    const std::string pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
    EXPECT_EQ(connected_.post(kTestPods, pod).code, 201);
    EXPECT_EQ(connected_.patch(kTestPods + "/p/status", "merge-patch", R"({"status":{"podIP":"10.0.0.5"}})").code, 200);
  }
  ServerOptions options() {
    ServerOptions made = HookServer::options();
    made.pod_connections = [this](const kube::PodConnectRequest& request,
                                  const std::shared_ptr<net::ResponseSink>& sink) {
      path_ = kube::as_proxy(request)->path;
      sink->respond(200, {}, "of the pod");
    };
    return made;
  }
  void hook(const std::string& kind, const std::string& path, const std::string& resource) {
    const auto made = connected_.post(
        kWebhooks + kind, R"({"metadata":{"name":"v"},"webhooks":[)" + webhook("look", path, "", resource) + "]}");
    ASSERT_EQ(made.code, 201) << made.body;
  }
  const std::string kTestPods = "/api/v1/namespaces/test/pods";
  std::string path_;
  Rig connected_;
};

TEST_F(ConnectHooks, AreAskedAboutWhatIsToRun) {
  hook_.on("/exec", [](const Value& request) -> std::string {
    if (request["object"]["command"].at(0).text() != "rm") return R"("allowed":true)";
    return R"("allowed":false,"status":{"message":"nothing is removed"})";
  });
  hook("validatingwebhookconfigurations", "/exec", "pods/*");
  const auto refused = connected_.post(kTestPods + "/p/exec?command=rm&command=-r&container=c&stdout=true&tty=0", "");
  EXPECT_EQ(refused.code, 400) << refused.body;
  EXPECT_EQ(refused.text("message"), "admission webhook \"look.example.com\" denied the request: nothing is removed");
  EXPECT_THAT(connected_.post(kTestPods + "/p/exec?command=ls", "").text("message"), HasSubstr("have a host assigned"));
  EXPECT_THAT(connected_.post(kTestPods + "/q/attach?stdin=1", "").text("message"), HasSubstr("\"q\" not found"))
      << "who asks is judged before what is there";
  EXPECT_THAT(connected_.post(kTestPods + "/p/portforward?ports=80&ports=x&ports=81", "").text("message"),
              HasSubstr("have a host assigned"));
  EXPECT_EQ(connected_.get(kTestPods + "/p:80/proxy/a/b%20c/").code, 200);
  const auto asked = hook_.asked("/exec");
  ASSERT_EQ(asked.size(), 5u);
  const Value exec = asked[0]["request"];
  EXPECT_EQ(exec["operation"].text(), "CONNECT");
  EXPECT_EQ(exec["kind"].to_json(), R"({"group":"","version":"v1","kind":"PodExecOptions"})");
  EXPECT_EQ(exec["resource"].to_json(), R"({"group":"","version":"v1","resource":"pods"})");
  EXPECT_EQ(exec["subResource"].text(), "exec");
  EXPECT_EQ(exec["name"].string() + " " + exec["namespace"].string(), "p test");
  EXPECT_EQ(exec["object"].to_json(), R"({"stdout":true,"container":"c","command":["rm","-r"],"apiVersion":"v1",)"
                                      R"("kind":"PodExecOptions"})");
  EXPECT_TRUE(exec["oldObject"].is_null());
  EXPECT_TRUE(exec.has("options") && exec["options"].is_null());
  EXPECT_EQ(asked[2]["request"]["object"].to_json(), R"({"stdin":true,"apiVersion":"v1","kind":"PodAttachOptions"})");
  EXPECT_EQ(asked[3]["request"]["object"]["ports"].to_json(), "[80,81]");
  EXPECT_EQ(asked[4]["request"]["object"].to_json(),
            R"({"path":"/a/b c/","apiVersion":"v1","kind":"PodProxyOptions"})");
  EXPECT_EQ(asked[4]["request"]["name"].text(), "p:80");
}

TEST_F(ConnectHooks, MayChangeIt) {
  hook_.on("/change",
           [](const Value&) { return patch_answer(R"([{"op":"add","path":"/path","value":"/elsewhere/x y"}])"); });
  EXPECT_EQ(connected_.get(kTestPods + "/p/proxy/here").code, 200);
  EXPECT_EQ(path_, "/here");
  hook("mutatingwebhookconfigurations", "/change", "pods/proxy");
  EXPECT_EQ(connected_.get(kTestPods + "/p/proxy/here").code, 200);
  EXPECT_EQ(path_, "/elsewhere/x%20y");
}

TEST(WebhookReview, JudgesAnswers) {
  const auto why = [](const std::string& body, bool mutating = true) {
    const auto read = read_review({"w", "v1", "u", mutating}, body);
    return read ? std::string(read->allowed ? "allowed" : "refused: " + read->refusal.message) : read.error().message;
  };
  const auto answer = [](const std::string& members) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u",)" + members + "}}";
  };
  EXPECT_EQ(why(answer(R"("allowed":true)")), "allowed");
  EXPECT_EQ(why(answer(R"("allowed":false)")),
            "refused: admission webhook \"w\" denied the request without explanation");
  EXPECT_EQ(why(answer(R"("allowed":false,"status":{"reason":"Because"})")),
            "refused: admission webhook \"w\" denied the request: Because");
  testing::internal::CaptureStderr();
  EXPECT_EQ(why(answer(R"("allowed":true,"auditAnnotations":{"k":"v"})")), "allowed");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("admission.audit_annotation webhook=w key=k value=v"));
  EXPECT_THAT(why("nonsense"), HasSubstr("couldn't get version/kind"));
  EXPECT_EQ(why(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"),
            "received invalid webhook response: webhook response was absent");
  EXPECT_EQ(
      why(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}})"),
      "received invalid webhook response: expected response.uid=\"u\", got \"x\"");
  EXPECT_THAT(
      why(R"({"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","response":{"uid":"u"}})"),
      HasSubstr("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v2"));
  EXPECT_THAT(why(answer(R"("allowed":true,"patch":"W10=")")), HasSubstr("not response.patchType"));
  EXPECT_THAT(why(answer(R"("allowed":true,"patchType":"JSONPatch")")), HasSubstr("not response.patch"));
  EXPECT_THAT(why(answer(R"("allowed":true,"patchType":"JSONPatch","patch":"!")")), HasSubstr("undecodable patch"));
  EXPECT_THAT(why(answer(R"("allowed":true,"patchType":"JSONPatch","patch":"e30=")")), HasSubstr("undecodable patch"));
  EXPECT_THAT(why(answer(R"("allowed":true,"patchType":"JSONPatch","patch":"W10=")"), false),
              HasSubstr("validating webhook may not return response.patch"));
  EXPECT_THAT(why(answer(R"("allowed":"yes")")), HasSubstr("response.allowed"));
}

TEST(WebhookConfigurations, AreCheckedWhenTheyAreWritten) {
  Rig rig;
  const auto made = rig.post(
      kWebhooks + "mutatingwebhookconfigurations",
      R"({"metadata":{"name":"m"},"webhooks":[{"name":"short","clientConfig":{"url":"http://x/?q=1"},"timeoutSeconds":31,)"
      R"("rules":[{"operations":["CREATE","*"],"apiGroups":[""],"apiVersions":[""],"resources":["*/*","pods"]}],)"
      R"("matchConditions":[{"name":"c","expression":"object.x ="}],"admissionReviewVersions":["v9"]}]})");
  EXPECT_EQ(made.code, 422) << made.body;
  for (const char* text :
       {"should be a domain with at least three segments separated by dots", "'https' is the only allowed URL scheme",
        "query parameters are not permitted in the URL", "the timeout value must be between 1 and 30 seconds",
        "if '*' is present, must not specify other operations", "if '*/*' is present, must not specify other resources",
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        "compilation failed: ERROR: <input>:1:10: Syntax error", "must include at least one of v1, v1beta1"})
    EXPECT_THAT(made.text("message"), HasSubstr(text));
}

}  // namespace
}  // namespace sublet::apiserver
