// Plugins about classes, storage, signers and places: each a few lines.
#include <gtest/gtest.h>

#include "apiserver/authz/authorizer.h"
#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

std::string claim_json(std::string_view members = {}, std::string_view size = "1Gi") {
  return R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem",)" +
         std::string(members) + (members.empty() ? "" : ",") + R"("resources":{"requests":{"storage":")" +
         std::string(size) + R"("}}},"status":{"phase":"Bound"}})";
}

void add_class(KindBench& bench, const std::string& name, const std::string& made, const std::string& mark,
               const std::string& kind = "storageclasses.storage.k8s.io") {
  bench.store(kind + "/" + name, R"({"metadata":{"name":")" + name + R"(","creationTimestamp":")" + made +
                                     R"(","annotations":{)" + mark + R"(}},"provisioner":"x"})");
}

TEST(DefaultStorageClass, IsTheNewestOfThoseMarked) {
  KindBench bench;
  const auto class_of = [&](std::string_view members) {
    const auto made = bench.create("persistentvolumeclaims", claim_json(members));
    EXPECT_TRUE(made) << made.error();
    return made.root()["spec"]["storageClassName"].string("none");
  };
  EXPECT_EQ(class_of(""), "none");
  const std::string mark = R"("storageclass.kubernetes.io/is-default-class":"true")";
  add_class(bench, "plain", "2026-01-09T00:00:00Z", "");
  add_class(bench, "old", "2026-01-01T00:00:00Z", mark);
  EXPECT_EQ(class_of(""), "old");
  add_class(bench, "new-b", "2026-01-02T00:00:00Z", R"("storageclass.beta.kubernetes.io/is-default-class":"true")");
  add_class(bench, "new-a", "2026-01-02T00:00:00Z", mark);
  EXPECT_EQ(class_of(""), "new-a");
  EXPECT_EQ(class_of(R"("storageClassName":"")"), "") << "no class is an answer too";
  EXPECT_EQ(class_of(R"("storageClassName":"other")"), "other");
}

TEST(DefaultIngressClass, IsTheNewestOfThoseMarked) {
  KindBench bench;
  const auto ingress = [&](std::string_view annotations) {
    return bench
        .create("ingresses", R"({"metadata":{"name":"i","annotations":{)" + std::string(annotations) +
                                 R"(}},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})")
        .root()["spec"]["ingressClassName"]
        .string("none");
  };
  EXPECT_EQ(ingress(""), "none");
  add_class(bench, "nginx", "2026-01-01T00:00:00Z", R"("ingressclass.kubernetes.io/is-default-class":"true")",
            "ingressclasses.networking.k8s.io");
  EXPECT_EQ(ingress(""), "nginx");
  EXPECT_EQ(ingress(R"("kubernetes.io/ingress.class":"x")"), "none");
}

TEST(StorageProtection, IsThereFromTheStart) {
  KindBench bench;
  const auto claim = bench.create("persistentvolumeclaims", claim_json());
  EXPECT_EQ(claim.root()["metadata"]["finalizers"].to_json(), R"(["kubernetes.io/pvc-protection"])");
  const auto volume = bench.create("persistentvolumes", R"({"metadata":{"name":"v","finalizers":["a.b/c",
      "kubernetes.io/pv-protection"]},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
      "hostPath":{"path":"/x"}}})");
  ASSERT_TRUE(volume) << volume.error();
  EXPECT_EQ(volume.root()["metadata"]["finalizers"].to_json(), R"(["a.b/c","kubernetes.io/pv-protection"])");
  const auto attributes =
      bench.create("volumeattributesclasses", R"({"metadata":{"name":"v"},"driverName":"x","parameters":{"a":"b"}})");
  EXPECT_EQ(attributes.root()["metadata"]["finalizers"].to_json(), R"(["kubernetes.io/vac-protection"])");
}

