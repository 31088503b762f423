// A tenant's own volumes between two servers. The test plays the host's volume controller.
#include <gtest/gtest.h>

#include "sublet/syncer/syncer.h"
#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kVolumes{"", "v1", "persistentvolumes"};

class VolumesSync : public TwoServers {
 protected:
  void SetUp() override {
    const auto loaded = patches::Template::load(
        "sync: {toHost: {persistentVolumes: {enabled: true}}}\n"
        "allow: {persistentVolumes: {nfsPaths: ['files.x:/a/*']}}\n",
        "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    resolved_template = loaded->resolve({}, "rag", "team").value();
    start_syncer();
  }

  void make_volume(const std::string& name, const std::string& more = "", const std::string& metadata = "",
                   const std::string& size = "5Gi") {
    tenant.create(kVolumes,
                  R"({"metadata":{"name":")" + name + "\"" + metadata + R"(},"spec":{"capacity":{"storage":")" + size +
                      R"("},"accessModes":["ReadWriteOnce"],"nfs":{"server":"files.x","path":"/a/b"})" + more + "}}");
  }
  void make_claim(const std::string& name, const std::string& more = R"(,"storageClassName":"")") {
    tenant.create(kClaims, R"({"metadata":{"name":")" + name +
                               R"(","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],)"
                               R"("resources":{"requests":{"storage":"2Gi"}})" +
                               more + "}}");
  }
  Document volume(const std::string& name) { return tenant.get(kVolumes, "", name); }
  Document claim(const std::string& name) { return tenant.get(kClaims, kTenantNamespace, name); }
  static std::string volume_name(const std::string& name) { return host_name(name, kHostNamespace, "rag"); }
  Document host_volume(const std::string& name) { return host.get(kVolumes, "", volume_name(name)); }
  Document host_claim(const std::string& name) { return host.get(kClaims, kHostNamespace, host_name_of(name)); }
  static bool is_there(const Document& object) { return object.root().is_object(); }

  void await_phase_of_volume(const std::string& name, std::string_view phase) {
    eventually([&] { return volume(name)["status"]["phase"].text() == phase; }, name + " is " + std::string(phase));
  }
  void await_on_host(const std::string& name) {
    eventually([&] { return is_there(host_volume(name)); }, "the host has volume " + name);
  }
  /// As the host's controller does it once both are there, by the volume's claimRef.
  void bind(const std::string& claim_name, const std::string& name) {
    eventually([&] { return is_there(host_claim(claim_name)); }, "the host has claim " + claim_name);
    await_on_host(name);
    host.patch(kVolumes, "", volume_name(name),
               R"({"spec":{"claimRef":{"uid":")" + host_claim(claim_name)["metadata"]["uid"].string() + "\"}}}");
    say_on_host(name, "Bound");
    host.patch(kClaims, kHostNamespace, host_name_of(claim_name),
               R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes",)"
               R"("pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"volumeName":")" +
                   volume_name(name) + "\"}}");
    host.patch(kClaims, kHostNamespace, host_name_of(claim_name), R"({"status":{"phase":"Bound"}})", "status");
    eventually([&] { return claim(claim_name)["status"]["phase"].text() == "Bound"; }, claim_name + " is bound");
    await_phase_of_volume(name, "Bound");
  }
  void say_on_host(const std::string& name, const std::string& phase) {
    host.patch(kVolumes, "", volume_name(name), R"({"status":{"phase":")" + phase + "\"}}", "status");
  }
  // As the controllers do it that protect what is in use; these servers have none.
  static void let_go(Cluster& side, const kube::Resource& resource, const std::string& space, const std::string& name) {
    side.patch(resource, space, name, R"({"metadata":{"finalizers":null}})");
    side.remove(resource, space, name);
  }
  void end_claim(const std::string& name) {
    host.patch(kClaims, kHostNamespace, host_name_of(name), R"({"metadata":{"finalizers":null}})");
    let_go(tenant, kClaims, kTenantNamespace, name);
    eventually([&] { return !is_there(host_claim(name)); }, "claim " + name + " has left the host");
  }
  /// Its claim goes, and the host says what becomes of it.
  void release(const std::string& claim_name, const std::string& name) {
    end_claim(claim_name);
    say_on_host(name, "Released");
    await_phase_of_volume(name, "Released");
  }
  void await_another_on_host(const std::string& name, const std::string& uid_before) {
    eventually(
        [&] {
          const Document there = host_volume(name);
          return is_there(there) && there["metadata"]["uid"].text() != uid_before;
        },
        "the host's is made anew");
    EXPECT_TRUE(host_volume(name)["spec"]["claimRef"]["uid"].missing());
  }
  void free_on_host(const std::string& name) {
    host.patch(kVolumes, "", volume_name(name), R"({"metadata":{"finalizers":null}})");
  }
};

