// What comes from the host is written by the syncer alone, through every door of a whole server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

const std::string kNodes = "/api/v1/nodes", kClasses = "/apis/node.k8s.io/v1/runtimeclasses";
constexpr std::string_view kMergePatch = "merge-patch", kJsonPatch = "json-patch",
                           kStrategicPatch = "strategic-merge-patch";

ServerOptions of_a_virtual_cluster() {
  ServerOptions options;
  options.mirrored_from_host = {{"", "nodes", "sublet.dev/from-host", "ask the host's people"},
                                {"node.k8s.io", "runtimeclasses", "sublet.dev/from-host", "ask them too"},
                                {"", "resourcequotas", "sublet.dev/from-host", "ask them"}};
  return options;
}

class FromHost : public testing::Test {
 protected:
  FromHost() {
    EXPECT_EQ(by_syncer("POST", kNodes, node_json("n", kBrought)).code, 201);
    EXPECT_EQ(by_syncer("POST", kClasses, class_json("nvidia", kBrought)).code, 201);
  }
  ~FromHost() override {
    EXPECT_EQ(rig.get(kNodes + "/n").version(), node_version) << "a refused write was stored";
    EXPECT_EQ(rig.get(kClasses + "/nvidia").version(), class_version) << "a refused write was stored";
  }

  static constexpr std::string_view kBrought = R"({"sublet.dev/from-host":"true"})";

  static std::string node_json(const std::string& name, std::string_view labels, const std::string& spec = "{}") {
    return R"({"metadata":{"name":")" + name + R"(","labels":)" + std::string(labels) + R"(},"spec":)" + spec + "}";
  }
  static std::string class_json(const std::string& name, std::string_view labels, const std::string& version = "") {
    return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + version + R"(","labels":)" +
           std::string(labels) + R"(},"handler":"h"})";
  }
  Reply by_syncer(std::string method, std::string target, std::string body = {}) {
    net::Headers headers;
    headers.set("Impersonate-User", "system:sublet:syncer");
    headers.set("Impersonate-Group", "system:masters");  // rights are not what is tested here
    headers.set("Content-Type", std::string(method == "PATCH" ? "application/merge-patch+json" : kJson));
    auto reply = rig.call(std::move(method), std::move(target), std::move(body), std::move(headers));
    node_version = rig.get(kNodes + "/n").version();
    class_version = rig.get(kClasses + "/nvidia").version();
    return reply;
  }
  static void expect_refused(const Reply& reply, std::string_view object, std::string_view next_step) {
    EXPECT_EQ(reply.code, 403) << reply.body;
    EXPECT_EQ(reply.text("reason"), "Forbidden");
    EXPECT_EQ(reply.text("message"),
              std::string(object) +
                  " is forbidden: it comes from the host cluster, and only there it can be changed: " +
                  std::string(next_step));
  }
  static void expect_node_refused(const Reply& reply) { expect_refused(reply, "nodes \"n\"", "ask the host's people"); }

  Rig rig{{}, of_a_virtual_cluster()};
  std::string node_version, class_version;
};

TEST_F(FromHost, NoPatchPasses) {
  expect_node_refused(rig.patch(kNodes + "/n", kStrategicPatch, R"({"spec":{"unschedulable":true}})"));
  expect_node_refused(rig.patch(kNodes + "/n", kMergePatch, R"({"metadata":{"labels":{"a":"b"}}})"));
  expect_node_refused(rig.patch(kNodes + "/n", kJsonPatch,
                                R"([{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]}])"));
  expect_node_refused(rig.patch(kNodes + "/n", kMergePatch, R"({"metadata":{"annotations":{"a":"b"}}})"));
}

TEST_F(FromHost, TakingTheLabelOffIsNoWayAround) {
  expect_node_refused(rig.patch(kNodes + "/n", kMergePatch, R"({"metadata":{"labels":null}})"));
}

TEST_F(FromHost, NeitherUpdateNorStatusPasses) {
  expect_node_refused(rig.put(kNodes + "/n", node_json("n", kBrought, R"({"unschedulable":true})")));
  expect_node_refused(rig.put(kNodes + "/n/status", node_json("n", kBrought)));
  expect_node_refused(rig.patch(kNodes + "/n/status", kMergePatch, R"({"status":{"phase":"Pending"}})"));
}

TEST_F(FromHost, NoRemovalPasses) {
  expect_node_refused(rig.remove(kNodes + "/n"));
  expect_node_refused(rig.remove(kNodes));
}

