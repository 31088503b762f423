// Server-side apply and metadata.managedFields, through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kApplyType = "application/apply-patch+yaml";
const std::string kDeployments = "/apis/apps/v1/namespaces/test/deployments";
const std::string kDeploymentSpec =
    R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[)"
    R"({"name":"c","image":"i","ports":[{"containerPort":80}]}]}})";

std::string config_map(std::string_view data, std::string_view meta = "") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a")" + std::string(meta) + R"(},"data":)" +
         std::string(data) + "}";
}

std::string deployment(std::string_view more = "") {
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{)" + kDeploymentSpec +
         std::string(more) + "}}";
}

Reply patch(Rig& rig, const std::string& target, std::string_view type, std::string body) {
  return rig.call("PATCH", target, std::move(body), {{"Content-Type", std::string(type)}});
}

Reply apply(Rig& rig, const std::string& target, std::string_view manager, std::string body, bool force = false) {
  const std::string query = "?fieldManager=" + std::string(manager) + (force ? "&force=true" : "");
  return patch(rig, target + query, kApplyType, std::move(body));
}

/// "kubectl Update v1 {...}" of each entry, with its subresource.
std::vector<std::string> owners(const Reply& reply) {
  std::vector<std::string> list;
  for (const Value entry : reply["metadata"]["managedFields"]) {
    std::string text = entry["manager"].string() + " " + entry["operation"].string();
    if (entry.has("subresource")) text += "/" + entry["subresource"].string();
    list.push_back(text + " " + entry["apiVersion"].string() + " " + entry["fieldsV1"].to_json());
  }
  return list;
}

TEST(ManagedFields, ACreateOwnsWhatItSendsAndDefaults) {
  Rig rig;
  const auto made = rig.call("POST", kDeployments, deployment(R"(,"replicas":2)"),
                             {{"Content-Type", "application/json"}, {"User-Agent", "kubectl/v1.36.3 (linux/amd64)"}});
  ASSERT_EQ(made.code, 201) << made.body;
  const Value entry = made["metadata"]["managedFields"].at(0);
  EXPECT_EQ(entry["time"].text(), made.text("metadata.creationTimestamp"));
  EXPECT_EQ(entry["fieldsType"].text(), "FieldsV1");
  // As kube-apiserver v1.36 has it: no "." where Go's types always have a value, one where they have a pointer or map.
  EXPECT_THAT(
      owners(made),
      ElementsAre(
          R"(kubectl Update apps/v1 {"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},)"
          R"("f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},)"
          R"("f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{)"
          R"("f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{)"
          R"(".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},)"
          R"("f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},)"
          R"("f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}})"));
}

TEST(ManagedFields, AnUpdateTakesWhatItChanges) {
  Rig rig;
  rig.post(kConfigMaps + "?fieldManager=one", config_map(R"({"x":"1","y":"1"})"));
  const auto changed = rig.put(kConfigMaps + "/a?fieldManager=two", config_map(R"({"x":"1","y":"2","z":"1"})"));
  EXPECT_THAT(owners(changed), ElementsAre(R"(one Update v1 {"f:data":{".":{},"f:x":{}}})",
                                           R"(two Update v1 {"f:data":{"f:y":{},"f:z":{}}})"));
  const auto removed = patch(rig, kConfigMaps + "/a?fieldManager=three", "application/merge-patch+json",
                             R"({"data":{"y":null},"metadata":{"labels":{"l":"1"}}})");
  EXPECT_THAT(owners(removed),
              testing::UnorderedElementsAre(R"(one Update v1 {"f:data":{".":{},"f:x":{}}})",
                                            R"(three Update v1 {"f:metadata":{"f:labels":{".":{},"f:l":{}}}})",
                                            R"(two Update v1 {"f:data":{"f:z":{}}})"));
}

TEST(ManagedFields, WhoIsUnknown) {
  Rig rig;
  const auto made = rig.call("POST", kConfigMaps, config_map("{}"), {{"Content-Type", "application/json"}});
  EXPECT_EQ(made["metadata"]["managedFields"].at(0)["manager"].text("none"), "none") << "it sets nothing that counts";
  const auto other =
      rig.call("PUT", kConfigMaps + "/a", config_map(R"({"x":"1"})"), {{"Content-Type", "application/json"}});
  EXPECT_TRUE(owners(other).empty()) << "not tracked before the first apply";
}

