#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

class TaintEvictionTest : public ControlledServer {
 protected:
  TaintEvictionTest() { create(kNodes, "", R"({"metadata":{"name":"n"}})"); }
  void make_pod(const std::string& name, const std::string& tolerations = "[]") {
    create(kPods, "default",
           R"({"metadata":{"name":")" + name + R"("},"spec":{"nodeName":"n","tolerations":)" + tolerations +
               R"(,"containers":[{"name":"c","image":"i"}]}})");
  }
  void taint(const std::string& taints) {
    ASSERT_TRUE(client_.patch(kNodes, "", "n", kube::PatchType::merge, R"({"spec":{"taints":)" + taints + "}}"));
    settle();
  }
  bool ends(const std::string& name) {
    const auto pod = get(kPods, name);
    return pod.root().is_null() || pod["metadata"].has("deletionTimestamp");
  }
};
constexpr const char* kTainted = R"([{"key":"k","value":"v","effect":"NoExecute"}])";

TEST_F(TaintEvictionTest, WhoDoesNotTolerateGoesAtOnceWhoDoesStays) {
  make_pod("plain");
  make_pod("for-ever", R"([{"key":"k","operator":"Exists"}])");
  make_pod("a-while", R"([{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":60}])");
  taint(R"([{"key":"k","effect":"NoSchedule"}])");
  EXPECT_FALSE(ends("plain"));
  taint(kTainted);
  EXPECT_TRUE(ends("plain"));
  EXPECT_EQ(said_of("Pod", "plain"),
            std::vector<std::string>{"TaintManagerEviction: Marking for deletion Pod default/plain"});
  const auto pod = get(kPods, "plain");
  const auto conditions = pod["status"]["conditions"];
  EXPECT_EQ(conditions.at(conditions.size() - 1)["reason"].text(), "DeletionByTaintManager") << pod.to_json();
  advance(59s);
  EXPECT_FALSE(ends("a-while"));
  advance(1s);
  EXPECT_TRUE(ends("a-while"));
  EXPECT_FALSE(ends("for-ever"));
}

TEST_F(TaintEvictionTest, ATaintThatGoesInTimeHarmsNobody) {
  make_pod("a-while", R"([{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":60}])");
  taint(kTainted);
  advance(30s);
  taint("null");
  EXPECT_EQ(said_of("Pod", "a-while"),
            std::vector<std::string>{"TaintManagerEviction: Cancelling deletion of Pod default/a-while"});
  advance(60s);
  EXPECT_FALSE(ends("a-while"));
  taint(kTainted);
  advance(59s);
  EXPECT_FALSE(ends("a-while")) << "it waits anew";
  advance(2s);
  EXPECT_TRUE(ends("a-while"));
}

TEST_F(TaintEvictionTest, APodThatComesToATaintedNode) {
  taint(kTainted);
  make_pod("late");
  EXPECT_TRUE(ends("late"));
}

}  // namespace
}  // namespace sublet::controllers
