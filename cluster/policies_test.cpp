#include "cluster/policies.h"

#include <gtest/gtest.h>

namespace sublet::cluster {
namespace {

using schema::Value;

VirtualCluster cluster_of_rag() {
  VirtualCluster cluster;
  cluster.name = "rag";
  cluster.uid = "vc-uid";
  cluster.host_namespace = "team";
  cluster.listen = "10.1.2.3:7443";
  return cluster;
}

TEST(Policies, OnlyTheNetworkPolicyIsThereByDefault) {
  const auto objects = policy_objects(cluster_of_rag(), {}, "https://host.example:6443");
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_FALSE(objects[0].object);
  EXPECT_FALSE(objects[1].object);
  ASSERT_TRUE(objects[2].object);
  const Value policy = objects[2].object->root();
  EXPECT_EQ(
      policy["metadata"].to_json(),
      R"({"name":"sublet-rag","labels":{"sublet.dev/managed-by":"rag","sublet.dev/virtual-cluster-uid":"vc-uid"}})");
  EXPECT_EQ(policy["spec"]["podSelector"].to_json(), R"({"matchLabels":{"sublet.dev/managed-by":"rag"}})");
  EXPECT_EQ(policy["spec"]["policyTypes"].to_json(), R"(["Egress"])");
  const Value egress = policy["spec"]["egress"];
  EXPECT_EQ(egress.at(0).to_json(), R"({"to":[{"podSelector":{"matchLabels":{"sublet.dev/managed-by":"rag"}}}]})");
  EXPECT_EQ(egress.at(1).to_json(), R"({"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":53}]})");
  EXPECT_EQ(egress.at(2).to_json(),
            R"({"to":[{"ipBlock":{"cidr":"10.1.2.3/32"}}],"ports":[{"protocol":"TCP","port":7443}]})");
  EXPECT_EQ(
      egress.at(3).to_json(),
      R"({"to":[{"ipBlock":{"cidr":"0.0.0.0/0","except":["10.0.0.0/8","100.64.0.0/10","127.0.0.0/8","169.254.0.0/16","172.16.0.0/12","192.168.0.0/16"]}}]})");
  EXPECT_EQ(egress.at(4).to_json(),
            R"({"to":[{"ipBlock":{"cidr":"::/0","except":["::1/128","fc00::/7","fe80::/10"]}}]})");
}

TEST(Policies, PodsReachTheirOwnServersWhereTheyLead) {
  VirtualCluster cluster = cluster_of_rag();
  cluster.listen = "127.0.0.1:7443";
  cluster.pod_access = {"192.168.1.5", "192.168.1.5", 20053, "10.96.3.4"};
  const auto objects = policy_objects(cluster, {}, "https://host.example:6443");
  EXPECT_EQ(
      objects[2].object->root()["spec"]["egress"].at(2).to_json(),
      R"({"to":[{"ipBlock":{"cidr":"192.168.1.5/32"}}],"ports":[{"protocol":"TCP","port":7443},{"protocol":"UDP","port":20053},{"protocol":"TCP","port":20053}]})");
}

TEST(Policies, AHostsApiServerWithAPublicAddressIsNotReachedEither) {
  const auto four = policy_objects(cluster_of_rag(), {}, "https://203.0.113.7:6443");
  const Value except = four[2].object->root()["spec"]["egress"].at(3)["to"].at(0)["ipBlock"]["except"];
  EXPECT_EQ(except.at(6).text(), "203.0.113.7/32");
  const auto six = policy_objects(cluster_of_rag(), {}, "https://[2001:db8::1]:6443");
  EXPECT_EQ(six[2].object->root()["spec"]["egress"].at(4)["to"].at(0)["ipBlock"]["except"].at(3).text(),
            "2001:db8::1/128");
}

TEST(Policies, QuotaAndLimitsAreWhatTheTemplateSays) {
  patches::Policies policies;
  policies.resource_quota = policies.limit_range = true;
  policies.network_policy = false;
  policies.quota = {{"requests.nvidia.com/gpu", "4"}};
  policies.limit_max = {{"cpu", "2"}};
  const auto objects = policy_objects(cluster_of_rag(), policies, "");
  EXPECT_EQ(objects[0].object->root()["spec"].to_json(), R"({"hard":{"requests.nvidia.com/gpu":"4"}})");
  EXPECT_EQ(
      objects[1].object->root()["spec"].to_json(),
      R"({"limits":[{"type":"Container","max":{"cpu":"2"},"default":{"cpu":"1","memory":"512Mi","ephemeral-storage":"8Gi"},"defaultRequest":{"cpu":"100m","memory":"128Mi","ephemeral-storage":"3Gi"}}]})");
  EXPECT_FALSE(objects[2].object);
}

}  // namespace
}  // namespace sublet::cluster
