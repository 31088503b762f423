#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class StorageTest : public ControlledServer {
 protected:
  static inline const kube::Resource kClaims{"", "v1", "persistentvolumeclaims"},
      kVolumes{"", "v1", "persistentvolumes"}, kClasses{"storage.k8s.io", "v1", "storageclasses"};

  void make_volume(const std::string& name, const std::string& size, const std::string& more = "",
                   const std::string& modes = R"(["ReadWriteOnce"])") {
    create(kVolumes, "",
           R"({"metadata":{"name":")" + name + R"("},"spec":{"capacity":{"storage":")" + size + R"("},"accessModes":)" +
               modes + R"(,"hostPath":{"path":"/tmp/x"})" + more + "}}");
  }
  void make_claim(const std::string& name, const std::string& size, const std::string& more = "") {
    create(kClaims, "default",
           R"({"metadata":{"name":")" + name +
               R"("},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":")" + size + R"("}})" +
               more + "}}");
  }
  void make_class(const std::string& name, const std::string& more) {
    create(kClasses, "", R"({"metadata":{"name":")" + name + R"("},)" + more + "}");
  }
  void make_pod(const std::string& name, const std::string& volume, const std::string& node = "") {
    create(kPods, "default",
           R"({"metadata":{"name":")" + name + R"("},"spec":{)" +
               (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") + R"("volumes":[{"name":"v",)" + volume +
               R"(}],"containers":[{"name":"c","image":"i"}]}})");
  }
  schema::Document volume(const std::string& name) {
    auto found = client_.get(kVolumes, "", name);
    return found ? std::move(*found) : schema::Document();
  }
  std::string phase(const std::string& name) { return volume(name)["status"]["phase"].string(); }
  std::string claim_state(const std::string& name) {
    const auto claim = get(kClaims, name);
    return claim["status"]["phase"].string() + " " + claim["spec"]["volumeName"].string();
  }
  void remove_volume(const std::string& name) {
    ASSERT_TRUE(client_.remove(kVolumes, "", name));
    settle();
  }
};
constexpr const char* kNoClass = R"(,"storageClassName":"")";

TEST_F(StorageTest, AClaimGetsTheSmallestVolumeThatSuits) {
  make_volume("big", "10Gi");
  make_volume("small", "1Gi");
  make_volume("fit", "5Gi");
  make_volume("shared", "4Gi", "", R"(["ReadWriteOnce","ReadWriteMany"])");
  EXPECT_EQ(phase("fit"), "Available");
  make_claim("c", "3Gi", kNoClass);
  EXPECT_EQ(claim_state("c"), "Bound fit") << "one with more modes than asked for comes last";
  EXPECT_EQ(phase("fit"), "Bound");
  const auto claim = get(kClaims, "c");
  EXPECT_EQ(claim["status"]["capacity"]["storage"].text(), "5Gi");
  EXPECT_EQ(claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"].text(), "yes");
  EXPECT_EQ(volume("fit")["spec"]["claimRef"]["uid"].text(), claim["metadata"]["uid"].text());
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
}

apiserver::ServerOptions with_groups() {
  apiserver::ServerOptions options;
  options.kinds = schema::Registry::with({}, {"scheduling.k8s.io/v1alpha2"}).value();
  return options;
}

class GroupProtection : public ControlledServer {
 protected:
  GroupProtection() : ControlledServer(with_groups()) {}
  static inline const kube::Resource kGroups{"scheduling.k8s.io", "v1alpha2", "podgroups"};
};

TEST_F(GroupProtection, AGroupOutlivesItsDeletionUntilItsPodsHaveEnded) {
  for (const char* name : {"used", "unused"})
    create(kGroups, "default",
           R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{"schedulingPolicy":{"basic":{}}}})");
  for (const char* name : {"a", "b"})
    create(kPods, "default",
           R"({"metadata":{"name":")" + std::string(name) +
               R"("},"spec":{"containers":[{"name":"c","image":"i"}],"schedulingGroup":{"podGroupName":"used"}}})");
  remove(kGroups, "unused");
  EXPECT_FALSE(get(kGroups, "unused").root().is_object());
  remove(kGroups, "used");
  say_status("a", R"({"phase":"Succeeded"})");
  EXPECT_TRUE(get(kGroups, "used")["metadata"].has("deletionTimestamp"));
  remove(kPods, "b", {.grace_period_seconds = 0});
  EXPECT_FALSE(get(kGroups, "used").root().is_object());
}

