// The border on every way into a pod: no endpoint lets through what another refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
using testing::EndsWith;

constexpr std::string_view kFrozen = "gpu-fraction";

Value annotation(const Value& pod, std::string_view key) { return pod["metadata"]["annotations"][key]; }

// As a template's `freeze` does it, and `deny` of a value that is no number.
ServerOptions with_frozen_share() {
  ServerOptions options;
  options.border = [](std::string_view, const Value& object, const Value& old) {
    AdmissionVerdict verdict;
    if (old && !annotation(old, kFrozen).equals(annotation(object, kFrozen)))
      verdict.denials.push_back({"FieldValueForbidden", "the share is frozen", ""});
    if (annotation(object, "gpu-memory").text() == "NaN")
      verdict.denials.push_back({"FieldValueForbidden", "no number", ""});
    return verdict;
  };
  return options;
}

std::string pod_with(const std::string& annotations) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{)" + annotations +
         R"(}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
}

std::string annotated_json(std::string_view kind, const std::string& annotations) {
  if (kind == "Pod") return pod_with(annotations);
  return R"({"apiVersion":"v1","kind":")" + std::string(kind) + R"(","metadata":{"name":"p","annotations":{)" +
         annotations + R"(}},"target":{"name":"n"}})";
}

struct Attack {
  std::string annotations;
  std::string key, kept;
};
const std::vector<Attack> kAttacks = {{R"("gpu-fraction":"0.9")", "gpu-fraction", "0.1"},
                                      {R"("gpu-fraction":null)", "gpu-fraction", "0.1"},
                                      {R"("gpu-fraction":"0.1","gpu-memory":"NaN")", "gpu-memory", ""}};

// One write of `annotations` to the pod by each method and patch type that an endpoint may know.
void write_in_every_way(Rig& rig, const std::string& path, std::string_view kind, const std::string& annotations) {
  const std::string body = annotated_json(kind, annotations);
  rig.post(path, body);
  rig.put(path, body);
  const std::string merge = R"({"metadata":{"annotations":{)" + annotations + "}}}";
  for (const auto* type : {"merge-patch", "strategic-merge-patch"}) rig.patch(path, type, merge);
  rig.patch(path, "json-patch", R"([{"op":"add","path":"/metadata/annotations","value":{)" + annotations + "}}]");
  rig.call("PATCH", path + "?fieldManager=attacker&force=true", body,
           {{"Content-Type", "application/apply-patch+yaml"}});
}

class BorderPaths : public testing::TestWithParam<bool> {};

TEST_P(BorderPaths, NoSubresourceLetsThroughWhatAnotherRefuses) {
  const bool going = GetParam();
  Rig rig({}, with_frozen_share());
  const auto routes = schema::Registry::builtin();
  const auto* pods = routes->find_resource("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  std::size_t ways = 0;
  std::vector<std::pair<std::string, std::string>> paths = {{"", "Pod"}};
  for (const auto& sub : pods->subresources) paths.emplace_back("/" + std::string(sub.name), sub.kind);
  ASSERT_GE(paths.size(), 8u);
  for (const auto& [subresource, kind] : paths)
    for (const Attack& attack : kAttacks) {
      ASSERT_EQ(rig.post(kDefaultPods, pod_with(R"("gpu-fraction":"0.1")")).code, 201);
      rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"finalizers":["a.b/c"]}})");
      if (going) rig.remove(kDefaultPods + "/p");
      write_in_every_way(rig, kDefaultPods + "/p" + subresource, kind, attack.annotations);
      const Reply now = rig.get(kDefaultPods + "/p");
      ASSERT_EQ(now.code, 200) << subresource;
      EXPECT_EQ(annotation(now.json.root(), attack.key).text(), attack.kept)
          << subresource << " " << attack.annotations;
      rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":0})");
      EXPECT_EQ(rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"finalizers":null}})").code, 200);
      ASSERT_EQ(rig.get(kDefaultPods + "/p").code, 404);
      ++ways;
    }
  EXPECT_GE(ways, 24u);
}

INSTANTIATE_TEST_SUITE_P(WhileItRunsAndWhileItEnds, BorderPaths, testing::Bool(),
                         [](const auto& way) { return way.param ? "going" : "running"; });

