#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kEnforce = "pod-security.kubernetes.io/enforce", kWarn = "pod-security.kubernetes.io/warn",
                           kAudit = "pod-security.kubernetes.io/audit";
constexpr std::string_view kHostPid = R"("hostPID":true)";
const std::string kViolation = R"(violates PodSecurity "baseline:latest": host namespaces (hostPID=true))";

std::string label(std::string_view name, std::string_view value) {
  return "\"" + std::string(name) + "\":\"" + std::string(value) + "\"";
}

std::string namespace_json(const std::string& labels, std::string_view name = "default") {
  return R"({"metadata":{"name":")" + std::string(name) + R"(","uid":"ns-uid","labels":{)" + labels +
         R"(}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})";
}

std::string secured_pod_json(std::string_view members) {
  return R"({"metadata":{"name":"p"},"spec":{)" + std::string(members) + (members.empty() ? "" : ",") +
         R"("containers":[{"name":"c","image":"x"}]}})";
}

std::string deployment_json(std::string_view members) {
  return R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":
      {"a":"b"}},"spec":{)" +
         std::string(members) + R"(,"containers":[{"name":"c","image":"x"}]}}}})";
}

class PodSecurity : public testing::Test {
 protected:
  void labels(const std::string& text) { bench_.store("namespaces/default", namespace_json(text)); }
  Prepared create(std::string_view members) { return bench_.create("pods", secured_pod_json(members)); }

  KindBench bench_;
};

TEST_F(PodSecurity, WithoutLabelsEverythingPasses) {
  const auto made = create(kHostPid);
  EXPECT_TRUE(made) << made.error();
  EXPECT_THAT(made.warnings, IsEmpty());
}

TEST_F(PodSecurity, EnforceRefusesPods) {
  labels(label(kEnforce, "baseline"));
  const auto refused = create(kHostPid);
  EXPECT_EQ(refused.error(), "pods \"p\" is forbidden: " + kViolation);
  EXPECT_EQ(refused.object.error().http_code(), 403);
  EXPECT_THAT(refused.warnings, IsEmpty()) << "who is refused needs no warning";
  EXPECT_TRUE(create(""));
  bench_.dry_run = true;
  EXPECT_FALSE(create(kHostPid));
}

TEST_F(PodSecurity, WarnLetsPassAndSaysSo) {
  labels(label(kWarn, "baseline"));
  const auto warned = create(kHostPid);
  EXPECT_TRUE(warned) << warned.error();
  EXPECT_THAT(warned.warnings, ElementsAre("would " + kViolation.substr(0, 7) + kViolation.substr(8)));
}

TEST_F(PodSecurity, AuditLetsPassInSilence) {
  labels(label(kAudit, "baseline"));
  const auto made = create(kHostPid);
  EXPECT_TRUE(made);
  EXPECT_THAT(made.warnings, IsEmpty());
}

TEST_F(PodSecurity, TheVersionCounts) {
  const std::string labelled =
      label(kEnforce, "baseline") + "," + label("pod-security.kubernetes.io/enforce-version", "v1.");
  const auto tcp = R"("securityContext":{"sysctls":[{"name":"net.ipv4.tcp_rmem","value":"1"}]})";
  labels(labelled.substr(0, labelled.size() - 1) + "31\"");
  EXPECT_EQ(create(tcp).error(),
            "pods \"p\" is forbidden: violates PodSecurity \"baseline:v1.31\": forbidden sysctls "
            "(net.ipv4.tcp_rmem)");
  labels(labelled.substr(0, labelled.size() - 1) + "32\"");
  EXPECT_TRUE(create(tcp));
}

TEST_F(PodSecurity, WhoMakesPodsIsWarnedOnly) {
  labels(label(kEnforce, "baseline"));
  const auto made = bench_.create("deployments", deployment_json(kHostPid));
  EXPECT_TRUE(made) << made.error();
  EXPECT_THAT(made.warnings,
              ElementsAre("would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)"));
  const auto cron = bench_.create("cronjobs", R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","jobTemplate":{
      "spec":{"template":{"spec":{"restartPolicy":"Never","hostPID":true,"containers":[{"name":"c","image":"x"}]}}}}}})");
  EXPECT_TRUE(cron) << cron.error();
  EXPECT_EQ(cron.warnings.size(), 1u);
  EXPECT_THAT(bench_.create("configmaps", R"({"metadata":{"name":"c"}})").warnings, IsEmpty());
}