TEST_F(StorageTest, AClaimWaitsForAVolumeAndLeavesItReleased) {
  make_claim("c", "3Gi", kNoClass);
  EXPECT_EQ(claim_state("c"), "Pending ");
  EXPECT_EQ(said_of("PersistentVolumeClaim", "c"),
            std::vector<std::string>{
                "FailedBinding: no persistent volumes available for this claim and no storage class is set"});
  make_volume("v", "3Gi", R"(,"persistentVolumeReclaimPolicy":"Retain")");
  EXPECT_EQ(claim_state("c"), "Bound v");
  remove(kClaims, "c");
  EXPECT_EQ(phase("v"), "Released");
  make_claim("again", "3Gi", kNoClass);
  EXPECT_EQ(claim_state("again"), "Pending ") << "it is another's still";
  auto freed = volume("v");
  freed["spec"].erase("claimRef");
  ASSERT_TRUE(client_.update(kVolumes, "", "v", freed.root()));
  settle();
  EXPECT_EQ(claim_state("again"), "Bound v");
}

TEST_F(StorageTest, WhatIsAskedForByNameAndWhatIsKept) {
  make_volume("kept", "3Gi", R"(,"claimRef":{"namespace":"default","name":"mine"})");
  make_volume("named", "3Gi");
  make_claim("other", "1Gi", std::string(kNoClass) + R"(,"volumeName":"kept")");
  EXPECT_EQ(claim_state("other"), "Pending kept");
  EXPECT_EQ(said_of("PersistentVolumeClaim", "other"),
            std::vector<std::string>{"FailedBinding: volume \"kept\" already bound to a different claim."});
  make_claim("mine", "1Gi", kNoClass);
  EXPECT_EQ(claim_state("mine"), "Bound kept");
  EXPECT_FALSE(volume("kept")["metadata"]["annotations"].has("pv.kubernetes.io/bound-by-controller"));
  make_claim("large", "9Gi", std::string(kNoClass) + R"(,"volumeName":"named")");
  EXPECT_EQ(
      said_of("PersistentVolumeClaim", "large"),
      std::vector<std::string>{"VolumeMismatch: Cannot bind to requested volume \"named\": requested PV is too small"});
}

TEST_F(StorageTest, AClaimThatLosesItsVolumeIsLost) {
  make_volume("v", "3Gi");
  make_claim("c", "3Gi", kNoClass);
  auto held = volume("v");
  held["metadata"].erase("finalizers");
  ASSERT_TRUE(client_.update(kVolumes, "", "v", held.root()));
  ASSERT_TRUE(client_.remove(kVolumes, "", "v"));
  settle();
  EXPECT_EQ(claim_state("c"), "Lost v");
}

TEST_F(StorageTest, ClassesAskWhoProvisionsAndWaitForTheFirstConsumer) {
  make_class("fast", R"("provisioner":"example.com/disk")");
  make_class("local", R"("provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer")");
  make_claim("c", "1Gi", R"(,"storageClassName":"fast")");
  EXPECT_EQ(get(kClaims, "c")["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"].text(),
            "example.com/disk");
  make_claim("typo", "1Gi", R"(,"storageClassName":"fats")");
  EXPECT_EQ(said_of("PersistentVolumeClaim", "typo"),
            std::vector<std::string>{"ProvisioningFailed: storageclass.storage.k8s.io \"fats\" not found"});
  make_volume("v", "1Gi", R"(,"storageClassName":"local")");
  make_claim("l", "1Gi", R"(,"storageClassName":"local")");
  EXPECT_EQ(claim_state("l"), "Pending ");
  EXPECT_EQ(said_of("PersistentVolumeClaim", "l"),
            std::vector<std::string>{"WaitForFirstConsumer: waiting for first consumer to be created before binding"});
  make_pod("p", R"("persistentVolumeClaim":{"claimName":"l"})", "n");
  EXPECT_EQ(claim_state("l"), "Bound v");
}

TEST_F(StorageTest, ADefaultClassIsTakenAlsoLater) {
  make_claim("c", "1Gi");
  EXPECT_FALSE(get(kClaims, "c")["spec"].has("storageClassName"));
  create(kClasses, "", R"({"metadata":{"name":"std","annotations":{"storageclass.kubernetes.io/is-default-class":
    "true"}},"provisioner":"example.com/disk"})");
  EXPECT_EQ(get(kClaims, "c")["spec"]["storageClassName"].text(), "std");
}

