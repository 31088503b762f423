#include "controllers/controlled_server_testing.h"
#include "controllers/service_network/prefix.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

TEST(Prefix, ContainsWhatItSays) {
  const auto wide = parse_prefix("10.96.0.0/16"), narrow = parse_prefix("10.96.4.0/22"), six = parse_prefix("fd00::/8");
  ASSERT_TRUE(wide && narrow && six);
  EXPECT_TRUE(wide->contains(*narrow));
  EXPECT_FALSE(narrow->contains(*wide));
  EXPECT_TRUE(narrow->contains(*parse_address("10.96.7.255")));
  EXPECT_FALSE(narrow->contains(*parse_address("10.96.8.0")));
  EXPECT_FALSE(wide->contains(*parse_address("fd00::1")));
  EXPECT_TRUE(six->contains(*parse_address("fd00::1")));
  for (auto wrong : {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/x", "/8", "10.0.0.0/8 "}) EXPECT_FALSE(parse_prefix(wrong));
}

class ServiceNetworkTest : public ControlledServer {
 protected:
  static inline const kube::Resource kRanges{"networking.k8s.io", "v1", "servicecidrs"},
      kAddresses{"networking.k8s.io", "v1", "ipaddresses"};

  std::string parent_of(const std::string& address) {
    auto found = client_.get(kAddresses, "", address);
    if (!found) return "";
    const auto parent = (*found)["spec"]["parentRef"];
    return parent["resource"].string() + " " + parent["namespace"].string() + "/" + parent["name"].string();
  }
  std::string ready_of(const std::string& range) {
    auto found = client_.get(kRanges, "", range);
    if (!found) return "";
    const auto condition = (*found)["status"]["conditions"].at(0);
    return condition["type"].string() + "=" + condition["status"].string() + " " + condition["reason"].string() +
           condition["message"].string();
  }
};

TEST_F(ServiceNetworkTest, EveryClusterIpHasItsObject) {
  EXPECT_EQ(parent_of("10.96.0.1"), "services default/kubernetes");
  create(kServices, "default",
         R"({"metadata":{"name":"web"},"spec":{"clusterIP":"10.96.0.77","ports":[{"port":80}]}})");
  create(kServices, "default", R"({"metadata":{"name":"headless"},"spec":{"clusterIP":"None","ports":[{"port":80}]}})");
  EXPECT_EQ(parent_of("10.96.0.77"), "services default/web");
  const auto object = *client_.get(kAddresses, "", "10.96.0.77");
  EXPECT_EQ(object["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"].text(), "IPv4");
  EXPECT_EQ(object["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"].text(), "ipallocator.k8s.io");
  ASSERT_TRUE(client_.remove(kAddresses, "", "10.96.0.77"));
  settle();
  EXPECT_EQ(parent_of("10.96.0.77"), "services default/web") << "it is in use";
  remove(kServices, "web");
  EXPECT_EQ(parent_of("10.96.0.77"), "");
  create(kServices, "default",
         R"({"metadata":{"name":"next"},"spec":{"clusterIP":"10.96.0.77","ports":[{"port":80}]}})");
  EXPECT_EQ(parent_of("10.96.0.77"), "services default/next");
}

TEST_F(ServiceNetworkTest, WhatHappenedWhileNobodyLookedIsFound) {
  create(kServices, "default",
         R"({"metadata":{"name":"web"},"spec":{"clusterIP":"10.96.0.77","ports":[{"port":80}]}})");
  controllers_->stop();
  ASSERT_TRUE(client_.remove(kServices, "default", "web"));
  restart_controllers();
  EXPECT_EQ(parent_of("10.96.0.77"), "");
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
}

TEST_F(ServiceNetworkTest, TheRangeIsReadyComesBackAndStaysWhileItIsUsed) {
  EXPECT_EQ(ready_of("kubernetes"), "Ready=True Kubernetes Service CIDR is ready");
  create(kRanges, "", R"({"metadata":{"name":"more"},"spec":{"cidrs":["10.200.0.0/24"]}})");
  EXPECT_EQ(ready_of("more"), "Ready=True Kubernetes Service CIDR is ready");
  create(kAddresses, "", R"({"metadata":{"name":"10.200.0.9","labels":{"ipaddress.kubernetes.io/managed-by":"x"}},
    "spec":{"parentRef":{"resource":"services","namespace":"default","name":"kubernetes"}}})");
  ASSERT_TRUE(client_.remove(kRanges, "", "more"));
  settle();
  EXPECT_EQ(ready_of("more"),
            "Ready=False TerminatingThere are still IPAddresses referencing the ServiceCIDR, please remove them or "
            "create a new ServiceCIDR");
  ASSERT_TRUE(client_.remove(kAddresses, "", "10.200.0.9"));
  settle();
  EXPECT_NE(ready_of("more"), "") << "an address may just be given away";
  advance(11s);
  EXPECT_EQ(ready_of("more"), "");
}

}  // namespace
}  // namespace sublet::controllers
