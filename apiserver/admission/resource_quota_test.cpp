#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

using testing::IsEmpty;

std::string charged_pod_json(const std::string& name, std::string_view resources = "{}",
                             std::string_view members = {}) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{)" + std::string(members) + (members.empty() ? "" : ",") +
         R"("containers":[{"name":"c","image":"x","resources":)" + std::string(resources) + "}]}}";
}

class ResourceQuota : public testing::Test {
 protected:
  /// A quota as its controller has counted it.
  void quota(const std::string& hard, const std::string& used, const std::string& spec = "{}") {
    bench_.store("resourcequotas/default/q", R"({"metadata":{"name":"q"},"spec":)" + spec + R"(,"status":{"hard":)" +
                                                 hard + R"(,"used":)" + used + "}}");
  }
  std::string refusal(std::string_view resource, const std::string& json) {
    return bench_.create(resource, json).error();
  }
  /// What the Txn of a prepared write makes of the quota; "": it does not touch it.
  static std::string charged(const Prepared& prepared) {
    for (const auto& op : prepared.txn.ops)
      if (op.key == "resourcequotas/default/q") return parse(op.put->bytes)["status"]["used"].to_json();
    return "";
  }

  KindBench bench_;
};

TEST_F(ResourceQuota, IsChargedInTheTxnOfTheCreate) {
  quota(R"({"pods":"2","requests.memory":"1Gi","requests.nvidia.com/gpu":"4"})",
        R"({"pods":"0","requests.memory":"0","requests.nvidia.com/gpu":"1"})");
  auto made = bench_.create(
      "pods", charged_pod_json("a", R"({"requests":{"memory":"512Mi"},"limits":{"nvidia.com/gpu":"2"}})"));
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(charged(made), R"({"pods":"1","requests.memory":"512Mi","requests.nvidia.com/gpu":"3"})");
  ASSERT_TRUE(bench_.commit("pods/default/a", made));
  EXPECT_EQ(
      refusal("pods", charged_pod_json("b", R"({"requests":{"memory":"600Mi"},"limits":{"nvidia.com/gpu":"2"}})")),
      "pods \"b\" is forbidden: exceeded quota: q, requested: requests.memory=600Mi,requests.nvidia.com/gpu=2, "
      "used: requests.memory=512Mi,requests.nvidia.com/gpu=3, limited: requests.memory=1Gi,requests.nvidia.com/gpu=4");
}

TEST_F(ResourceQuota, TwoWritesNeverUseTheSameRest) {
  quota(R"({"pods":"5"})", R"({"pods":"4"})");
  auto one = bench_.create("pods", charged_pod_json("a")), other = bench_.create("pods", charged_pod_json("b"));
  ASSERT_TRUE(one && other) << "both saw room for one";
  EXPECT_TRUE(bench_.commit("pods/default/a", one));
  EXPECT_FALSE(bench_.commit("pods/default/b", other));
  EXPECT_EQ(refusal("pods", charged_pod_json("b")),
            "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5");
}

TEST_F(ResourceQuota, ADryRunIsJudgedAndNotCharged) {
  quota(R"({"pods":"1"})", R"({"pods":"0"})");
  bench_.dry_run = true;
  EXPECT_EQ(charged(bench_.create("pods", charged_pod_json("a"))), "");
  quota(R"({"pods":"1"})", R"({"pods":"1"})");
  EXPECT_NE(refusal("pods", charged_pod_json("a")), "");
}

TEST_F(ResourceQuota, WhatIsLimitedMustBeSaid) {
  quota(R"({"limits.memory":"1Gi","requests.cpu":"1"})", R"({"limits.memory":"0","requests.cpu":"0"})");
  EXPECT_EQ(refusal("pods", charged_pod_json("a", R"({"requests":{"memory":"1Mi"}})")),
            "pods \"a\" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c");
}

TEST_F(ResourceQuota, WhatIsNotCountedYetIsRefused) {
  quota(R"({"pods":"1","count/pods":"3"})", R"({"pods":"0"})");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")),
            "pods \"a\" is forbidden: status unknown for quota: q, resources: count/pods,pods");
  bench_.store("resourcequotas/default/q", R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}}})");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")), "") << "the controller has not seen it yet";
}

TEST_F(ResourceQuota, ScopesPickPods) {
  quota(R"({"pods":"0"})", R"({"pods":"0"})", R"({"scopes":["Terminating"]})");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")), "");
  EXPECT_NE(refusal("pods", charged_pod_json("a", "{}", R"("activeDeadlineSeconds":5)")), "");
  const auto before = bench_.create("pods", charged_pod_json("a")).root().to_json();
  auto hurried = parse(before);
  hurried["spec"].put("activeDeadlineSeconds", 5);
  EXPECT_EQ(bench_.update("pods", hurried.to_json(), before).error(),
            "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0")
      << "it comes under the quota";
}

TEST_F(ResourceQuota, ObjectsAreCounted) {
  quota(R"({"count/configmaps":"1","secrets":"0","count/jobs.batch":"1"})",
        R"({"count/configmaps":"0","secrets":"0","count/jobs.batch":"0"})");
  EXPECT_EQ(charged(bench_.create("configmaps", R"({"metadata":{"name":"a"}})")),
            R"({"count/configmaps":"1","count/jobs.batch":"0","secrets":"0"})");
  EXPECT_EQ(refusal("secrets", R"({"metadata":{"name":"a"}})"),
            "secrets \"a\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=0, limited: secrets=0");
  EXPECT_EQ(charged(bench_.create("serviceaccounts", R"({"metadata":{"name":"a"}})")), "");
  EXPECT_EQ(charged(bench_.update("configmaps", R"({"metadata":{"name":"a"},"data":{"a":"b"}})",
                                  R"({"metadata":{"name":"a"}})")),
            "");
}

