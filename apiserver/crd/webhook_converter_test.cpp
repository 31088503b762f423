// Conversion webhooks over real HTTPS: every verb in both versions, changes of the storage version, what is made of bad
// answers, and that nobody waits for a webhook that hangs but those who need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/admission/hooks_testing.h"
#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;
using testing::HasSubstr;

const std::string kGroupPath = "/apis/stable.example.com/";
const std::string kV1 = kGroupPath + "v1/namespaces/test/endpoints", kV2 = kGroupPath + "v2/namespaces/test/endpoints";
const std::string kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
const std::string kPartialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// v1 has spec.hostPort, "a:1"; v2 has spec.host and spec.port.
void convert(Value object, const std::string& wanted) {
  Value spec = object["spec"];
  if (wanted.ends_with("/v2") && spec.has("hostPort")) {
    const std::string both = spec["hostPort"].string();
    const auto colon = both.find(':');
    spec.put("host", both.substr(0, colon));
    spec.put("port", both.substr(std::min(colon, both.size() - 1) + 1));
    spec.erase("hostPort");
  } else if (wanted.ends_with("/v1") && spec.has("host")) {
    spec.put("hostPort", spec["host"].string() + ":" + spec["port"].string());
    spec.erase("host");
    spec.erase("port");
  }
  object.put("apiVersion", wanted);
}

template <class Change>
std::string answer_with(const Value& request, Change change) {
  std::string objects;
  for (const Value object : request["objects"]) {
    Document converted = Document::copy_of(object);
    convert(converted.root(), request["desiredAPIVersion"].string());
    change(converted.root());
    objects += (objects.empty() ? "" : ",") + converted.to_json();
  }
  return R"("result":{"status":"Success"},"convertedObjects":[)" + objects + "]";
}
std::string converted(const Value& request) {
  return answer_with(request, [](Value) {});
}

class ConversionWebhook : public testing::Test {
 protected:
  ConversionWebhook() : rig_({}, HookServer::options()) { hook_.on("/convert", converted); }

  std::string version(const std::string& name, const std::string& fields, const std::string& selectable, bool storage) {
    return R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
           R"(,"selectableFields":[)" + selectable +
           R"(],"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
             "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
             "spec":{"type":"object","properties":{)" +
           fields + "}}}}}}";
  }
  std::string versions(const std::string& stored) {
    const std::string text = R"({"type":"string"})";
    return version("v1", R"("hostPort":)" + text + R"(,"kind":{"type":"string","default":"tcp"})",
                   R"({"jsonPath":".spec.hostPort"})", stored == "v1") +
           "," +
           version("v2", R"("host":)" + text + R"(,"port":)" + text + R"(,"kind":{"type":"string"})",
                   R"({"jsonPath":".spec.host"},{"jsonPath":".spec.port"},{"jsonPath":".spec.kind"})", stored == "v2");
  }
  std::string conversion(const std::string& path) {
    return R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9","v1"],"clientConfig":{"url":")" +
           hook_.url(path) + R"(","caBundle":")" + hook_.ca_bundle() + R"("}}})";
  }
  void define(const std::string& path = "/convert", const std::string& stored = "v1") {
    const auto made = rig_.post(kDefinitions, R"({"metadata":{"name":"endpoints.stable.example.com"},"spec":{
      "group":"stable.example.com","scope":"Namespaced","names":{"plural":"endpoints","kind":"Endpoint"},
      "conversion":)" + conversion(path) + R"(,"versions":[)" +
                                                  versions(stored) + "]}}");
    ASSERT_EQ(made.code, 201) << made.body;
    EXPECT_EQ(made.headers.get("Warning"), "");
    await_served();
  }
  void await_served() {
    auto watch = rig_.watch(kDefinitions + "?watch=1");
    for (std::size_t n = 0;; ++n) {
      const auto event = watch->event(n);
      ASSERT_FALSE(event.root().is_null());
      for (const Value condition : event["object"]["status"]["conditions"])
        if (condition["type"].text() == "Established" && condition["status"].text() == "True") return;
    }
  }
  /// Patches the definition, and waits until that is what requests go by.
  template <class Holds>
  void redefine(const std::string& patch, Holds holds) {
    const auto patched = rig_.patch(kDefinitions + "/endpoints.stable.example.com", "json-patch", patch);
    ASSERT_EQ(patched.code, 200) << patched.body;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds() && std::chrono::steady_clock::now() < end) continue;
    ASSERT_TRUE(holds());
  }
  static std::string v1(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"stable.example.com/v1","kind":"Endpoint","metadata":{"name":")" + name + "\"" + more +
           R"(},"spec":{"hostPort":"a:1"}})";
  }
  static std::string v2(const std::string& name, const std::string& host = "b") {
    return R"({"apiVersion":"stable.example.com/v2","kind":"Endpoint","metadata":{"name":")" + name +
           R"("},"spec":{"host":")" + host + R"(","port":"2"}})";
  }
  Reply apply(const std::string& path, const std::string& body) {
    return rig_.call("PATCH", path, body, {{"Content-Type", "application/apply-patch+yaml"}});
  }
  std::size_t asked(const std::string& path = "/convert") { return hook_.asked(path).size(); }

  HookServer hook_;
  Rig rig_;
};

