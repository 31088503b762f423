#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

TEST(ManagedByWord, IsOneOfThree) {
  EXPECT_EQ(managed_by("builtin"), ManagedBy::builtin);
  EXPECT_EQ(managed_by("upstream"), ManagedBy::upstream);
  EXPECT_EQ(managed_by("none"), ManagedBy::none);
  ASSERT_FALSE(managed_by("Builtin"));
  EXPECT_EQ(managed_by("Builtin").error().message, "controllers: \"Builtin\" must be one of builtin, upstream, none");
}

class ManagedByTest : public ControlledServer {
 protected:
  static inline const kube::Resource kDeployments{"apps", "v1", "deployments"}, kSets{"apps", "v1", "replicasets"};

  /// What works in this mode: a Deployment's ReplicaSet, an ended pod on no node, the Service kubernetes.
  std::string works(ManagedBy by) {
    options_.managed_by = by;
    restart_controllers();
    create(kDeployments, "default", R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    create(kPods, "default", R"({"metadata":{"name":"p","finalizers":["example.com/hold"]},"spec":{"containers":[
      {"name":"c","image":"x"}]}})");
    remove(kPods, "p");
    remove(kServices, "kubernetes");
    std::string works;
    if (!list(kSets).empty()) works += "workloads ";
    if (get(kPods, "p")["status"]["phase"].text() == "Failed") works += "podgc ";
    if (!get(kServices, "kubernetes").root().is_null()) works += "server";
    return works;
  }
};

TEST_F(ManagedByTest, Builtin) { EXPECT_EQ(works(ManagedBy::builtin), "workloads podgc server"); }
TEST_F(ManagedByTest, Upstream) { EXPECT_EQ(works(ManagedBy::upstream), "podgc server"); }
TEST_F(ManagedByTest, Nobody) { EXPECT_EQ(works(ManagedBy::none), "server"); }

}  // namespace
}  // namespace sublet::controllers
