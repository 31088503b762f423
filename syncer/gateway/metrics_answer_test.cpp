// What of the host's metrics a tenant is told: its own pods, by its own names, and nodes that it sees.
#include "syncer/gateway/metrics_answer.h"

#include <gtest/gtest.h>

#include "sublet/syncer/node_names.h"

namespace sublet::syncer {
namespace {

using About = kube::MetricsQuestion::About;
using schema::Document;

HostGatewayOptions options() {
  HostGatewayOptions made;
  made.virtual_cluster_uid = "vc-uid";
  made.host_namespace = "team";
  made.host_name = [](const std::string& space, const std::string& pod) { return pod + "-x-" + space; };
  made.measured_pod = [](const std::string& host_pod) -> std::optional<MeasuredPod> {
    if (host_pod != "web-x-shop" && host_pod != "db-x-shop") return std::nullopt;
    return MeasuredPod{
        "shop", host_pod.substr(0, host_pod.find('-')), Document::parse_json(R"({"app":"mine"})").value(), {"main"}};
  };
  made.measured_node = [](const std::string& node) -> std::optional<MeasuredNode> {
    if (node != "n1") return std::nullopt;
    return MeasuredNode{node, Document::parse_json(R"({"zone":"a"})").value()};
  };
  return made;
}

std::string measured(const std::string& name, const std::string& space = "team") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":")" + space +
         R"(","creationTimestamp":"2026-11-23T05:00:00Z","labels":{"sublet.dev/virtual-cluster":"rag"}},)"
         R"("timestamp":"2026-11-23T05:00:01Z","window":"15s","containers":[{"name":"main","usage":{"cpu":"1n","memory":"2Ki"}},)"
         R"({"name":"istio-proxy","usage":{"cpu":"9n","memory":"9Ki"}}]})";
}

std::string list(const std::string& items) {
  return R"({"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[)" + items + "]}";
}

std::string answer_for_tenant(const kube::MetricsQuestion& question, const std::string& body, int code = 200) {
  const auto answer = tenant_answer(question, options(), code, body);
  return std::to_string(answer.code) + " " + answer.body;
}

TEST(MetricsAnswer, OnlyTheTenantsPodsByTheirOwnNamesLabelsAndContainers) {
  EXPECT_EQ(answer_for_tenant({About::pods}, list(measured("web-x-shop") + "," + measured("of-the-platform") + "," +
                                                  measured("db-x-shop", "elsewhere"))),
            "200 " + list(R"({"metadata":{"name":"web","namespace":"shop","creationTimestamp":"2026-11-23T05:00:00Z",)"
                          R"("labels":{"app":"mine"}},"timestamp":"2026-11-23T05:00:01Z","window":"15s",)"
                          R"("containers":[{"name":"main","usage":{"cpu":"1n","memory":"2Ki"}}]})"));
}

TEST(MetricsAnswer, SelectorsAreOfTheTenantsLabels) {
  const auto both = list(measured("web-x-shop") + "," + measured("db-x-shop"));
  const auto names = [&](const kube::MetricsQuestion& question) {
    std::string all;
    const auto answer = tenant_answer(question, options(), 200, both);
    const auto said = Document::parse_json(answer.body).value();
    for (const auto item : said["items"]) all += item["metadata"]["name"].string() + " ";
    return all;
  };
  EXPECT_EQ(names({About::pods}), "db web ");
  EXPECT_EQ(names({About::pods, "shop", "", "app=mine"}), "db web ");
  EXPECT_EQ(names({About::pods, "", "", "sublet.dev/virtual-cluster=rag"}), "");
  EXPECT_EQ(names({About::pods, "default"}), "");
  EXPECT_EQ(names({About::pods, "", "", "", "metadata.name=web"}), "web ");
}

TEST(MetricsAnswer, OneThatIsAskedForByNameIsTheTenants) {
  EXPECT_NE(answer_for_tenant({About::pods, "shop", "web"}, measured("web-x-shop")).find(R"("kind":"PodMetrics")"),
            std::string::npos);
  const std::string missing = R"(podmetrics.metrics.k8s.io \"shop/web\" not found)";
  for (const auto& foreign : {measured("of-the-platform"), measured("db-x-shop"), measured("web-x-shop", "other")})
    EXPECT_NE(answer_for_tenant({About::pods, "shop", "web"}, foreign).find(missing), std::string::npos) << foreign;
  EXPECT_NE(
      answer_for_tenant({About::pods, "shop", "web"}, R"({"message":"podmetrics \"team/web-x-shop\" not found"})", 404)
          .find(missing),
      std::string::npos)
      << "the host's names stay on the host";
}