TEST_F(VolumesSync, AVolumeStaysAtHomeUntilAClaimWantsItAndThenIsForThatOne) {
  make_volume("data");
  make_volume("larger", "", "", "9Gi");
  await_phase_of_volume("data", "Available");
  await_phase_of_volume("larger", "Available");
  settle();
  EXPECT_FALSE(is_there(host_volume("data"))) << "there anybody's claim could get it";
  make_claim("mine");
  await_on_host("data");
  EXPECT_EQ(volume("data")["spec"]["claimRef"]["uid"].text(), claim("mine")["metadata"]["uid"].text());
  const Document there = host_volume("data");
  EXPECT_EQ(there["spec"]["claimRef"].to_json(), R"({"kind":"PersistentVolumeClaim","namespace":"team","name":")" +
                                                     host_name_of("mine") + R"(","apiVersion":"v1"})");
  bind("mine", "data");
  EXPECT_EQ(claim("mine")["spec"]["volumeName"].text(), "data") << "by its own name";
  EXPECT_FALSE(is_there(host_volume("larger")));
  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
}

TEST_F(VolumesSync, AClaimNamesItsVolumeFromTheStartOnTheHostToo) {
  faults.inject("POST", "/persistentvolumes", 1000, Faults::status(503, "ServiceUnavailable"));
  make_volume("data", R"(,"claimRef":{"namespace":"default","name":"mine"},"storageClassName":"made-by-the-host")");
  make_volume("other", R"(,"storageClassName":"made-by-the-host")");
  await_phase_of_volume("other", "Available");
  make_claim("mine", R"(,"storageClassName":"made-by-the-host")");
  make_claim("second", R"(,"storageClassName":"made-by-the-host")");
  for (const auto& [claim_name, name] : {std::pair("mine", "data"), std::pair("second", "other")}) {
    eventually([&, one = claim_name] { return is_there(host_claim(one)); }, "the claim is there");
    EXPECT_EQ(host_claim(claim_name)["spec"]["volumeName"].text(), volume_name(name))
        << "the host would make another volume for it";
    EXPECT_EQ(claim(claim_name)["spec"]["volumeName"].text(), name);
  }
  faults.clear();
  bind("mine", "data");
  bind("second", "other");
}

TEST_F(VolumesSync, AClaimMayNameItsVolumeAndChooseByLabels) {
  make_volume("data", "", R"(,"labels":{"for":"db"})", "9Gi");
  make_volume("smaller");
  await_phase_of_volume("data", "Available");
  await_phase_of_volume("smaller", "Available");
  make_claim("none", R"(,"storageClassName":"","selector":{"matchLabels":{"for":"nobody"}})");
  EXPECT_EQ(await_event("none", "FailedBinding"), "no persistent volumes available for this claim");
  make_claim("by-label", R"(,"storageClassName":"","selector":{"matchLabels":{"for":"db"}})");
  bind("by-label", "data");
  make_claim("by-name", R"(,"storageClassName":"","volumeName":"smaller")");
  await_on_host("smaller");
  eventually([&] { return is_there(host_claim("by-name")); }, "the claim follows");
  EXPECT_EQ(host_claim("by-name")["spec"]["volumeName"].text(), volume_name("smaller"));
  bind("by-name", "smaller");
  EXPECT_FALSE(is_there(host_claim("none")));
  make_claim("too-late", R"(,"storageClassName":"","volumeName":"smaller")");
  EXPECT_EQ(await_event("too-late", "VolumeMismatch"), "volume \"smaller\" already bound to a different claim.");
}