TEST_F(ConversionWebhook, EveryVersionIsReadAsItIs) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  EXPECT_EQ(asked(), 0u);  // it is stored in that version
  const auto as_v2 = rig_.get(kV2 + "/a");
  EXPECT_EQ(as_v2.code, 200) << as_v2.body;
  EXPECT_EQ(as_v2.text("apiVersion"), "stable.example.com/v2");
  EXPECT_EQ(as_v2["spec"].to_json(), R"({"kind":"tcp","host":"a","port":"1"})");
  const auto review = std::move(hook_.asked("/convert").front());
  EXPECT_EQ(review["kind"].text(), "ConversionReview");
  EXPECT_EQ(review["apiVersion"].text(), "apiextensions.k8s.io/v1");
  EXPECT_EQ(review["request"]["desiredAPIVersion"].text(), "stable.example.com/v2");
  EXPECT_EQ(review["request"]["objects"].at(0)["apiVersion"].text(), "stable.example.com/v1");
  EXPECT_EQ(review["request"]["objects"].at(0)["kind"].text(), "Endpoint");
  EXPECT_EQ(review["request"]["objects"].at(0)["metadata"]["resourceVersion"].text(), as_v2.version());

  const auto made = rig_.post(kV2, v2("b"));
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["spec"].to_json(), R"({"kind":"tcp","host":"b","port":"2"})");  // as what is stored is read
  EXPECT_EQ(rig_.get(kV1 + "/b")["spec"].to_json(), R"({"hostPort":"b:2","kind":"tcp"})");
  const auto stored = rig_.store().snapshot().get("endpoints.stable.example.com/test/b");
  EXPECT_THAT(stored->bytes, HasSubstr(R"("spec":{"hostPort":"b:2"},"apiVersion":"stable.example.com/v1"})"));
}

TEST_F(ConversionWebhook, ListsAskOnceForMany) {
  define();
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(rig_.post(kV1, v1(name)).code, 201);
  const auto page = rig_.get(kV2 + "?limit=2");
  ASSERT_EQ(page.code, 200) << page.body;
  EXPECT_EQ(page["metadata"]["remainingItemCount"].integer(), 1);
  EXPECT_EQ(asked(), 1u);
  const auto list = rig_.get(kV2);
  ASSERT_EQ(list["items"].size(), 3u);
  for (const Value item : list["items"]) EXPECT_EQ(item["spec"]["host"].text(), "a");
  EXPECT_EQ(asked(), 2u);  // for the one that the page had not
  EXPECT_EQ(rig_.get(kV2, {{"Accept", kTable}})["rows"].size(), 3u);
  const auto partial = rig_.get(kV2, {{"Accept", kPartialList}});
  EXPECT_EQ(partial["items"].at(0)["metadata"]["name"].text(), "a");
  EXPECT_THAT(rig_.get(kV2, {{"Accept", "application/yaml"}}).body, HasSubstr("host: a"));
  EXPECT_EQ(asked(), 2u);
}