TEST(MetricsAnswer, OnlyNodesThatTheTenantSees) {
  const auto node = [](const std::string& name) {
    return R"({"metadata":{"name":")" + name +
           R"(","labels":{"of":"host"}},"timestamp":"T","window":"10s","usage":{"cpu":"5n"}})";
  };
  const auto answer = answer_for_tenant({About::nodes}, list(node("n2") + "," + node("n1")));
  EXPECT_NE(answer.find(R"({"name":"n1","creationTimestamp":"","labels":{"zone":"a"}},"timestamp":"T","window":"10s",)"
                        R"("usage":{"cpu":"5n"}})"),
            std::string::npos)
      << answer;
  EXPECT_EQ(answer.find("n2"), std::string::npos);
  EXPECT_TRUE(answer_for_tenant({About::nodes, "", "n2"}, node("n2")).starts_with("404 "));
}

TEST(MetricsAnswer, NodesHaveTheTenantsNames) {
  HostGatewayOptions pseudo = options();
  const auto names = std::make_shared<NodeNames>("key");
  names->know({"n1"});
  pseudo.node_names = names;
  pseudo.measured_node = [&](const std::string& node) -> std::optional<MeasuredNode> {
    return MeasuredNode{names->to_tenant(node), Document::object()};
  };
  const std::string name = names->to_tenant("n1"), nodes = "/apis/metrics.k8s.io/v1beta1/nodes/";
  EXPECT_EQ(host_target({About::nodes, "", name}, pseudo).value(), nodes + "n1");
  EXPECT_NE(host_target({About::nodes, "", "n1"}, pseudo).value(), nodes + "n1") << "a guess is asked of nobody";
  const std::string measured = R"({"metadata":{"name":"n1"},"usage":{"cpu":"5n"}})";
  const auto all = tenant_answer({About::nodes}, pseudo, 200, list(measured)).body;
  EXPECT_NE(all.find("\"name\":\"" + name), std::string::npos) << all;
  EXPECT_EQ(all.find("n1"), std::string::npos) << all;
  EXPECT_EQ(tenant_answer({About::nodes, "", name}, pseudo, 200, measured).code, 200);
  EXPECT_EQ(tenant_answer({About::nodes, "", "n1"}, pseudo, 200, measured).code, 404);
}

TEST(MetricsAnswer, WhatTheHostSaysOfItselfIsNotPassedOn) {
  const auto answer =
      answer_for_tenant({About::pods}, R"({"message":"service kube-system/metrics-server of the host"})", 503);
  EXPECT_TRUE(answer.starts_with("503 ")) << answer;
  EXPECT_EQ(answer.find("kube-system"), std::string::npos);
  EXPECT_TRUE(answer_for_tenant({About::pods}, "no JSON").starts_with("503 "));
  EXPECT_TRUE(answer_for_tenant({About::pods}, "forbidden", 403).starts_with("503 "));
  EXPECT_EQ(answer_for_tenant({About::api}, "of the host", 404), "404 {}");
}

TEST(MetricsAnswer, TheHostIsAskedOfItsNamespaceAlone) {
  const auto target = [](const kube::MetricsQuestion& question) {
    const auto asked = host_target(question, options());
    return asked ? *asked : "refused";
  };
  const std::string root = "/apis/metrics.k8s.io/v1beta1";
  EXPECT_EQ(target({}), root);
  EXPECT_EQ(target({About::pods, "shop", "", "app=mine"}),
            root + "/namespaces/team/pods?labelSelector=sublet.dev%2Fvirtual-cluster-uid%3Dvc-uid");
  EXPECT_EQ(target({About::pods, "shop", "web"}), root + "/namespaces/team/pods/web-x-shop");
  EXPECT_EQ(target({About::nodes, "", "n1"}), root + "/nodes/n1");
  for (const char* bad : {"../pods", "a/b", "..", "n1?x=y", "N"}) EXPECT_EQ(target({About::nodes, "", bad}), "refused");
  EXPECT_EQ(target({About::pods, "shop", "../../x"}), "refused");
  EXPECT_EQ(target({About::pods, "sh/../op", "web"}), "refused");
}

}  // namespace
}  // namespace sublet::syncer