TEST_F(VolumesSync, AVolumeOfTheHostsCannotBeNamed) {
  host.create(kVolumes, R"({"metadata":{"name":"others"},"spec":{"capacity":{"storage":"5Gi"},"accessModes":)"
                        R"(["ReadWriteOnce"],"hostPath":{"path":"/x"}}})");
  make_claim("thief", R"(,"storageClassName":"","volumeName":"others")");
  EXPECT_EQ(await_event("thief", "FailedBinding"), "volume \"others\" is not in this virtual cluster");
  EXPECT_FALSE(is_there(host_claim("thief")));
}

TEST_F(VolumesSync, AClaimThatWaitsOnTheHostGetsAVolumeThatComesLater) {
  make_claim("mine");
  make_claim("served", R"(,"storageClassName":"made-by-the-host")");
  eventually([&] { return is_there(host_claim("mine")) && is_there(host_claim("served")); }, "the claims are there");
  host.patch(kClaims, kHostNamespace, host_name_of("served"),
             R"({"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":"csi.x"}}})");
  settle();
  make_volume("other", R"(,"storageClassName":"made-by-the-host")");
  make_volume("data");
  bind("mine", "data");
  settle();
  EXPECT_FALSE(is_there(host_volume("other"))) << "the host makes one";
}

TEST_F(VolumesSync, OfTwoClaimsOneGetsTheVolume) {
  for (const char* name : {"a", "b", "c", "d"}) make_claim(name);
  make_volume("data");
  await_on_host("data");
  settle();
  const std::string got = volume("data")["spec"]["claimRef"]["name"].string();
  EXPECT_EQ(host_volume("data")["spec"]["claimRef"]["name"].text(), host_name_of(got));
  bind(got, "data");
}

TEST_F(VolumesSync, AVolumeThatWasUsedGoesToAnotherOnlyWhenSomebodySaysSo) {
  make_volume("data");
  make_claim("mine");
  await_on_host("data");
  bind("mine", "data");
  release("mine", "data");
  make_claim("mine");
  eventually([&] { return is_there(host_claim("mine")); }, "another claim of that name waits on the host");
  settle();
  const std::string before = host_volume("data")["metadata"]["uid"].string();
  EXPECT_NE(volume("data")["spec"]["claimRef"]["uid"].text(), claim("mine")["metadata"]["uid"].text());
  free_on_host("data");
  tenant.patch(kVolumes, "", "data", R"({"spec":{"claimRef":null}})");
  await_another_on_host("data", before);
  bind("mine", "data");
}

TEST_F(VolumesSync, AUsedVolumeIsMadeAnewForTheClaimThatItIsGivenTo) {
  make_volume("data");
  make_claim("mine");
  await_on_host("data");
  bind("mine", "data");
  release("mine", "data");
  std::string before = host_volume("data")["metadata"]["uid"].string();
  tenant.patch(kVolumes, "", "data", R"({"spec":{"claimRef":{"uid":null,"name":"other"}}})");
  make_claim("other");  // at once, while the host's is as it was before
  eventually([&] { return is_there(host_claim("other")); }, "the claim is there");
  EXPECT_EQ(host_claim("other")["spec"]["volumeName"].text(), volume_name("data"));
  free_on_host("data");
  await_another_on_host("data", before);
  bind("other", "data");
  release("other", "data");
  make_claim("third", R"(,"storageClassName":"","volumeName":"data")");
  EXPECT_EQ(await_event("third", "VolumeMismatch"), "volume \"data\" already bound to a different claim.");
  before = host_volume("data")["metadata"]["uid"].string();
  free_on_host("data");
  tenant.patch(kVolumes, "", "data",
               R"({"spec":{"claimRef":{"name":"third","uid":")" + claim("third")["metadata"]["uid"].string() + "\"}}}");
  await_another_on_host("data", before);
  bind("third", "data");
}

TEST_F(VolumesSync, WhatAClaimHadThatTheHostLostIsForNobody) {
  make_volume("data");
  make_volume("gone");
  make_claim("mine", R"(,"storageClassName":"","volumeName":"data")");
  make_claim("other", R"(,"storageClassName":"","volumeName":"gone")");
  bind("mine", "data");
  bind("other", "gone");
  const std::string before = host_volume("data")["metadata"]["uid"].string();
  free_on_host("data");
  let_go(host, kClaims, kHostNamespace, host_name_of("mine"));
  say_on_host("data", "Released");
  let_go(host, kVolumes, "", volume_name("gone"));
  await_phase_of_volume("data", "Released");
  await_phase_of_volume("gone", "Released");
  let_go(tenant, kClaims, kTenantNamespace, "mine");
  settle();
  EXPECT_EQ(host_volume("data")["metadata"]["uid"].text(), before);
  EXPECT_EQ(volume("data")["status"]["phase"].text(), "Released");
  EXPECT_FALSE(is_there(host_volume("gone"))) << "made anew it would be for the next claim of that name";
}

