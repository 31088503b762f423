#include "cluster/objects/policies.h"

#include <gtest/gtest.h>

namespace sublet::cluster {
namespace {

using schema::Value;

VirtualCluster cluster_without_pod_access() {
  VirtualCluster cluster;
  cluster.name = "rag";
  cluster.uid = "vc-uid";
  cluster.host_namespace = "team";
  cluster.listen = "10.1.2.3:7443";
  return cluster;
}

TEST(Policies, OnlyTheNetworkPolicyIsThereByDefault) {
  const auto objects = policy_objects(cluster_without_pod_access(), {}, "https://host.example:6443");
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
  VirtualCluster cluster = cluster_without_pod_access();
  cluster.listen = "127.0.0.1:7443";
  cluster.pod_access = {"192.168.1.5", "192.168.1.5", 20053, "10.96.3.4"};
  const auto objects = policy_objects(cluster, {}, "https://host.example:6443");
  EXPECT_EQ(
      objects[2].object->root()["spec"]["egress"].at(2).to_json(),
      R"({"to":[{"ipBlock":{"cidr":"192.168.1.5/32"}}],"ports":[{"protocol":"TCP","port":7443},{"protocol":"UDP","port":20053},{"protocol":"TCP","port":20053}]})");
}

TEST(Policies, AHostsApiServerWithAPublicAddressIsNotReachedEither) {
  const auto four = policy_objects(cluster_without_pod_access(), {}, "https://203.0.113.7:6443");
  const Value except = four[2].object->root()["spec"]["egress"].at(3)["to"].at(0)["ipBlock"]["except"];
  EXPECT_EQ(except.at(6).text(), "203.0.113.7/32");
  const auto six = policy_objects(cluster_without_pod_access(), {}, "https://[2001:db8::1]:6443");
  EXPECT_EQ(six[2].object->root()["spec"]["egress"].at(4)["to"].at(0)["ipBlock"]["except"].at(3).text(),
            "2001:db8::1/128");
}

TEST(Policies, QuotaAndLimitsAreWhatTheTemplateSays) {
  patches::SyncConfig config;
  patches::Policies& policies = config.policies;
  policies.resource_quota = policies.limit_range = true;
  policies.network_policy = false;
  policies.quota = {{"requests.nvidia.com/gpu", "4"}};
  policies.limit_max = {{"cpu", "2"}};
  const auto objects = policy_objects(cluster_without_pod_access(), config, "");
  EXPECT_EQ(objects[0].object->root()["spec"].to_json(), R"({"hard":{"requests.nvidia.com/gpu":"4"}})");
  EXPECT_EQ(
      objects[1].object->root()["spec"].to_json(),
      R"({"limits":[{"type":"Container","max":{"cpu":"2"},"default":{"cpu":"1","memory":"512Mi","ephemeral-storage":"8Gi"},"defaultRequest":{"cpu":"100m","memory":"128Mi","ephemeral-storage":"3Gi"}}]})");
  EXPECT_FALSE(objects[2].object);
}

// The egress rules to networks, as "cidr except except".
std::vector<std::string> worlds(const patches::SyncConfig& config, const std::string& host_server = "") {
  std::vector<std::string> out;
  const auto objects = policy_objects(cluster_without_pod_access(), config, host_server);
  for (const Value rule : objects[2].object->root()["spec"]["egress"]) {
    const Value block = rule["to"].at(0)["ipBlock"];
    if (rule.has("ports") || !block) continue;
    out.push_back(block["cidr"].string());
    for (const Value one : block["except"]) out.back() += " " + one.string();
  }
  return out;
}

TEST(Policies, WhatTheTemplateLeavesOutTakesThePlaceOfWhatIsPrivateButNeverOfMetadata) {
  patches::SyncConfig config;
  patches::PublicEgress& world = config.policies.public_egress;
  world.except = {{"192.168.0.0/16", "fd12::/16"}};
  EXPECT_EQ(worlds(config, "https://203.0.113.7:6443"),
            (std::vector<std::string>{"0.0.0.0/0 192.168.0.0/16 169.254.0.0/16 100.100.100.200/32 203.0.113.7/32",
                                      "::/0 fd12::/16 fe80::/10 fd00:ec2::/32"}));
  // vcluster.yaml's own list says nothing of link-local addresses, and of IPv6 nothing at all.
  world.except = {{"100.64.0.0/10", "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}};
  EXPECT_EQ(worlds(config),
            (std::vector<std::string>{"0.0.0.0/0 100.64.0.0/10 127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 "
                                      "169.254.0.0/16",
                                      "::/0 ::1/128 fc00::/7 fe80::/10"}));
  world.enabled = false;
  EXPECT_TRUE(worlds(config).empty());
}

TEST(Policies, ANetworkOfTheTemplateIsAllThatPodsReachOfTheWorld) {
  patches::SyncConfig config;
  patches::PublicEgress& world = config.policies.public_egress;
  world.cidr = "10.0.0.0/8";
  world.except = {{"10.1.0.0/16", "192.168.0.0/16"}};  // the second is outside anyway, and the API takes parts only
  EXPECT_EQ(worlds(config, "https://10.9.9.9:6443"), std::vector<std::string>{"10.0.0.0/8 10.1.0.0/16 10.9.9.9/32"});
}

TEST(Policies, RulesOfTheTemplateStandBesideOurs) {
  patches::SyncConfig config;
  config.policies.workload_egress = R"([{"ports":[{"port":5432}]}])";
  config.policies.workload_ingress = R"([{"ports":[{"port":80}]}])";
  config.policies.network_metadata = {R"({"tier":"tenants","sublet.dev/managed-by":"other"})", R"({"note":"b"})"};
  config.control_plane.annotations = R"({"owner":"platform","note":"a"})";
  const auto objects = policy_objects(cluster_without_pod_access(), config, "");
  const Value policy = objects[2].object->root();
  const Value egress = policy["spec"]["egress"];
  EXPECT_EQ(egress.at(egress.size() - 1).to_json(), R"({"ports":[{"port":5432}]})");
  EXPECT_EQ(policy["spec"]["policyTypes"].to_json(), R"(["Egress","Ingress"])");
  EXPECT_EQ(policy["spec"]["ingress"].to_json(),
            R"([{"from":[{"podSelector":{"matchLabels":{"sublet.dev/managed-by":"rag"}}}]},{"ports":[{"port":80}]}])");
  EXPECT_EQ(policy["metadata"]["labels"].to_json(),
            R"({"tier":"tenants","sublet.dev/managed-by":"rag","sublet.dev/virtual-cluster-uid":"vc-uid"})");
  EXPECT_EQ(policy["metadata"]["annotations"].to_json(), R"({"owner":"platform","note":"b"})");
}

}  // namespace
}  // namespace sublet::cluster