TEST_F(ConversionWebhook, WritesOfEveryKindGoThroughIt) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  auto read = rig_.get(kV2 + "/a");
  read.json.root()["spec"].put("host", "z");
  const auto updated = rig_.put(kV2 + "/a", read.json.to_json());
  EXPECT_EQ(updated.code, 200) << updated.body;
  EXPECT_EQ(updated["metadata"]["generation"].integer(), 2);
  EXPECT_EQ(rig_.get(kV1 + "/a")["spec"]["hostPort"].text(), "z:1");
  EXPECT_EQ(rig_.patch(kV2 + "/a", "merge-patch", R"({"spec":{"port":"9"}})").code, 200);
  EXPECT_EQ(rig_.get(kV1 + "/a")["spec"]["hostPort"].text(), "z:9");
  const auto applied =
      apply(kV2 + "/a?fieldManager=m&force=true",
            R"({"apiVersion":"stable.example.com/v2","kind":"Endpoint","metadata":{"name":"a"},"spec":{"host":"q"}})");
  EXPECT_EQ(applied.code, 200) << applied.body;
  EXPECT_EQ(rig_.get(kV1 + "/a")["spec"]["hostPort"].text(), "q:9");
  EXPECT_EQ(rig_.patch(kV2 + "/a/status", "merge-patch", R"({"status":{"seen":true}})").code, 200);
  EXPECT_TRUE(rig_.get(kV1 + "/a")["status"]["seen"].boolean());
  const auto dry = rig_.patch(kV2 + "/a?dryRun=All", "merge-patch", R"({"spec":{"host":"dry"}})");
  EXPECT_EQ(dry["spec"]["host"].text(), "dry") << dry.body;
  EXPECT_EQ(rig_.get(kV2 + "/a")["spec"]["host"].text(), "q");
  const auto kept = rig_.patch(kV2 + "/a", "merge-patch", R"({"metadata":{"finalizers":["example.com/x"]}})");
  ASSERT_EQ(kept.code, 200) << kept.body;
  EXPECT_EQ(rig_.remove(kV2 + "/a")["spec"]["host"].text(), "q");
  EXPECT_EQ(rig_.patch(kV2 + "/a", "merge-patch", R"({"metadata":{"finalizers":null}})").code, 200);
  EXPECT_EQ(rig_.get(kV1 + "/a").code, 404);
  ASSERT_EQ(rig_.post(kV1, v1("b")).code, 201);
  const auto all = rig_.remove(kV2);
  EXPECT_EQ(all["items"].at(0)["spec"]["host"].text(), "a") << all.body;
  EXPECT_EQ(rig_.get(kV1)["items"].size(), 0u);
}