TEST_F(PodSecurity, OfUpdatesOnlyThoseOfImagesAreJudged) {
  const auto before = create(kHostPid).root().to_json();
  labels(label(kEnforce, "baseline"));
  auto labelled = parse(before), other_image = parse(before);
  labelled["metadata"].object("labels").put("a", "b");
  other_image["spec"]["containers"].at(0).put("image", "y");
  EXPECT_EQ(bench_.update("pods", labelled.to_json(), before).error(), "");
  EXPECT_EQ(bench_.update("pods", before, before, "status").error(), "");
  EXPECT_EQ(bench_.update("pods", other_image.to_json(), before).error(), "pods \"p\" is forbidden: " + kViolation);
}

TEST_F(PodSecurity, WrongLabelsRefuseTheNamespaceAndCountAsRestricted) {
  const auto refused = bench_.create("namespaces", namespace_json(label(kEnforce, "strict"), "n"), "");
  EXPECT_EQ(refused.error(),
            "Namespace \"n\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "
            "\"strict\": must be one of privileged, baseline, restricted");
  labels(label(kEnforce, "strict"));  // stored before anybody looked
  EXPECT_THAT(create("").error(), testing::StartsWith("pods \"p\" is forbidden: violates PodSecurity "
                                                      "\"restricted:latest\""));
  const auto old = namespace_json(label(kEnforce, "strict"));
  EXPECT_TRUE(bench_.update("namespaces", old, old, "", "")) << "what is wrong already may stay";
  EXPECT_FALSE(bench_.update("namespaces", namespace_json(label(kEnforce, "stricter")), old, "", ""));
}

TEST_F(PodSecurity, WhoMakesANamespaceStricterIsToldOfItsPods) {
  const auto owned = R"("ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"o","controller":true}])";
  for (const auto* name : {"a1", "a2", "a3"})
    bench_.store("pods/default/" + std::string(name), R"({"metadata":{"name":")" + std::string(name) + "\"," + owned +
                                                          R"(},"spec":{"hostPID":true,"containers":[]}})");
  bench_.store("pods/default/b", R"({"metadata":{"name":"b"},"spec":{"hostPID":true,"containers":[
      {"name":"c","securityContext":{"privileged":true}}]}})");
  bench_.store("pods/default/fine", R"({"metadata":{"name":"fine"},"spec":{"containers":[{"name":"c"}]}})");
  const auto change = [&](const std::string& to, const std::string& from) {
    return bench_.update("namespaces", namespace_json(to), namespace_json(from), "", "").warnings;
  };
  const auto baseline = label(kEnforce, "baseline");
  EXPECT_THAT(change(baseline, ""),
              ElementsAre("existing pods in namespace \"default\" violate the new PodSecurity enforce level "
                          "\"baseline:latest\"",
                          "a1 (and 2 other pods): host namespaces", "b: host namespaces, privileged"));
  EXPECT_THAT(change(baseline, baseline), IsEmpty());
  EXPECT_THAT(change(baseline, label(kEnforce, "restricted")), IsEmpty()) << "less strict";
  EXPECT_THAT(change(label(kWarn, "baseline"), ""), IsEmpty()) << "nothing more is enforced";
}

TEST_F(PodSecurity, SomeAreExempt) {
  labels(label(kEnforce, "baseline"));
  bench_.options.pod_security.exempt_users = {"jane"};
  EXPECT_TRUE(create(kHostPid));
  EXPECT_THAT(bench_.create("deployments", deployment_json(kHostPid)).warnings, IsEmpty());
  bench_.options.pod_security = {};
  bench_.options.pod_security.exempt_namespaces = {"default"};
  EXPECT_TRUE(create(kHostPid));
  EXPECT_THAT(
      bench_.update("namespaces", namespace_json(label(kEnforce, "baseline")), namespace_json(""), "", "").warnings,
      ElementsAre("namespace \"default\" is exempt from Pod Security, and the policy (enforce=baseline:latest) "
                  "will be ignored"));
  bench_.options.pod_security = {};
  bench_.options.pod_security.exempt_runtime_classes = {"vm"};
  bench_.store("runtimeclasses.node.k8s.io/vm", R"({"metadata":{"name":"vm"},"handler":"vm"})");
  EXPECT_TRUE(create(R"("hostPID":true,"runtimeClassName":"vm")"));
  EXPECT_FALSE(create(kHostPid));
}

TEST_F(PodSecurity, DefaultsCountWhereLabelsSayNothing) {
  bench_.options.pod_security.defaults.enforce.level = podsecurity::Level::baseline;
  EXPECT_FALSE(create(kHostPid));
  labels(label(kEnforce, "privileged"));
  EXPECT_TRUE(create(kHostPid));
}

}  // namespace
}  // namespace sublet::apiserver
