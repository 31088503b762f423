// Whose metrics the tenant is told (Syncer::measured_pod, measured_node): by the uids of both copies, not by names.
#include <gtest/gtest.h>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

class Measured : public TwoServers {};

TEST_F(Measured, OnlyWhatIsTheTenantsAndAsTheTenantHasIt) {
  start_syncer();
  create_pod("web", R"(,"initContainers":[{"name":"first","image":"i"}])", R"(,"labels":{"app":"web"})");
  await_host_pod("web");
  settle();
  const auto web = syncer->measured_pod(host_name_of("web"));
  ASSERT_TRUE(web);
  EXPECT_EQ(web->namespace_name + "/" + web->name, "default/web");
  EXPECT_EQ(web->labels.to_json(), R"({"app":"web"})");
  EXPECT_EQ(web->containers, (std::vector<std::string>{"main", "first"}));
  EXPECT_FALSE(syncer->measured_pod("web"));

  host.create(
      kPods, R"({"metadata":{"name":"platform","namespace":"team"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  settle();
  EXPECT_FALSE(syncer->measured_pod("platform"));
  // As the tenant's pod's, but of an earlier one of its name. The finalizer keeps it: the syncer would put its own
  // there.
  host.patch(kPods, kHostNamespace, host_name_of("web"),
             R"({"metadata":{"annotations":{"sublet.dev/tenant-uid":"earlier"},"finalizers":["example.com/stays"]}})");
  eventually([&] { return !syncer->measured_pod(host_name_of("web")); }, "another uid is another pod");
}

TEST_F(Measured, OnlyNodesThatTheTenantHas) {
  host.create(kNodes, R"({"metadata":{"name":"n1","labels":{"topology.kubernetes.io/zone":"a"}}})");
  start_syncer();
  eventually([&] { return syncer->measured_node("n1").has_value(); }, "the tenant has the node");
  EXPECT_EQ(syncer->measured_node("n1")->labels["topology.kubernetes.io/zone"].text(), "a");
  EXPECT_FALSE(syncer->measured_node("n2"));
  tenant.create(kNodes, R"({"metadata":{"name":"own"}})");
  settle();
  EXPECT_FALSE(syncer->measured_node("own")) << "the host has no such node";
}

}  // namespace
}  // namespace sublet::syncer