// Writes of the stored version, which need no conversion but for those who are asked about them in the other one: the
// first, too, waits for it.
TEST_F(ConversionWebhook, WhoIsAskedInAnotherVersionIsAskedFromTheFirstWriteOn) {
  define();
  hook_.on("/judge", [](const Value& request) {
    EXPECT_EQ(request["kind"]["version"].text(), "v2");
    EXPECT_EQ(request["requestKind"]["version"].text(), "v1");
    const auto host = request["object"]["spec"]["host"].string();
    return host == "a" ? std::string(R"("allowed":true)")
                       : R"("allowed":false,"status":{"message":"not )" + host + "\"}";
  });
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/";
  const std::string rules =
      R"("apiGroups":["stable.example.com"],"apiVersions":["v2"],"resources":["endpoints"],"operations":["*"])";
  ASSERT_EQ(
      rig_.post(admission + "validatingwebhookconfigurations",
                R"({"metadata":{"name":"judge"},"webhooks":[{"name":"judge.example.com","clientConfig":{"url":")" +
                    hook_.url("/judge") + R"(","caBundle":")" + hook_.ca_bundle() +
                    R"("},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{)" + rules + "}]}]}")
          .code,
      201);
  const auto made = rig_.post(kV1, v1("a"));
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["spec"].to_json(), R"({"hostPort":"a:1","kind":"tcp"})");
  const auto refused = rig_.patch(kV1 + "/a", "merge-patch", R"({"spec":{"hostPort":"b:1"}})");
  EXPECT_EQ(refused.code, 400) << refused.body;
  EXPECT_THAT(refused.text("message"), HasSubstr("denied the request: not b"));
  hook_.on("/convert", [](const Value&) { return std::string(R"("result":{"status":"Failure","message":"ill"})"); });
  const auto ill = rig_.post(kV1, v1("c"));
  EXPECT_EQ(ill.code, 500) << ill.body;
  EXPECT_THAT(ill.text("message"), HasSubstr("ill"));
}

TEST_F(ConversionWebhook, APolicyOfAnotherVersionJudgesTheFirstWrite) {
  define();
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  ASSERT_EQ(rig_.post(admission + "ies", R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{
      "apiGroups":["stable.example.com"],"apiVersions":["v2"],"resources":["endpoints"],"operations":["*"]}]},
      "validations":[{"expression":"object.spec.host != 'a'"}]}})")
                .code,
            201);
  ASSERT_EQ(rig_.post(admission + "ybindings",
                      R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}})")
                .code,
            201);
  const auto refused = rig_.post(kV1, v1("a"));
  EXPECT_EQ(refused.code, 422) << refused.body;
  EXPECT_THAT(refused.text("message"), HasSubstr("object.spec.host != 'a'"));
}

TEST_F(ConversionWebhook, APolicyOfAnotherVersionJudgesRemovals) {
  define();
  for (const char* name : {"a", "b"}) ASSERT_EQ(rig_.post(kV1, v1(name)).code, 201);
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  ASSERT_EQ(rig_.post(admission + "ies", R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{
      "apiGroups":["stable.example.com"],"apiVersions":["v2"],"resources":["endpoints"],"operations":["DELETE"]}]},
      "validations":[{"expression":"oldObject.spec.host != 'a'"}]}})")
                .code,
            201);
  ASSERT_EQ(rig_.post(admission + "ybindings",
                      R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}})")
                .code,
            201);
  const auto refused = rig_.remove(kV1);
  EXPECT_EQ(refused.code, 422) << refused.body;
  EXPECT_THAT(refused.text("message"), HasSubstr("oldObject.spec.host != 'a'"));
  EXPECT_EQ(rig_.get(kV1)["items"].size(), 2u);
}

TEST_F(ConversionWebhook, ParametersOfAnotherVersionAreRead) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("limit")).code, 201);
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  ASSERT_EQ(rig_.post(admission + "ies", R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{
      "apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"],"operations":["CREATE"]}]},
      "paramKind":{"apiVersion":"stable.example.com/v2","kind":"Endpoint"},
      "validations":[{"expression":"object.data.host == params.spec.host"}]}})")
                .code,
            201);
  ASSERT_EQ(rig_.post(admission + "ybindings", R"({"metadata":{"name":"b"},"spec":{"policyName":"p",
      "paramRef":{"name":"limit","namespace":"test","parameterNotFoundAction":"Deny"},"validationActions":["Deny"]}})")
                .code,
            201);
  const std::string maps = "/api/v1/namespaces/test/configmaps";
  const auto refused = rig_.post(maps, R"({"metadata":{"name":"x"},"data":{"host":"b"}})");
  EXPECT_EQ(refused.code, 422) << refused.body;
  EXPECT_THAT(refused.text("message"), HasSubstr("object.data.host == params.spec.host"));
  EXPECT_EQ(rig_.post(maps, R"({"metadata":{"name":"x"},"data":{"host":"a"}})").code, 201);
}