TEST(ManagedFields, NoWriteForNothing) {
  Rig rig;
  const auto made = rig.post(kConfigMaps + "?fieldManager=one", config_map(R"({"x":"1"})"));
  const auto same = rig.put(kConfigMaps + "/a?fieldManager=two", config_map(R"({"x":"1"})"));
  EXPECT_EQ(same.version(), made.version());
  EXPECT_EQ(owners(same), owners(made));
  const auto own = rig.put(kConfigMaps + "/a?fieldManager=two", std::string(made.body));
  EXPECT_EQ(own.version(), made.version());
}

TEST(ManagedFields, OfWhatIsAnsweredAlone) {
  Rig rig;
  const auto review = rig.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=me",
                               R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})");
  EXPECT_THAT(owners(review), ElementsAre(R"(me Update authorization.k8s.io/v1 {"f:spec":{"f:resourceAttributes":{)"
                                          R"(".":{},"f:resource":{},"f:verb":{}}}})"));
}

TEST(ManagedFields, StatusIsItsEndpointsAlone) {
  Rig rig;
  rig.post(kDeployments + "?fieldManager=one", deployment());
  const auto status = patch(rig, kDeployments + "/d/status?fieldManager=ctl", "application/merge-patch+json",
                            R"({"status":{"replicas":1},"spec":{"replicas":7},"metadata":{"labels":{"l":"1"}}})");
  ASSERT_EQ(status.code, 200) << status.body;
  EXPECT_THAT(owners(status), testing::Contains(R"(ctl Update/status apps/v1 {"f:status":{"f:replicas":{}}})"));
  const auto main = patch(rig, kDeployments + "/d?fieldManager=three", "application/merge-patch+json",
                          R"({"status":{"replicas":9}})");
  EXPECT_EQ(owners(main), owners(status)) << "status is not the main endpoint's";
}

TEST(ManagedFields, ClearedByTheUser) {  // managedFields: [] and [{}]
  Rig rig;
  for (const std::string_view empty : {"[]", "[{}]"}) {
    rig.post(kConfigMaps + "?fieldManager=one", config_map(R"({"x":"1"})"));
    const auto cleared = patch(rig, kConfigMaps + "/a", "application/merge-patch+json",
                               R"({"metadata":{"managedFields":)" + std::string(empty) + "}}");
    ASSERT_EQ(cleared.code, 200) << cleared.body;
    EXPECT_FALSE(cleared["metadata"].has("managedFields"));
    const auto changed = rig.put(kConfigMaps + "/a?fieldManager=two", config_map(R"({"x":"2"})"));
    EXPECT_FALSE(changed["metadata"].has("managedFields")) << "an update does not begin to track";
    const auto applied = apply(rig, kConfigMaps + "/a", "me", config_map(R"({"y":"1"})"));
    EXPECT_THAT(owners(applied), ElementsAre(R"(me Apply v1 {"f:data":{"f:y":{}}})",
                                             R"(before-first-apply Update v1 {"f:data":{".":{},"f:x":{}}})"));
    rig.remove(kConfigMaps + "/a");
  }
}

TEST(ManagedFields, ClearedByAPut) {
  Rig rig;
  rig.post(kConfigMaps + "?fieldManager=one", config_map(R"({"x":"1"})"));
  const auto cleared = rig.put(kConfigMaps + "/a", config_map(R"({"x":"1"})", R"(,"managedFields":[])"));
  EXPECT_FALSE(cleared["metadata"].has("managedFields")) << cleared.body;
}

TEST(ManagedFields, WhatIsNotReadableIsIgnored) {
  Rig rig;
  const auto made = rig.post(kConfigMaps + "?fieldManager=one", config_map(R"({"x":"1"})"));
  const auto bad = patch(
      rig, kConfigMaps + "/a?fieldManager=two", "application/merge-patch+json",
      R"({"data":{"y":"1"},"metadata":{"managedFields":[{"manager":"m","operation":"Steal","apiVersion":"v1"}]}})");
  EXPECT_THAT(owners(bad),
              ElementsAre(R"(one Update v1 {"f:data":{".":{},"f:x":{}}})", R"(two Update v1 {"f:data":{"f:y":{}}})"));
}