TEST_F(VolumesSync, AVolumeWhoseClaimGoesBeforeItIsBoundIsFreeAgain) {
  make_volume("data", R"(,"persistentVolumeReclaimPolicy":"Delete")");
  faults.inject("POST", "/persistentvolumeclaims", 1000, Faults::status(403, "Forbidden"));
  make_claim("mine");
  await_on_host("data");
  free_on_host("data");
  let_go(tenant, kClaims, kTenantNamespace, "mine");
  await_phase_of_volume("data", "Available");
  eventually([&] { return !volume("data")["spec"].has("claimRef"); }, "it is nobody's");
  EXPECT_FALSE(is_there(host_volume("data"))) << "the next claim of that name would get it";
  faults.clear();
  make_claim("next");
  bind("next", "data");
}

TEST_F(VolumesSync, AVolumeThatSomebodyHasTakenMeanwhileIsLeftToThem) {
  make_volume("data");
  await_phase_of_volume("data", "Available");
  settle();
  tenant_faults.inject("GET", "/persistentvolumes", 1000, Faults::status(503, "ServiceUnavailable"));
  tenant_faults.end_watches("/persistentvolumes");  // the copy stays as it is
  eventually([&] { return tenant_faults.left() < 1000; }, "nothing is told of volumes");
  tenant.patch(kVolumes, "", "data", R"({"spec":{"claimRef":{"namespace":"default","name":"other"}}})");
  const auto before = tenant_faults.writes("/persistentvolumes/data");
  make_claim("mine");
  eventually([&] { return tenant_faults.writes("/persistentvolumes/data") > before; }, "it is tried");
  EXPECT_EQ(volume("data")["spec"]["claimRef"]["name"].text(), "other");
  tenant_faults.clear();
  settle();
  EXPECT_EQ(volume("data")["spec"]["claimRef"]["name"].text(), "other");
}

TEST_F(VolumesSync, AClaimRefWithoutNamespaceIsNobodys) {
  tenant.create({"", "v1", "namespaces"}, R"({"metadata":{"name":"team"}})");  // as the host's is called
  tenant.create(kClaims, R"({"metadata":{"name":"x","namespace":"team"},"spec":{"accessModes":["ReadWriteOnce"],)"
                         R"("storageClassName":"made-by-the-host","resources":{"requests":{"storage":"2Gi"}}}})");
  const std::string there = host_name("x", "team", "rag");
  eventually([&] { return is_there(host.get(kClaims, kHostNamespace, there)); }, "the claim is on the host");
  const std::string uid = host.get(kClaims, kHostNamespace, there)["metadata"]["uid"].string();
  make_volume("data", R"(,"claimRef":{"name":"x","uid":"u"})");
  make_volume("slash", R"(,"claimRef":{"name":"x","namespace":"/","uid":"u"})");
  await_phase_of_volume("data", "Available");
  await_phase_of_volume("slash", "Available");
  settle();
  const Document claim = host.get(kClaims, kHostNamespace, there);
  EXPECT_EQ(claim["metadata"]["uid"].text(), uid);
  EXPECT_FALSE(claim["metadata"].has("deletionTimestamp"));
}

TEST_F(VolumesSync, AVolumeThatTheHostDeletesWithItsClaimIsGone) {
  make_volume("data", R"(,"persistentVolumeReclaimPolicy":"Delete")");
  make_claim("mine");
  await_on_host("data");
  bind("mine", "data");
  release("mine", "data");
  let_go(host, kVolumes, "", volume_name("data"));
  eventually([&] { return volume("data")["metadata"].has("deletionTimestamp"); }, "it goes in the tenant");
  settle();
  EXPECT_FALSE(is_there(host_volume("data"))) << "and is not made anew";
}