TEST_F(ConversionWebhook, ManagersOwnFieldsOfTheirVersion) {
  define();
  ASSERT_EQ(apply(kV1 + "/a?fieldManager=one", v1("a")).code, 201);
  // v2 has other names for what v1's manager owns.
  const auto refused = apply(kV2 + "/a?fieldManager=two", v2("a"));
  EXPECT_EQ(refused.code, 409) << refused.body;
  EXPECT_THAT(refused.text("message"), HasSubstr("conflict"));
  const auto forced = apply(kV2 + "/a?fieldManager=two&force=true", v2("a"));
  EXPECT_EQ(forced.code, 200) << forced.body;
  EXPECT_EQ(forced["spec"]["host"].text(), "b");
  EXPECT_EQ(rig_.get(kV1 + "/a")["spec"]["hostPort"].text(), "b:2");
}

TEST_F(ConversionWebhook, WatchesTellTheirOwnVersion) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  const auto watching = rig_.watch(kV2 + "?watch=1");
  EXPECT_EQ(watching->event(0)["object"]["spec"]["host"].text(), "a");
  ASSERT_EQ(rig_.patch(kV1 + "/a", "merge-patch", R"({"spec":{"hostPort":"b:1"}})").code, 200);
  const auto modified = watching->event(1);
  EXPECT_EQ(modified["type"].text(), "MODIFIED");
  EXPECT_EQ(modified["object"]["apiVersion"].text(), "stable.example.com/v2");
  EXPECT_EQ(modified["object"]["spec"]["host"].text(), "b");
  ASSERT_EQ(rig_.remove(kV1 + "/a").code, 200);
  const auto deleted = watching->event(2);
  EXPECT_EQ(deleted["type"].text(), "DELETED");
  EXPECT_EQ(deleted["object"]["spec"]["host"].text(), "b");
  for (int i = 0; i < 40; ++i) ASSERT_EQ(rig_.post(kV1, v1("m" + std::to_string(10 + i))).code, 201);
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(watching->event(3 + i)["object"]["metadata"]["name"].text(), "m" + std::to_string(10 + i));
}

std::vector<std::string> names_in(const Reply& list) {
  std::vector<std::string> names;
  for (const Value item : list["items"]) names.push_back(item["metadata"]["name"].string());
  return names;
}