TEST(ManagedFields, TenUpdatersAndTheAncients) {  // 51
  Rig rig;
  rig.post(kConfigMaps + "?fieldManager=m00", config_map(R"({"k00":"1"})"));
  Reply last;
  for (int i = 1; i < 12; ++i) {
    const std::string number = (i < 10 ? "0" : "") + std::to_string(i);
    last = patch(rig, kConfigMaps + "/a?fieldManager=m" + number, "application/merge-patch+json",
                 R"({"data":{"k)" + number + R"(":"1"}})");
  }
  const auto list = owners(last);
  EXPECT_EQ(list.size(), 10U);
  EXPECT_THAT(list,
              testing::Contains(R"(ancient-changes Update v1 {"f:data":{".":{},"f:k00":{},"f:k01":{},"f:k02":{}}})"));
}

TEST(Apply, CreatesAndOwns) {  // 47
  Rig rig;
  const auto made = apply(rig, kConfigMaps + "/a", "me", config_map(R"({"x":"1"})"));
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_THAT(owners(made), ElementsAre(R"(me Apply v1 {"f:data":{"f:x":{}}})"));
  EXPECT_EQ(made["metadata"]["managedFields"].at(0)["time"].text(), made.text("metadata.creationTimestamp"));
  const auto again = apply(rig, kConfigMaps + "/a", "me", config_map(R"({"x":"1"})"));
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.version(), made.version()) << "nothing changed";
  EXPECT_EQ(apply(rig, kConfigMaps + "/none", "me", config_map("{}")).code, 400) << "the URL's name is another";
  EXPECT_EQ(apply(rig, kDeployments + "/d/status", "me", deployment()).code, 404);
}

TEST(Apply, ConflictsForceAndSharing) {  // 47
  Rig rig;
  apply(rig, kConfigMaps + "/a", "one", config_map(R"({"x":"1","y":"1"})"));
  const auto refused = apply(rig, kConfigMaps + "/a", "two", config_map(R"({"x":"2"})"));
  ASSERT_EQ(refused.code, 409) << refused.body;
  EXPECT_EQ(refused.text("reason"), "Conflict");
  EXPECT_EQ(refused.text("message"), R"(Apply failed with 1 conflict: conflict with "one": .data.x)");
  const Value cause = refused["details"]["causes"].at(0);
  EXPECT_EQ(cause["reason"].text(), "FieldManagerConflict");
  EXPECT_EQ(cause["message"].text(), R"(conflict with "one")");
  EXPECT_EQ(cause["field"].text(), ".data.x");
  EXPECT_THAT(apply(rig, kConfigMaps + "/a", "two", config_map(R"({"x":"2","y":"2"})")).text("message"),
              "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.x\n- .data.y");

  const auto shared = apply(rig, kConfigMaps + "/a", "two", config_map(R"({"y":"1"})"));
  EXPECT_EQ(shared.code, 200);
  const auto forced = apply(rig, kConfigMaps + "/a", "two", config_map(R"({"x":"2","y":"1"})"), true);
  EXPECT_THAT(owners(forced), testing::UnorderedElementsAre(R"(one Apply v1 {"f:data":{"f:y":{}}})",
                                                            R"(two Apply v1 {"f:data":{"f:x":{},"f:y":{}}})"));
  const auto left = apply(rig, kConfigMaps + "/a", "one", config_map("{}"));
  EXPECT_EQ(left["data"].to_json(), R"({"x":"2","y":"1"})") << "the other one's stay";
  const auto gone = apply(rig, kConfigMaps + "/a", "two", config_map(R"({"x":"2"})"));
  EXPECT_EQ(gone["data"].to_json(), R"({"x":"2"})") << "nobody's any more";
}