TEST_F(FromHost, ADryRunSaysTheSame) {
  expect_node_refused(rig.patch(kNodes + "/n?dryRun=All", kMergePatch, R"({"spec":{"unschedulable":true}})"));
  expect_node_refused(rig.remove(kNodes + "/n?dryRun=All"));
}

TEST_F(FromHost, RuntimeClassesAreGuardedAsNodesAre) {
  const std::string_view name = "runtimeclasses.node.k8s.io \"nvidia\"", next_step = "ask them too";
  expect_refused(rig.patch(kClasses + "/nvidia", kMergePatch, R"({"metadata":{"labels":{"a":"b"}}})"), name, next_step);
  expect_refused(rig.put(kClasses + "/nvidia", class_json("nvidia", "{}", class_version)), name, next_step);
  expect_refused(rig.remove(kClasses + "/nvidia"), name, next_step);
}

TEST_F(FromHost, TheSyncerWritesAsItMust) {
  EXPECT_EQ(by_syncer("PATCH", kNodes + "/n", R"({"spec":{"unschedulable":true}})").code, 200);
  EXPECT_EQ(by_syncer("PATCH", kNodes + "/n/status", R"({"status":{"phase":"Pending"}})").code, 200);
  EXPECT_EQ(rig.get(kNodes + "/n").text("status.phase"), "Pending");
  EXPECT_EQ(by_syncer("DELETE", kNodes + "/n").code, 200);
  EXPECT_EQ(rig.get(kNodes + "/n").code, 404);
}

TEST_F(FromHost, ATenantsOwnObjectsStayItsOwn) {
  EXPECT_EQ(rig.post(kClasses, class_json("mine", "{}")).code, 201);
  EXPECT_EQ(rig.patch(kClasses + "/mine", kMergePatch, R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
  EXPECT_EQ(rig.remove(kClasses + "/mine").code, 200);
}

TEST_F(FromHost, OnlyTheSyncerSaysThatSomethingCameFromTheHost) {
  const auto made = rig.post(kNodes, node_json("false", kBrought));
  EXPECT_EQ(made.code, 403) << made.body;
  EXPECT_EQ(made.text("message"),
            "nodes \"false\" is forbidden: the label sublet.dev/from-host marks what comes from the host cluster, and "
            "only the syncer sets it: leave it out");
  EXPECT_EQ(rig.post(kClasses, class_json("mine", "{}")).code, 201);
  const auto marked =
      rig.patch(kClasses + "/mine", kMergePatch, R"({"metadata":{"labels":{"sublet.dev/from-host":"true"}}})");
  EXPECT_EQ(marked.code, 403) << marked.body;
  EXPECT_THAT(marked.text("message"), HasSubstr("leave it out"));
}

TEST(FromHostSwitchedOff, NodesAreWritable) {
  Rig rig;
  EXPECT_EQ(rig.post(kNodes, R"({"metadata":{"name":"n","labels":{"sublet.dev/from-host":"true"}}})").code, 201);
  EXPECT_EQ(rig.patch(kNodes + "/n", kMergePatch, R"({"spec":{"unschedulable":true}})").code, 200);
  EXPECT_EQ(rig.remove(kNodes + "/n").code, 200);
}

TEST_F(FromHost, WhatIsUsedOfAQuotaIsCountedHere) {
  const std::string quotas = "/api/v1/namespaces/kube-system/resourcequotas";
  const std::string quota = R"({"metadata":{"name":"q","labels":{"sublet.dev/from-host":"true"}},"spec":{"hard":{)";
  EXPECT_EQ(by_syncer("POST", quotas, quota + R"("pods":"2"}}})").code, 201);
  const auto count = [&](const char* user) {
    net::Headers headers;
    headers.set("Impersonate-User", user);
    headers.set("Impersonate-Group", "system:masters");
    headers.set("Content-Type", "application/merge-patch+json");
    return rig.call("PATCH", quotas + "/q/status", R"({"status":{"used":{"pods":"1"}}})", std::move(headers)).code;
  };
  EXPECT_EQ(count("system:apiserver"), 200);  // which nobody outside is let in as: rights_test
  // The controller's account is the tenant's: its administrator may impersonate it, and have a token of it.
  EXPECT_EQ(count("system:serviceaccount:kube-system:resourcequota-controller"), 403);
  EXPECT_EQ(count("somebody"), 403);
  EXPECT_EQ(rig.patch(quotas + "/q", kMergePatch, R"({"spec":{"hard":{"pods":"9"}}})").code, 403);
}

}  // namespace
}  // namespace sublet::apiserver
