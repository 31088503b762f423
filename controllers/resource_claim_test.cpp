#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class ResourceClaimTest : public ControlledServer {
 protected:
  static inline const kube::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims"},
      kTemplates{"resource.k8s.io", "v1", "resourceclaimtemplates"};

  void make_template() {
    create(kTemplates, "default", R"({"metadata":{"name":"gpu"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{
      "devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}}}})");
  }
  void make_pod(const std::string& name) {
    create(kPods, "default",
           R"({"metadata":{"name":")" + name + R"("},"spec":{"resourceClaims":[{"name":"g","resourceClaimTemplateName":
             "gpu"}],"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"g"}]}}]}})");
  }
  std::string claim_of(const std::string& pod) {
    return get(kPods, pod)["status"]["resourceClaimStatuses"].at(0)["resourceClaimName"].string();
  }
  /// What a scheduler does: allocates the claim and reserves it for the pod.
  void allocate(const std::string& claim, const std::string& pod) {
    ASSERT_TRUE(client_.patch(kClaims, "default", claim, kube::PatchType::merge,
                              R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})"));
    merge(kClaims, claim,
          R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example.com","pool":"p",
            "device":"0"}]}},"reservedFor":[{"resource":"pods","name":")" +
              pod + R"(","uid":")" + get(kPods, pod)["metadata"]["uid"].string() + R"("}]}})",
          "status");
  }
};

TEST_F(ResourceClaimTest, APodsTemplateBecomesAClaimThatEndsWithIt) {
  make_pod("p");
  EXPECT_TRUE(list(kClaims).empty());
  ASSERT_EQ(said_of("Pod", "p").size(), 1u);
  EXPECT_EQ(said_of("Pod", "p")[0],
            "FailedResourceClaimCreation: PodResourceClaim g: resource claim template \"gpu\": "
            "resourceclaimtemplate.resource.k8s.io \"gpu\" not found");
  make_template();
  const auto name = claim_of("p");
  EXPECT_TRUE(name.starts_with("p-g-")) << name;
  const auto claim = get(kClaims, name);
  EXPECT_EQ(claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"].text(), "g");
  EXPECT_EQ(claim["metadata"]["labels"]["a"].text(), "b");
  EXPECT_EQ(claim["spec"]["devices"]["requests"].at(0)["exactly"]["deviceClassName"].text(), "gpu.example.com");
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
  allocate(name, "p");
  EXPECT_TRUE(get(kClaims, name)["status"].has("allocation"));
  say_status("p", R"({"phase":"Succeeded"})");
  EXPECT_TRUE(list(kClaims).empty()) << "before the pod goes";
}

TEST_F(ResourceClaimTest, AClaimOfAPersonIsFreedNotRemoved) {
  create(kClaims, "default", R"({"metadata":{"name":"mine"},"spec":{"devices":{"requests":[{"name":"r","exactly":{
    "deviceClassName":"gpu.example.com"}}]}}})");
  create(kPods, "default",
         R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[{"name":"g","resourceClaimName":"mine"}],
    "containers":[{"name":"c","image":"i"}]}})");
  allocate("mine", "p");
  ASSERT_TRUE(client_.remove(kClaims, "default", "mine"));
  settle();
  EXPECT_TRUE(get(kClaims, "mine")["status"].has("allocation")) << "in use";
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove(kPods, "p", now);
  EXPECT_TRUE(get(kClaims, "mine").root().is_null());
}

}  // namespace
}  // namespace sublet::controllers