TEST(ClaimResize, NeedsABoundClaimOfAClassThatLetsItGrow) {
  KindBench bench;
  const std::string gold = R"("storageClassName":"gold")";
  const auto grow = [&](const std::string& before) {
    return bench.update("persistentvolumeclaims", claim_json(gold, "2Gi"), before).error();
  };
  const std::string rigid =
      "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized "
      "and the storageclass that provisions the pvc must support resize";
  EXPECT_EQ(grow(claim_json(gold)), rigid);
  bench.store("storageclasses.storage.k8s.io/gold", R"({"metadata":{"name":"gold"},"allowVolumeExpansion":false})");
  EXPECT_EQ(grow(claim_json(gold)), rigid);
  bench.store("storageclasses.storage.k8s.io/gold", R"({"metadata":{"name":"gold"},"allowVolumeExpansion":true})");
  EXPECT_EQ(grow(claim_json(gold)), "");
  auto pending = claim_json(gold);
  pending.replace(pending.find("Bound"), 5, "Pending");
  EXPECT_EQ(grow(pending),
            "PersistentVolumeClaim \"c\" is invalid: spec: Forbidden: spec is immutable after creation except "
            "resources.requests and volumeAttributesClassName for bound claims")
      << "the claim's own rules come before admission";
}

TEST(PodTopologyLabels, AreThoseOfTheNode) {
  KindBench bench;
  bench.store("nodes/n", R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/region":"r",
      "topology.kubernetes.io/zone":"z","other":"o"}}})");
  const auto pod = [&](std::string_view node) {
    return bench
        .create("pods",
                R"({"metadata":{"name":"p","labels":{"topology.kubernetes.io/zone":"mine"}},"spec":{"nodeName":")" +
                    std::string(node) + R"(","containers":[{"name":"c","image":"x"}]}})")
        .root()["metadata"]["labels"]
        .to_json();
  };
  EXPECT_EQ(pod("n"), R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
  EXPECT_EQ(pod("unknown"), R"({"topology.kubernetes.io/zone":"mine"})");
  EXPECT_EQ(pod(""), R"({"topology.kubernetes.io/zone":"mine"})");
}

/// A bench whose user has the rights of these rules.
class Signers : public testing::Test {
 protected:
  Outcome judge(std::string_view rules, std::string_view subresource, std::string_view status) {
    auto store = std::move(*store::Store::open(store::make_memory_log()));
    const Authorizer authorizer(*store, {{"jane", std::string(rules)}});
    auto context = bench_.context("certificatesigningrequests", "", subresource);
    context.authorizer = &authorizer;
    const std::string head = R"({"metadata":{"name":"r"},"spec":{"signerName":"example.com/good"},"status":)";
    const auto object = parse(head + std::string(status) + "}"), old = parse(head + "{}}");
    return admit_validating(context, WriteVerb::update, object.root(), old.root());
  }
  std::string error(std::string_view rules, std::string_view subresource, std::string_view status) {
    const auto outcome = judge(rules, subresource, status);
    return outcome ? "" : outcome.error().message;
  }
  static std::string right(std::string_view verb, std::string_view signer) {
    return R"([{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"verbs":[")" + std::string(verb) +
           R"("],"resourceNames":[")" + std::string(signer) + R"("]}])";
  }

  KindBench bench_;
};

constexpr std::string_view kApproval = R"({"conditions":[{"type":"Approved","status":"True"}]})",
                           kSigned = R"({"certificate":"eA=="})";

TEST_F(Signers, ApprovalIsARightOnTheSigner) {
  const std::string no =
      "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted to approve "
      "requests with signerName \"example.com/good\"";
  EXPECT_EQ(error("[]", "approval", kApproval), no);
  EXPECT_EQ(error(right("approve", "example.com/bad"), "approval", kApproval), no);
  EXPECT_EQ(error(right("sign", "example.com/good"), "approval", kApproval), no);
  EXPECT_EQ(error(right("approve", "example.com/good"), "approval", kApproval), "");
  EXPECT_EQ(error(right("approve", "example.com/*"), "approval", kApproval), "");
}

TEST_F(Signers, SigningIsARightOnTheSigner) {
  const std::string no =
      "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted to sign "
      "requests with signerName \"example.com/good\"";
  EXPECT_EQ(error("[]", "status", kSigned), no);
  EXPECT_EQ(error("[]", "status", kApproval), no);
  EXPECT_EQ(error("[]", "status", "{}"), "") << "nothing is signed";
  EXPECT_EQ(error(right("sign", "example.com/good"), "status", kSigned), "");
}

}  // namespace
}  // namespace sublet::apiserver