TEST_F(StorageTest, WhatIsInUseOutlivesItsDeletion) {
  make_volume("v", "1Gi");
  make_claim("c", "1Gi", kNoClass);
  make_pod("p", R"("persistentVolumeClaim":{"claimName":"c"})", "n");
  remove(kClaims, "c");
  remove_volume("v");
  EXPECT_TRUE(get(kClaims, "c")["metadata"].has("deletionTimestamp"));
  EXPECT_EQ(phase("v"), "Bound");
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove(kPods, "p", now);
  EXPECT_TRUE(get(kClaims, "c").root().is_null());
  EXPECT_TRUE(volume("v").root().is_null());
}

TEST_F(StorageTest, EphemeralVolumesGetClaimsOfTheirPod) {
  const std::string ephemeral = R"("ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{
    "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}})";
  make_pod("p", ephemeral);
  auto claim = get(kClaims, "p-v");
  EXPECT_EQ(claim["metadata"]["labels"]["a"].text(), "b");
  EXPECT_EQ(claim["metadata"]["ownerReferences"].at(0)["uid"].text(), get(kPods, "p")["metadata"]["uid"].text());
  remove(kClaims, "p-v");
  EXPECT_NE(get(kClaims, "p-v")["metadata"]["uid"].text(), claim["metadata"]["uid"].text());
  EXPECT_FALSE(get(kClaims, "p-v").root().is_null()) << "it comes back";
  make_claim("q-v", "1Gi");
  make_pod("q", ephemeral);
  EXPECT_EQ(said_of("Pod", "q"),
            std::vector<std::string>{"FailedBinding: ephemeral volume v: PVC default/q-v was not created for pod "
                                     "default/q (pod is not owner)"});
}

TEST_F(StorageTest, AnAttributesClassThatIsNamedOutlivesItsDeletion) {
  const kube::Resource kAttributes{"storage.k8s.io", "v1", "volumeattributesclasses"};
  for (const auto* name : {"fast", "unused"})
    create(kAttributes, "",
           R"({"metadata":{"name":")" + std::string(name) + R"("},"driverName":"x","parameters":{"a":"b"}})");
  const auto found = [&](std::string_view name) { return client_.get(kAttributes, "", name).has_value(); };
  const auto erase = [&](std::string_view name) {
    ASSERT_TRUE(client_.remove(kAttributes, "", name));
    settle();
  };
  make_claim("c", "1Gi", R"(,"storageClassName":"none","volumeAttributesClassName":"fast")");
  erase("unused");
  EXPECT_FALSE(found("unused"));
  erase("fast");
  EXPECT_TRUE(found("fast"));
  remove(kClaims, "c");
  EXPECT_FALSE(found("fast")) << "nobody names it any more";
}

TEST_F(StorageTest, AClaimThatGrowsIsToldWhoItWaitsFor) {
  make_class("grows", R"("provisioner":"example.com/none","allowVolumeExpansion":true)");
  create(kVolumes, "", R"({"metadata":{"name":"disk"},"spec":{"capacity":{"storage":"1Gi"},"storageClassName":"grows",
    "accessModes":["ReadWriteOnce"],"awsElasticBlockStore":{"volumeID":"v-1"}}})");
  make_volume("path", "2Gi", R"(,"storageClassName":"grows")");
  make_claim("small", "1Gi", R"(,"storageClassName":"grows")");
  make_claim("big", "2Gi", R"(,"storageClassName":"grows")");
  ASSERT_EQ(claim_state("small"), "Bound disk");
  ASSERT_EQ(claim_state("big"), "Bound path");
  EXPECT_TRUE(said_of("PersistentVolumeClaim", "small").empty());
  for (const auto* name : {"small", "big"})
    merge(kClaims, name, R"({"spec":{"resources":{"requests":{"storage":"5Gi"}}}})");
  using Said = std::vector<std::string>;
  EXPECT_EQ(said_of("PersistentVolumeClaim", "big"),
            Said{"ExternalExpanding: waiting for an external controller to expand this PVC"});
  EXPECT_EQ(said_of("PersistentVolumeClaim", "small"),
            Said{"ExternalExpanding: CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to "
                 "expand the pvc"});
  const auto resizer = [&](const char* name) {
    return get(kClaims, name)["metadata"]["annotations"]["volume.kubernetes.io/storage-resizer"].string();
  };
  EXPECT_EQ(resizer("small"), "ebs.csi.aws.com");
  EXPECT_EQ(resizer("big"), "");
  merge(kClaims, "big", R"({"status":{"capacity":{"storage":"5Gi"}}})", "status");
  EXPECT_EQ(said_of("PersistentVolumeClaim", "big").size(), 1u) << "it has what it asked for";
}

}  // namespace
}  // namespace sublet::controllers