TEST_F(VolumesSync, AVolumeWhoseClaimGotAnotherIsFreeAgain) {
  make_claim("mine", R"(,"storageClassName":"made-by-the-host")");
  eventually([&] { return is_there(host_claim("mine")); }, "the claim is there");
  make_volume("data", R"(,"storageClassName":"made-by-the-host")");
  await_on_host("data");
  free_on_host("data");
  host.patch(kClaims, kHostNamespace, host_name_of("mine"),
             R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pvc-7"}})");
  eventually([&] { return claim("mine")["spec"]["volumeName"].text() == "pvc-7"; }, "the host has made one");
  await_phase_of_volume("data", "Available");
  EXPECT_FALSE(volume("data")["spec"].has("claimRef"));
  EXPECT_FALSE(is_there(host_volume("data")));
}

TEST_F(VolumesSync, ABoundVolumeKeepsItsClaimAndWhatTheHostSaysOfItsSize) {
  make_volume("data");
  make_claim("mine");
  await_on_host("data");
  bind("mine", "data");
  tenant.patch(kVolumes, "", "data", R"({"spec":{"claimRef":null}})");
  eventually(
      [&] { return volume("data")["spec"]["claimRef"]["uid"].text() == claim("mine")["metadata"]["uid"].text(); },
      "it is given back");
  EXPECT_FALSE(host_volume("data")["metadata"].has("deletionTimestamp"));
  host.patch(kVolumes, "", volume_name("data"), R"({"spec":{"capacity":{"storage":"8Gi"}}})");
  eventually([&] { return volume("data")["spec"]["capacity"]["storage"].text() == "8Gi"; }, "it has grown");
  tenant.patch(kVolumes, "", "data", R"({"spec":{"persistentVolumeReclaimPolicy":"Delete"}})");
  eventually([&] { return host_volume("data")["spec"]["persistentVolumeReclaimPolicy"].text() == "Delete"; },
             "the policy follows");
  EXPECT_EQ(host_volume("data")["spec"]["capacity"]["storage"].text(), "8Gi");
  EXPECT_EQ(host_volume("data")["spec"]["claimRef"]["uid"].text(), host_claim("mine")["metadata"]["uid"].text());
  tenant.patch(kVolumes, "", "data", R"({"metadata":{"finalizers":null}})");
  free_on_host("data");
  tenant.remove(kVolumes, "", "data");
  eventually([&] { return !is_there(host_volume("data")); }, "with the tenant's it goes");
}

TEST_F(VolumesSync, AVolumeIsNotTakenForOneOfTheHostsOfThatName) {
  make_claim("mine", R"(,"storageClassName":"made-by-the-host")");
  eventually([&] { return is_there(host_claim("mine")); }, "the claim is there");
  host.patch(kClaims, kHostNamespace, host_name_of("mine"),
             R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pvc-7"}})");
  eventually([&] { return claim("mine")["spec"]["volumeName"].text() == "pvc-7"; }, "the host has made one");
  make_volume("pvc-7");
  await_phase_of_volume("pvc-7", "Available");
  settle();
  EXPECT_FALSE(volume("pvc-7")["spec"].has("claimRef"));
  EXPECT_FALSE(is_there(host_volume("pvc-7")));
}

TEST_F(VolumesSync, AVolumeThatMayNotCrossSaysSoAndItsClaimWaits) {
  make_volume("data", R"(,"mountOptions":["suid"],"claimRef":{"namespace":"default","name":"mine"})");
  EXPECT_EQ(await_event("data", "SyncDenied"), "spec.mountOptions: how the nodes mount volumes is the platform's");
  make_claim("mine");
  EXPECT_EQ(await_event("mine", "VolumeMismatch"), "volume \"data\" may not cross to the host; its events say why");
  make_volume("free", R"(,"mountOptions":["suid"])");
  EXPECT_EQ(await_event("free", "SyncDenied"), "spec.mountOptions: how the nodes mount volumes is the platform's");
  make_claim("other");
  eventually([&] { return is_there(host_claim("other")); }, "it crosses without");
  EXPECT_FALSE(is_there(host_claim("mine")));
  EXPECT_FALSE(volume("free")["spec"].has("claimRef"));
}

}  // namespace
}  // namespace sublet::syncer