TEST_F(ResourceQuota, UpdatesAreChargedWhatTheyAdd) {
  quota(R"({"services.nodeports":"2","services":"9"})", R"({"services.nodeports":"1","services":"1"})");
  const auto service = [](std::string_view type, std::string_view ports) {
    return R"({"metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9"],"type":")" +
           std::string(type) + R"(","ports":)" + std::string(ports) + "}}";
  };
  const std::string one = R"([{"name":"a","port":1}])", two = R"([{"name":"a","port":1},{"name":"b","port":2}])",
                    three = R"([{"name":"a","port":1},{"name":"b","port":2},{"name":"c","port":3}])";
  EXPECT_EQ(charged(bench_.update("services", service("NodePort", two), service("NodePort", one))),
            R"({"services":"1","services.nodeports":"2"})");
  EXPECT_NE(
      bench_.update("services", service("NodePort", three), service("NodePort", one)).error().find("exceeded quota"),
      std::string::npos);
  EXPECT_EQ(charged(bench_.update("services", service("NodePort", one), service("NodePort", two))), "")
      << "what goes is counted by the controller";
  const auto claim = [](std::string_view size) {
    return R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"gold","volumeMode":"Filesystem","volumeName":"v",
        "resources":{"requests":{"storage":")" +
           std::string(size) + R"("}}},"status":{"phase":"Bound"}})";
  };
  bench_.store("storageclasses.storage.k8s.io/gold",
               R"({"metadata":{"name":"gold"},"provisioner":"x","allowVolumeExpansion":true})");
  quota(R"({"requests.storage":"3Gi","gold.storageclass.storage.k8s.io/requests.storage":"9Gi"})",
        R"({"requests.storage":"1Gi","gold.storageclass.storage.k8s.io/requests.storage":"1Gi"})");
  EXPECT_EQ(charged(bench_.update("persistentvolumeclaims", claim("2Gi"), claim("1Gi"))),
            R"({"gold.storageclass.storage.k8s.io/requests.storage":"2Gi","requests.storage":"2Gi"})");
  EXPECT_EQ(bench_.update("persistentvolumeclaims", claim("4Gi"), claim("1Gi")).error(),
            "persistentvolumeclaims \"c\" is forbidden: exceeded quota: q, requested: requests.storage=3Gi, used: "
            "requests.storage=1Gi, limited: requests.storage=3Gi");
}

TEST_F(ResourceQuota, AllQuotasOfTheNamespaceCount) {
  quota(R"({"pods":"5"})", R"({"pods":"0"})");
  bench_.store("resourcequotas/default/r",
               R"({"metadata":{"name":"r"},"status":{"hard":{"count/pods":"1"},"used":{"count/pods":"1"}}})");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")),
            "pods \"a\" is forbidden: exceeded quota: r, requested: count/pods=1, "
            "used: count/pods=1, limited: count/pods=1");
  bench_.store("namespaces/other", R"({"metadata":{"name":"other"},"status":{"phase":"Active"}})");
  EXPECT_THAT(bench_.create("configmaps", R"({"metadata":{"name":"a"}})", "other").txn.ops, IsEmpty());
}

TEST_F(ResourceQuota, ThePlatformsCountsInEveryNamespace) {
  const auto platforms = [&](const std::string& labels, const std::string& used) {
    bench_.store("resourcequotas/kube-system/sublet-rag", R"({"metadata":{"name":"sublet-rag","labels":{)" + labels +
                                                              R"(}},"status":{"hard":{"pods":"2"},"used":{"pods":")" +
                                                              used + R"("}}})");
  };
  const std::string brought = R"("sublet.dev/from-host":"true")";
  platforms(brought, "2");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")), "") << "no syncer brings any";
  bench_.options.mirrored_from_host = {{"", "resourcequotas", "sublet.dev/from-host", "ask"}};
  EXPECT_EQ(refusal("pods", charged_pod_json("a")),
            "pods \"a\" is forbidden: exceeded quota: sublet-rag, requested: pods=1, used: pods=2, limited: pods=2");
  platforms("", "2");
  EXPECT_EQ(refusal("pods", charged_pod_json("a")), "") << "it is the tenant's own of kube-system";
  platforms(brought, "1");
  auto one = bench_.create("pods", charged_pod_json("a")), other = bench_.create("pods", charged_pod_json("b"));
  ASSERT_TRUE(one && other) << "both saw room for one";
  EXPECT_TRUE(bench_.commit("pods/default/a", one));
  EXPECT_FALSE(bench_.commit("pods/default/b", other));
  EXPECT_NE(refusal("pods", charged_pod_json("b")), "");
  // In its own namespace it is charged once.
  platforms(brought, "0");
  bench_.store("namespaces/kube-system", R"({"metadata":{"name":"kube-system"},"status":{"phase":"Active"}})");
  bench_.store("serviceaccounts/kube-system/default", R"({"metadata":{"name":"default"}})");
  const auto made = bench_.create("pods", charged_pod_json("c"), "kube-system");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(std::ranges::count(made.txn.ops, std::string_view("resourcequotas/kube-system/sublet-rag"),
                               [](const auto& op) { return std::string_view(op.key); }),
            1);
}

TEST_F(ResourceQuota, EventsAreFree) {
  quota(R"({"count/events":"0"})", R"({"count/events":"0"})");
  EXPECT_EQ(refusal("events", R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})"), "");
}

}  // namespace
}  // namespace sublet::apiserver
