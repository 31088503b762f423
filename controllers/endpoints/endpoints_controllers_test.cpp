#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

class EndpointsControllersTest : public ControlledServer {
 protected:
  static inline const kube::Resource kEndpoints{"", "v1", "endpoints"},
      kSlices{"discovery.k8s.io", "v1", "endpointslices"};

  void make_service(std::string_view spec) {
    create(kServices, "default", std::string(R"({"metadata":{"name":"web"},"spec":)").append(spec) + "}");
  }
  void make_pod(const std::string& name, const std::string& address, std::string_view ready = "True") {
    create(kPods, "default",
           R"({"metadata":{"name":")" + name + R"(","labels":{"app":"web"}},"spec":{"nodeName":"n1","containers":[
      {"name":"c","image":"x"}]}})");
    say_status(name, R"({"phase":"Running","podIP":")" + address + R"(","podIPs":[{"ip":")" + address +
                         R"("}],"conditions":[{"type":"Ready","status":")" + std::string(ready) + R"("}]})");
  }
  schema::Document slice() {
    auto all = list(kSlices, "kubernetes.io/service-name=web");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? schema::Document() : std::move(all[0]);
  }
  std::string addresses(std::string_view list = "addresses") {
    const auto endpoints = get(kEndpoints, "web");
    std::string text;
    for (schema::Value subset : endpoints["subsets"])
      for (schema::Value address : subset[list]) text.append(address["ip"].text()).append(" ");
    return text;
  }
};

constexpr std::string_view kWeb = R"({"selector":{"app":"web"},"ports":[{"port":80,"targetPort":8080}]})";

TEST_F(EndpointsControllersTest, FollowThePodsOfAService) {
  make_service(kWeb);
  EXPECT_TRUE(slice()["endpoints"].empty());
  EXPECT_TRUE(get(kEndpoints, "web")["metadata"].has("uid"));
  make_pod("a", "10.1.0.1");
  make_pod("b", "10.1.0.2", "False");
  EXPECT_EQ(slice()["endpoints"].size(), 2u);
  EXPECT_EQ(slice()["ports"].at(0)["port"].integer(), 8080);
  EXPECT_EQ(addresses(), "10.1.0.1 ");
  EXPECT_EQ(addresses("notReadyAddresses"), "10.1.0.2 ");
  say_status("b", R"({"conditions":[{"type":"Ready","status":"True"}]})");
  EXPECT_EQ(addresses(), "10.1.0.1 10.1.0.2 ");
  merge(kPods, "a", R"({"metadata":{"labels":{"app":"other"}}})");
  EXPECT_EQ(addresses(), "10.1.0.2 ");
  EXPECT_EQ(slice()["endpoints"].size(), 1u);
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove(kPods, "b", now);
  EXPECT_EQ(addresses(), "");
  EXPECT_TRUE(slice()["endpoints"].empty());
}

TEST_F(EndpointsControllersTest, WriteNothingWhenNothingOfConcernChanges) {
  make_service(kWeb);
  make_pod("a", "10.1.0.1");
  const auto before = store_->stats().revision;
  merge(kPods, "a", R"({"metadata":{"annotations":{"x":"y"}}})");
  say_status("a", R"({"message":"hello"})");
  EXPECT_EQ(store_->stats().revision, before + 2);
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before + 2) << "nor when they come again";
}

TEST_F(EndpointsControllersTest, PutBackWhatSomebodyBends) {
  make_service(kWeb);
  make_pod("a", "10.1.0.1");
  merge(kEndpoints, "web", R"({"subsets":[]})");
  EXPECT_EQ(addresses(), "10.1.0.1 ");
  remove(kEndpoints, "web");
  EXPECT_EQ(addresses(), "10.1.0.1 ");
  const auto name = slice()["metadata"]["name"].string();
  merge(kSlices, name, R"({"endpoints":[]})");
  EXPECT_EQ(slice()["endpoints"].size(), 1u);
  remove(kSlices, name);
  EXPECT_EQ(slice()["endpoints"].size(), 1u);
}

TEST_F(EndpointsControllersTest, EndpointsGoWithTheirService) {
  make_service(kWeb);
  remove(kServices, "web");
  EXPECT_TRUE(get(kEndpoints, "web")["metadata"].missing());
}

TEST_F(EndpointsControllersTest, TheZoneIsTheNodesAlsoWhenThatComesLater) {
  make_service(kWeb);
  make_pod("a", "10.1.0.1");
  EXPECT_FALSE(slice()["endpoints"].at(0).has("zone")) << "a pod without a known node is an endpoint";
  create(kNodes, "", R"({"metadata":{"name":"n1","labels":{"topology.kubernetes.io/zone":"z1"}}})");
  EXPECT_EQ(slice()["endpoints"].at(0)["zone"].text(), "z1");
}

TEST_F(EndpointsControllersTest, EndpointsOfAServiceWithoutSelectorAreMirrored) {
  make_service(R"({"ports":[{"port":80}]})");
  create(kEndpoints, "default",
         R"({"metadata":{"name":"web"},"subsets":[{"addresses":[{"ip":"1.2.3.4"}],"ports":[{"port":80}]}]})");
  EXPECT_EQ(slice()["endpoints"].at(0)["addresses"].at(0).text(), "1.2.3.4");
  merge(kEndpoints, "web", R"({"subsets":[{"addresses":[{"ip":"1.2.3.5"}],"ports":[{"port":80}]}]})");
  EXPECT_EQ(slice()["endpoints"].at(0)["addresses"].at(0).text(), "1.2.3.5");
  merge(kServices, "web", R"({"spec":{"selector":{"app":"web"}}})");
  EXPECT_EQ(slice()["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].text(),
            "endpointslice-controller.k8s.io");
}

TEST_F(EndpointsControllersTest, TheKubernetesServiceIsLeftAlone) {
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
  EXPECT_EQ(list(kSlices, "kubernetes.io/service-name=kubernetes").size(), 1u);
}

}  // namespace
}  // namespace sublet::controllers