TEST(Apply, NamesUpdatersWithTheirVersion) {
  Rig rig;
  rig.post(kDeployments + "?fieldManager=kubectl-create", deployment(R"(,"replicas":1)"));
  const auto refused = apply(rig, kDeployments + "/d", "me", deployment(R"(,"replicas":3)"));
  EXPECT_EQ(refused.text("message"),
            R"(Apply failed with 1 conflict: conflict with "kubectl-create" using apps/v1: .spec.replicas)");
}

TEST(Apply, MergesListsByKeyAndKeepsDefaults) {
  Rig rig;
  apply(rig, kDeployments + "/d", "one", deployment());
  const auto both =
      apply(rig, kDeployments + "/d", "two",
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"spec":{)"
            R"("containers":[{"name":"side","image":"s"}]}}}})");
  ASSERT_EQ(both.code, 200) << both.body;
  const Value containers = both["spec"]["template"]["spec"]["containers"];
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(containers.at(0)["name"].text(), "c");
  EXPECT_EQ(containers.at(1)["imagePullPolicy"].text(), "Always");
  const auto one =
      apply(rig, kDeployments + "/d", "two", R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}})");
  EXPECT_EQ(one["spec"]["template"]["spec"]["containers"].size(), 1U) << "its container goes, defaults and all";
}

TEST(Apply, RefusesWhatIsWrong) {
  Rig rig;
  const auto nobody = patch(rig, kConfigMaps + "/a", kApplyType, config_map("{}"));
  EXPECT_EQ(nobody.code, 422);
  EXPECT_EQ(nobody.text("message"),
            R"(PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch)");
  EXPECT_EQ(patch(rig, kConfigMaps + "/a?force=true", "application/merge-patch+json", "{}").text("message"),
            R"(PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch)");
  EXPECT_EQ(rig.post(kConfigMaps + "?fieldManager=" + std::string(129, 'a'), config_map("{}")).code, 422);
  EXPECT_EQ(rig.post(kConfigMaps + "?fieldManager=a%0Ab", config_map("{}")).code, 422);
  const auto unknown = apply(rig, kDeployments + "/d", "me", deployment(R"(,"foo":1)"));
  EXPECT_EQ(unknown.code, 500);
  EXPECT_EQ(
      unknown.text("message"),
      "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema");
  EXPECT_FALSE(unknown.json.root().has("reason"));
  EXPECT_EQ(apply(rig, kDeployments + "/d", "me", config_map("{}")).text("message"),
            "invalid object type: /v1, Kind=ConfigMap");
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", config_map("{}", R"(,"managedFields":[])")).text("message"),
            "metadata.managedFields must be nil");
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", config_map("{}", R"(,"uid":"u")")).code, 409);
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", "a: [").code, 400);
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", config_map("{}", R"(,"resourceVersion":"x")")).code, 400);
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", config_map("{}", R"(,"resourceVersion":"1")")).code, 201);
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me", config_map("{}", R"(,"resourceVersion":"1")")).code, 409);
}

TEST(Apply, TakesYamlAndJudgesTwins) {
  Rig rig;
  const std::string twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n  x: \"2\"\n";
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "me&fieldValidation=Strict", twice).code, 400);
  const auto warned = apply(rig, kConfigMaps + "/a", "me", twice);
  EXPECT_EQ(warned.code, 201) << warned.body;
  EXPECT_THAT(std::string(warned.headers.get("Warning")), HasSubstr("already set in map"));
  EXPECT_EQ(warned.text("data.x"), "2");
}

TEST(Apply, DryRunStoresNothing) {
  Rig rig;
  const auto dry = apply(rig, kConfigMaps + "/a", "me&dryRun=All", config_map(R"({"x":"1"})"));
  EXPECT_EQ(dry.code, 201) << dry.body;
  EXPECT_EQ(owners(dry).size(), 1U);
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
}

