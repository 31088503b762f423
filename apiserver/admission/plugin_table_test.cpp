// Which plugin runs where: the table against upstream's (Handler operations, and the first checks of each plugin's
// Admit and Validate, v1.36), and what a wrong row would do.
#include "apiserver/admission/plugin_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "apiserver/server_testing.h"
#include "tests/support/objects.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;
using testing_support::pod;

// "LimitRanger UPDATE pods/resize", of both passes.
std::set<std::string> rows_of_table() {
  constexpr std::pair<Operation, std::string_view> kNames[] = {
      {kCreate, "CREATE"}, {kUpdate, "UPDATE"}, {kRemove, "DELETE"}, {kConnect, "CONNECT"}};
  std::set<std::string> rows;
  for (const PluginRow& row : plugin_table()) {
    if (row.name.starts_with("sublet.dev/")) continue;
    for (const AdmittedResource& one : row.resources)
      for (const auto& [operation, name] : kNames)
        if (one.operations & operation)
          rows.insert(std::string(row.name) + " " + std::string(name) + " " + std::string(one.resource) +
                      (one.group.empty() || one.group == "*" ? "" : "." + std::string(one.group)) +
                      (one.subresource.empty() ? "" : "/" + std::string(one.subresource)));
  }
  return rows;
}

TEST(PluginTable, IsUpstreams) {
  std::set<std::string> upstream = {
      "CertificateApproval UPDATE certificatesigningrequests.certificates.k8s.io/approval",
      "CertificateSigning UPDATE certificatesigningrequests.certificates.k8s.io/status",
      "CertificateSubjectRestriction CREATE certificatesigningrequests.certificates.k8s.io",
      "ClusterTrustBundleAttest CREATE clustertrustbundles.certificates.k8s.io",
      "ClusterTrustBundleAttest UPDATE clustertrustbundles.certificates.k8s.io",
      "DefaultIngressClass CREATE ingresses.networking.k8s.io",
      "DefaultStorageClass CREATE persistentvolumeclaims",
      "DefaultTolerationSeconds CREATE pods",
      "DefaultTolerationSeconds UPDATE pods",
      "LimitRanger CREATE persistentvolumeclaims",
      "LimitRanger UPDATE persistentvolumeclaims",
      "LimitRanger CREATE pods",
      "LimitRanger UPDATE pods/resize",
      "NamespaceLifecycle CREATE */*",
      "NamespaceLifecycle UPDATE */*",
      "NamespaceLifecycle DELETE */*",
      "PersistentVolumeClaimResize UPDATE persistentvolumeclaims",
      "PodGroupProtection CREATE podgroups.scheduling.k8s.io",
      "PodGroupWorkloadExists CREATE podgroups.scheduling.k8s.io",
      "PodTopologyLabels CREATE pods",
      "PodTopologyLabels CREATE pods/binding",
      "Priority CREATE podgroups.scheduling.k8s.io",
      "Priority CREATE pods",
      "Priority UPDATE pods",
      "Priority CREATE priorityclasses.scheduling.k8s.io",
      "Priority UPDATE priorityclasses.scheduling.k8s.io",
      "RuntimeClass CREATE pods",
      "ServiceAccount CREATE pods",
      "StorageObjectInUseProtection CREATE persistentvolumeclaims",
      "StorageObjectInUseProtection CREATE persistentvolumes",
      "StorageObjectInUseProtection CREATE volumeattributesclasses.storage.k8s.io",
      "TaintNodesByCondition CREATE nodes",
      "PodSecurity UPDATE pods/ephemeralcontainers",
  };
  for (const std::string resource :
       {"pods", "namespaces", "podtemplates", "replicationcontrollers", "daemonsets.apps", "deployments.apps",
        "replicasets.apps", "statefulsets.apps", "cronjobs.batch", "jobs.batch"})
    for (const std::string operation : {"CREATE", "UPDATE"})
      upstream.insert("PodSecurity " + operation + " " + resource);
  EXPECT_EQ(rows_of_table(), upstream);
}

const std::string kBoundPod = pod("p").node("n").request("cpu", "1").limit("cpu", "2");

std::string resize(const std::string& cpu) {
  return R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"},"limits":{"cpu":")" + cpu +
         R"("}}}]}})";
}

TEST(LimitRanger, BoundsAResize) {
  Rig rig;
  ASSERT_EQ(rig.post(kDefaultPods, kBoundPod).code, 201);
  ASSERT_EQ(rig.post("/api/v1/namespaces/default/limitranges",
                     R"({"metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","max":{"cpu":"4"}}]}})")
                .code,
            201);
  EXPECT_EQ(rig.patch(kDefaultPods + "/p/resize", "strategic-merge-patch", resize("4")).code, 200);
  const auto refused = rig.patch(kDefaultPods + "/p/resize", "strategic-merge-patch", resize("5"));
  EXPECT_EQ(refused.code, 403);
  EXPECT_THAT(refused.text("message"), HasSubstr("maximum cpu usage per Container is 4, but limit is 5"));
  EXPECT_EQ(rig.get(kDefaultPods + "/p")["spec"]["containers"].at(0)["resources"]["limits"]["cpu"].text(), "4");
  // Other updates of the pod are not judged, though it would no longer fit.
  ASSERT_EQ(rig.patch("/api/v1/namespaces/default/limitranges/r", "merge-patch",
                      R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"3"}}]}})")
                .code,
            200);
  EXPECT_EQ(rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
}

TEST(PodTopologyLabels, ComeWithACreateAndMayBeRemoved) {
  Rig rig;
  ASSERT_EQ(
      rig.post("/api/v1/nodes", R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/region":"r1"}}})").code,
      201);
  constexpr std::string_view kRegion = "topology.kubernetes.io/region";
  const auto region = [&rig, kRegion] { return rig.get(kDefaultPods + "/p")["metadata"]["labels"][kRegion].string(); };
  ASSERT_EQ(rig.post(kDefaultPods, kBoundPod).code, 201);
  EXPECT_EQ(region(), "r1");
  ASSERT_EQ(
      rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"labels":{"topology.kubernetes.io/region":null}}})")
          .code,
      200);
  EXPECT_EQ(region(), "");
  ASSERT_EQ(rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"annotations":{"x":"1"}}})").code, 200);
  EXPECT_EQ(region(), "");
}

TEST(NamespaceLifecycle, NoSubresourceIsCreatedInANamespaceThatEnds) {
  Rig rig;
  ASSERT_EQ(rig.post("/api/v1/namespaces", R"({"metadata":{"name":"going"}})").code, 201);
  const std::string pods = "/api/v1/namespaces/going/pods";
  ASSERT_EQ(rig.post(pods, kBoundPod).code, 201);
  ASSERT_EQ(rig.remove("/api/v1/namespaces/going").code, 200);
  const auto refused = rig.post(pods + "/p/eviction", R"({"metadata":{"name":"p"}})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.json["details"]["causes"].at(0)["reason"].text(), "NamespaceTerminating");
}

}  // namespace
}  // namespace sublet::apiserver