TEST(BorderPaths, WhatCrossesNothingPasses) {
  Rig rig({}, with_frozen_share());
  ASSERT_EQ(rig.post(kDefaultPods, pod_with(R"("gpu-fraction":"0.1")")).code, 201);
  const std::string bind = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","annotations":{"a":"b"}},)"
                           R"("target":{"name":"n"}})";
  EXPECT_EQ(rig.post(kDefaultPods + "/p/binding", bind).code, 201);
  EXPECT_EQ(rig.patch(kDefaultPods + "/p/status", "merge-patch",
                      R"({"metadata":{"annotations":{"c":"d"}},"status":{"message":"m"}})")
                .code,
            200);
  const Reply now = rig.get(kDefaultPods + "/p");
  EXPECT_EQ(annotation(now.json.root(), "a").text(), "b");
  EXPECT_EQ(annotation(now.json.root(), "c").text(), "d");
  EXPECT_EQ(now.text("status.message"), "m");
}

// What the syncer says of its addresses is its own word; what a tenant changes beside that is not.
TEST(BorderPaths, AServicesStatusIsNoWayRound) {
  ServerOptions options = with_frozen_share();
  options.carried_to_host = {{"", "services", "Service", true}};
  Rig rig({}, options);
  const std::string services = "/api/v1/namespaces/default/services";
  ASSERT_EQ(
      rig.post(
             services,
             R"({"metadata":{"name":"p","annotations":{"gpu-fraction":"0.1"}},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})")
          .code,
      201);
  for (const Attack& attack : kAttacks) {
    const std::string merge = R"({"metadata":{"annotations":{)" + attack.annotations + "}}}";
    for (const auto* subresource : {"", "/status"}) {
      EXPECT_EQ(rig.patch(services + "/p" + subresource, "merge-patch", merge).code, 403) << subresource << merge;
      EXPECT_EQ(annotation(rig.get(services + "/p").json.root(), attack.key).text(), attack.kept) << subresource;
    }
  }
  const std::string addresses = R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})";
  EXPECT_EQ(rig.patch(services + "/p/status", "merge-patch", addresses).code, 200);
}

TEST(Border, SaysFiftyReasonsAndHowManyMoreThereAre) {
  std::size_t reasons = 0;
  ServerOptions options;
  options.border = [&](std::string_view, const Value&, const Value&) {
    AdmissionVerdict verdict;
    for (std::size_t i = 0; i < reasons; ++i)
      verdict.denials.push_back({"FieldValueForbidden", "reason " + std::to_string(i), "spec"});
    return verdict;
  };
  Rig rig({}, options);
  const auto refused = [&](std::size_t count) {
    reasons = count;
    return rig.post(kDefaultPods, pod_with(""));
  };
  EXPECT_THAT(refused(50).text("message"), EndsWith("; spec: reason 49"));
  const auto many = refused(100'000);
  EXPECT_EQ(many.code, 403);
  EXPECT_THAT(many.text("message"), EndsWith("; spec: reason 49; and 99950 more"));
  EXPECT_EQ(many.json.root()["details"]["causes"].size(), 50u);
}

TEST(Border, IsAskedOfPodsAndOfTheKindsThatItJudges) {
  std::string asked;
  ServerOptions options;
  options.border = [&](std::string_view kind, const Value& object, const Value& old) {
    asked += std::string(kind) + (old ? "~ " : " ");
    AdmissionVerdict verdict;
    if (object["spec"].has("volumeName"))
      verdict.denials.push_back({"FieldValueForbidden", "not by name", "spec.volumeName"});
    return verdict;
  };
  options.carried_to_host = {{"", "persistentvolumeclaims", "PersistentVolumeClaim", true},
                             {"", "configmaps", "ConfigMap", false},
                             {"networking.k8s.io", "ingresses", "Ingress", false}};
  Rig rig({}, options);
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const auto claim = [](const std::string& spec) {
    return R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})" +
           spec + "}}";
  };
  const auto refused = rig.post(claims, claim(R"(,"volumeName":"pv")"));
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.text("message"), "persistentvolumeclaims \"c\" is forbidden: spec.volumeName: not by name");
  EXPECT_EQ(rig.post(claims, claim("")).code, 201);
  EXPECT_EQ(rig.patch(claims + "/c", "merge-patch", R"({"status":{"phase":"Pending"}})").code, 200);
  EXPECT_EQ(rig.post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c"}})").code, 201);
  EXPECT_EQ(rig.post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"c"}})").code, 201);
  EXPECT_EQ(rig.post(kDefaultPods, pod_with("")).code, 201);
  EXPECT_EQ(asked, "PersistentVolumeClaim PersistentVolumeClaim PersistentVolumeClaim~ Pod ");
  // What a host has too, has its effect there.
  const auto made =
      rig.post("/apis/networking.k8s.io/v1/namespaces/default/ingresses",
               R"({"metadata":{"name":"i"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})");
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.headers.get("Warning"), "");
}

}  // namespace
}  // namespace sublet::apiserver