TEST_F(ConversionWebhook, FieldsAreSelectedAsTheVersionHasThem) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  ASSERT_EQ(rig_.post(kV2, v2("b")).code, 201);
  ASSERT_EQ(rig_.post(kV2, v2("c", "a")).code, 201);
  using testing::ElementsAre;
  EXPECT_THAT(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Da")), ElementsAre("a", "c"));
  EXPECT_THAT(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Da,spec.port!%3D1")), ElementsAre("c"));
  EXPECT_THAT(names_in(rig_.get(kV1 + "?fieldSelector=spec.hostPort%3Da:2")), ElementsAre("c"));
  EXPECT_THAT(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Da,metadata.name%3Da")), ElementsAre("a"));
  EXPECT_THAT(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Da,metadata.name%3Db")), ElementsAre());
  // What the stored version has by default is there before the webhook is asked.
  EXPECT_THAT(names_in(rig_.get(kV2 + "?fieldSelector=spec.kind%3Dtcp")), ElementsAre("a", "b", "c"));
  const auto page = rig_.get(kV2 + "?limit=1&fieldSelector=spec.host%3Da");
  EXPECT_THAT(names_in(page), ElementsAre("a"));
  EXPECT_THAT(
      names_in(rig_.get(kV2 + "?limit=1&fieldSelector=spec.host%3Da&continue=" + page.text("metadata.continue"))),
      ElementsAre("c"));
  // The other version's are none of this one.
  EXPECT_EQ(rig_.get(kV1 + "?fieldSelector=spec.host%3Da").text("message"), "field label not supported: spec.host");
  EXPECT_EQ(rig_.get(kV2 + "?fieldSelector=spec.hostPort%3Da:1").code, 400);

  EXPECT_THAT(names_in(rig_.remove(kV2 + "?fieldSelector=spec.host%3Da,spec.port%3D1")), ElementsAre("a"));
  EXPECT_THAT(names_in(rig_.get(kV2)), ElementsAre("b", "c"));
}

TEST_F(ConversionWebhook, ASelectionByFieldsAsksOnceForMany) {
  define();
  for (int i = 0; i < 40; ++i) ASSERT_EQ(rig_.post(kV1, v1("m" + std::to_string(10 + i))).code, 201);
  EXPECT_EQ(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Da")).size(), 40u);
  EXPECT_EQ(asked(), 1u);
  EXPECT_EQ(names_in(rig_.get(kV2 + "?fieldSelector=spec.host%3Db")).size(), 0u);
  EXPECT_EQ(asked(), 1u);
}

TEST_F(ConversionWebhook, AWatchByFieldsTellsWhatComesAndWhatLeaves) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  ASSERT_EQ(rig_.post(kV2, v2("b")).code, 201);
  const auto by_host = rig_.watch(kV2 + "?watch=1&fieldSelector=spec.host%3Da");
  const auto by_both = rig_.watch(kV1 + "?watch=1&fieldSelector=spec.hostPort%3Da:1");
  const auto expect = [](const Watching& watching, std::size_t at, const std::string& type, const std::string& name) {
    const auto event = watching->event(at);
    EXPECT_EQ(event["type"].text(), type) << at;
    EXPECT_EQ(event["object"]["metadata"]["name"].text(), name) << at;
    return event["object"]["metadata"]["resourceVersion"].string();
  };
  expect(by_host, 0, "ADDED", "a");
  expect(by_both, 0, "ADDED", "a");
  ASSERT_EQ(rig_.patch(kV2 + "/a", "merge-patch", R"({"spec":{"port":"9"}})").code, 200);
  expect(by_host, 1, "MODIFIED", "a");
  expect(by_both, 1, "DELETED", "a");
  ASSERT_EQ(rig_.patch(kV2 + "/b", "merge-patch", R"({"spec":{"host":"a"}})").code, 200);
  expect(by_host, 2, "ADDED", "b");
  const auto left = rig_.patch(kV2 + "/a", "merge-patch", R"({"spec":{"host":"z"}})");
  // As it was when it matched, at the revision of the change.
  EXPECT_EQ(expect(by_host, 3, "DELETED", "a"), left.version());
  EXPECT_EQ(by_host->event(3)["object"]["spec"]["host"].text(), "a");
  ASSERT_EQ(rig_.remove(kV1 + "/b").code, 200);
  expect(by_host, 4, "DELETED", "b");
}

TEST_F(ConversionWebhook, WhatCannotBeConvertedIsSelectedByNobody) {
  define("/fail");
  hook_.on("/fail", [](const Value&) { return R"("result":{"status":"Failed","message":"not today"})"; });
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  const auto list = rig_.get(kV2 + "?fieldSelector=spec.host%3Db");
  EXPECT_EQ(list.code, 500);
  EXPECT_THAT(list.text("message"), HasSubstr("failed: not today"));
  EXPECT_THAT(rig_.remove(kV2 + "?fieldSelector=spec.host%3Da").text("message"), HasSubstr("failed: not today"));
  EXPECT_EQ(rig_.get(kV1 + "/a").code, 200);
  const auto watching = rig_.watch(kV2 + "?watch=1&fieldSelector=spec.host%3Db");
  EXPECT_THAT(watching->event(0)["object"]["message"].string(), HasSubstr("failed: not today"));
  EXPECT_TRUE(watching->ended());
}

TEST_F(ConversionWebhook, AWatchThatCannotBeConvertedEndsWithTheReason) {
  define("/fail");
  hook_.on("/fail", [](const Value&) { return R"("result":{"status":"Failed","message":"not today"})"; });
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  const auto watching = rig_.watch(kV2 + "?watch=1");
  const auto error = watching->event(0);
  EXPECT_EQ(error["type"].text(), "ERROR");
  EXPECT_THAT(error["object"]["message"].string(), HasSubstr("failed: not today"));
  EXPECT_TRUE(watching->ended());
}

TEST_F(ConversionWebhook, WhatWasStoredInAnotherVersionIsKnown) {
  define();
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  redefine(R"([{"op":"replace","path":"/spec/versions","value":[)" + versions("v2") + "]}]", [this] {
    return rig_.post(kV2, v2("probe")).code == 201 && rig_.remove(kV2 + "/probe").code == 200 &&
           rig_.post(kV1 + "?dryRun=All", v1("probe")).code == 201 && asked() > 0;
  });
  EXPECT_EQ(rig_.get(kV1 + "/a")["spec"]["hostPort"].text(), "a:1");
  EXPECT_EQ(rig_.get(kV2 + "/a")["spec"]["host"].text(), "a");
  // A write brings it into today's.
  ASSERT_EQ(rig_.patch(kV2 + "/a", "merge-patch", R"({"metadata":{"labels":{"x":"y"}}})").code, 200);
  EXPECT_THAT(rig_.store().snapshot().get("endpoints.stable.example.com/test/a")->bytes,
              HasSubstr(R"("apiVersion":"stable.example.com/v2"})"));
  // Without the webhook the versions differ in name only, and nobody sees what the stored ones say.
  redefine(R"([{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}])",
           [this] { return !rig_.get(kV1 + "/a")["spec"].has("hostPort"); });
  const auto plain = rig_.get(kV1 + "/a");
  EXPECT_EQ(plain.text("apiVersion"), "stable.example.com/v1");
  EXPECT_EQ(plain.body.find("stable.example.com/v2\"}"), std::string::npos) << plain.body;
  EXPECT_EQ(rig_.patch(kV1 + "/a", "merge-patch", R"({"metadata":{"labels":{"x":"z"}}})").code, 200);
}

struct BadAnswer {
  const char *name, *message;
  std::string (*answer)(const Value& request);
};
void PrintTo(const BadAnswer& bad, std::ostream* out) { *out << bad.name; }
class BadConversion : public ConversionWebhook, public testing::WithParamInterface<BadAnswer> {};

TEST_P(BadConversion, IsRefusedInUpstreamsWords) {
  define("/bad");
  hook_.on("/bad", GetParam().answer);
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  const std::string about = "conversion webhook for stable.example.com/v1, Kind=Endpoint ";
  for (const bool table : {false, true}) {
    for (const std::string& path : {kV2 + "/a", kV2}) {
      const auto got = table ? rig_.get(path, {{"Accept", kTable}}) : rig_.get(path);
      EXPECT_EQ(got.code, 500);
      EXPECT_EQ(got.text("message"), about + GetParam().message);
      EXPECT_EQ(got.text("reason"), "");
    }
  }
  EXPECT_EQ(rig_.patch(kV2 + "/a", "merge-patch", R"({"spec":{"host":"c"}})").text("message"),
            about + GetParam().message);
  const auto made = rig_.post(kV2, v2("b"));
  EXPECT_EQ(made.code, 500);
  EXPECT_THAT(made.text("message"), HasSubstr("conversion webhook for stable.example.com/v2, Kind=Endpoint "));
  EXPECT_EQ(rig_.get(kV1 + "/b").code, 404);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadConversion,
    testing::Values(
        BadAnswer{"status", "failed: response.result.status was '', not 'Success'",
                  [](const Value&) { return std::string(R"("convertedObjects":[])"); }},
        BadAnswer{"message", "failed: why not",
                  [](const Value&) { return std::string(R"("result":{"status":"Failed","message":"why not"})"); }},
        BadAnswer{"number", "returned 0 objects, expected 1",
                  [](const Value&) { return std::string(R"("result":{"status":"Success"})"); }},
        BadAnswer{"uid", "failed: no response provided",
                  [](const Value&) {
                    return std::string(R"(raw {"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"})");
                  }},
        BadAnswer{"kind",
                  "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
                  [](const Value&) { return std::string("raw {}"); }},
        BadAnswer{"version",
                  "returned invalid object at index 0: invalid groupVersion (expected stable.example.com/v2, received "
                  "stable.example.com/v9)",
                  [](const Value& request) {
                    return answer_with(request, [](Value o) { o.put("apiVersion", "stable.example.com/v9"); });
                  }},
        BadAnswer{
            "name", "returned invalid object: must have the same name: a != z",
            [](const Value& request) { return answer_with(request, [](Value o) { o["metadata"].put("name", "z"); }); }},
        BadAnswer{
            "labels", "returned invalid metadata: invalid metadata.labels of type int64 in converted object",
            [](const Value& request) { return answer_with(request, [](Value o) { o["metadata"].put("labels", 3); }); }},
        BadAnswer{
            "label",
            "returned invalid metadata: metadata.labels: Invalid value: \"a b\": a valid label must be an empty string "
            "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            [](const Value& request) {
              return answer_with(request, [](Value o) { o["metadata"].object("labels").put("x", "a b"); });
            }}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(ConversionWebhook, OfTheMetadataOnlyLabelsAndAnnotationsAreTheirs) {
  define("/meta");
  hook_.on("/meta", [](const Value& request) {
    return answer_with(request, [](Value object) {
      object["metadata"].put("generation", 77);
      object["metadata"].object("labels").put("by", "hook");
      object["metadata"].erase("annotations");
    });
  });
  ASSERT_EQ(rig_.post(kV1, v1("a", R"(,"annotations":{"x":"y"})")).code, 201);
  const auto got = rig_.get(kV2 + "/a");
  EXPECT_EQ(got["metadata"]["generation"].integer(), 1);
  EXPECT_EQ(got["metadata"]["labels"].to_json(), R"({"by":"hook"})");
  EXPECT_FALSE(got["metadata"].has("annotations"));
  EXPECT_TRUE(got["metadata"].has("managedFields"));
}

TEST_F(ConversionWebhook, OneThatHangsHoldsNobodyElse) {
  define("/hang");
  hook_.on("/hang", [](const Value&) { return "hang"; });
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  std::vector<Watching> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(rig_.begin("GET", kV2 + "/a"));
  const auto watching = rig_.watch(kV2 + "?watch=1");
  hook_.wait_asked("/hang", 1);
  EXPECT_EQ(rig_.get(kV1 + "/a").code, 200);  // in the stored version
  EXPECT_EQ(rig_.post(kV1, v1("b")).code, 201);
  EXPECT_EQ(rig_.get(kV1)["items"].size(), 2u);
  EXPECT_EQ(rig_.make_config_map("c").code, 201);
  for (const auto& one : waiting) EXPECT_FALSE(one->ended(std::chrono::seconds(0)));
}

TEST_F(ConversionWebhook, NobodyToAskIsSaid) {
  define("/convert");
  ASSERT_EQ(rig_.post(kV1, v1("a")).code, 201);
  redefine(R"([{"op":"replace","path":"/spec/conversion/webhook/clientConfig","value":{"service":{"namespace":"test",
             "name":"none","path":"/c"}}}])",
           [this] { return rig_.get(kV2 + "/a").code == 500; });
  EXPECT_EQ(rig_.get(kV2 + "/a").text("message"),
            "conversion webhook for stable.example.com/v1, Kind=Endpoint failed: Post "
            "\"https://none.test.svc:443/c?timeout=30s\": service \"none\" not found");
}

}  // namespace
}  // namespace sublet::apiserver