TEST(Apply, KubectlTakesOverItsOwnAnnotation) {  // 50
  Rig rig;
  const std::string last =
      R"({\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}})";
  rig.post(kConfigMaps + "?fieldManager=kubectl-client-side-apply",
           config_map(R"({"x":"1"})",
                      R"(,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":")" + last + R"("})"));
  EXPECT_EQ(apply(rig, kConfigMaps + "/a", "other", config_map(R"({"x":"2"})")).code, 409);
  const auto applied = apply(rig, kConfigMaps + "/a", "kubectl", config_map(R"({"x":"2"})"));
  ASSERT_EQ(applied.code, 200) << applied.body;
  EXPECT_EQ(applied["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].text(),
            R"({"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a"}})"
            "\n");
}

TEST(Apply, Status) {
  Rig rig;
  rig.post(kDeployments + "?fieldManager=one", deployment());
  const auto applied =
      apply(rig, kDeployments + "/d/status", "ctl",
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"status":{"replicas":3}})");
  ASSERT_EQ(applied.code, 200) << applied.body;
  EXPECT_EQ(applied["status"]["replicas"].integer(), 3);
  EXPECT_THAT(owners(applied), testing::Contains(R"(ctl Apply/status apps/v1 {"f:status":{"f:replicas":{}}})"));
}

TEST(Apply, ScaleIsOwnershipOfReplicas) {  // 52
  Rig rig;
  apply(rig, kDeployments + "/d", "one", deployment(R"(,"replicas":1)"));
  const auto scaled = patch(rig, kDeployments + "/d/scale?fieldManager=hpa", "application/merge-patch+json",
                            R"({"spec":{"replicas":5}})");
  ASSERT_EQ(scaled.code, 200) << scaled.body;
  EXPECT_FALSE(scaled["metadata"].has("managedFields")) << "a Scale shows none";
  const auto now = rig.get(kDeployments + "/d");
  EXPECT_THAT(owners(now), testing::Contains(R"(hpa Update/scale apps/v1 {"f:spec":{"f:replicas":{}}})"));
  EXPECT_THAT(owners(now).front(), testing::Not(HasSubstr("f:replicas")));
  const auto without = apply(rig, kDeployments + "/d", "one", deployment());
  EXPECT_EQ(without["spec"]["replicas"].integer(), 5) << "the autoscaler's stays";
  const auto again = patch(rig, kDeployments + "/d/scale?fieldManager=hpa", "application/merge-patch+json",
                           R"({"spec":{"replicas":5}})");
  EXPECT_EQ(rig.get(kDeployments + "/d").version(), without.version());
  const std::string scale =
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":6}})";
  EXPECT_EQ(apply(rig, kDeployments + "/d/scale", "me", scale).code, 409);
  EXPECT_EQ(apply(rig, kDeployments + "/d/scale", "me", scale, true).code, 200);
  EXPECT_THAT(owners(rig.get(kDeployments + "/d")),
              testing::Contains(R"(me Apply/scale apps/v1 {"f:spec":{"f:replicas":{}}})"));
}

TEST(Apply, OtherVersionsOfAnObject) {  // events.k8s.io/v1 is stored as core/v1
  Rig rig;
  const std::string event =
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"namespace":"test","name":"x"},)"
      R"("message":"m"})";
  ASSERT_EQ(rig.post("/api/v1/namespaces/test/events?fieldManager=one", event).code, 201);
  const auto refused = apply(rig, "/apis/events.k8s.io/v1/namespaces/test/events/e", "two",
                             R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"note":"n"})");
  EXPECT_EQ(refused.code, 409) << refused.body;
  EXPECT_EQ(refused.text("message"), R"(Apply failed with 1 conflict: conflict with "one" using v1: .message)");
}

TEST(Apply, TwoAtOnceBothCount) {
  Rig rig;
  const auto one = rig.begin("PATCH", kConfigMaps + "/a?fieldManager=one", config_map(R"({"x":"1"})"),
                             {{"Content-Type", std::string(kApplyType)}});
  const auto two = rig.begin("PATCH", kConfigMaps + "/a?fieldManager=two", config_map(R"({"y":"1"})"),
                             {{"Content-Type", std::string(kApplyType)}});
  ASSERT_TRUE(one->ended() && two->ended());
  EXPECT_EQ(one.tap->code() + two.tap->code(), 201 + 200);
  EXPECT_EQ(rig.get(kConfigMaps + "/a")["data"].to_json(), R"({"x":"1","y":"1"})");
}

}  // namespace
}  // namespace sublet::apiserver
