#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

class CleaningControllersTest : public ControlledServer {
 protected:
  static inline const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"},
      kRequests{"certificates.k8s.io", "v1", "certificatesigningrequests"};

  std::string rules_of(std::string_view role) {
    auto found = client_.get(kRoles, "", role);
    std::string text;
    if (found)
      for (schema::Value rule : (*found)["rules"]) text.append(rule["resources"].at(0).text()).append(" ");
    return text;
  }
  void make_role(std::string_view name, std::string_view labels, std::string_view resource) {
    create(kRoles, "",
           std::string(R"({"metadata":{"name":")").append(name).append(R"(","labels":)").append(labels) +
               R"(},"rules":[{"apiGroups":[""],"resources":[")" + std::string(resource) + R"("],"verbs":["get"]}]})");
  }
};

TEST_F(CleaningControllersTest, APodThatIsDeletedOnNoNodeHasFailed) {
  create(kPods, "default", R"({"metadata":{"name":"p","finalizers":["example.com/hold"]},"spec":{"containers":[
    {"name":"c","image":"x"}]}})");
  EXPECT_EQ(get(kPods, "p")["status"]["phase"].text(), "Pending");
  remove(kPods, "p");
  EXPECT_EQ(get(kPods, "p")["status"]["phase"].text(), "Failed");
  create(kPods, "default", R"({"metadata":{"name":"q","finalizers":["example.com/hold"]},"spec":{"nodeName":"n",
    "containers":[{"name":"c","image":"x"}]}})");
  remove(kPods, "q");
  EXPECT_EQ(get(kPods, "q")["status"]["phase"].text(), "Pending") << "its kubelet will tell";
}

TEST_F(CleaningControllersTest, WhenTooManyPodsHaveEndedTheOldestGo) {
  options_.ended_pods_max = 2;
  restart_controllers();
  for (auto name : {"a", "b", "c", "d"}) {
    create(kPods, "default",
           R"({"metadata":{"name":")" + std::string(name) +
               R"("},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}})");
    clock_.advance(2s);
  }
  for (auto name : {"a", "b", "d"}) say_status(name, R"({"phase":"Succeeded"})");
  advance(19s);
  EXPECT_EQ(names(kPods).size(), 4u);
  advance(1s);
  EXPECT_EQ(names(kPods), (Strings{"b", "c", "d"}));
}

TEST_F(CleaningControllersTest, ARoleHasTheRulesOfThoseThatItSelects) {
  make_role("one", R"({"to":"all"})", "pods");
  create(kRoles, "", R"({"metadata":{"name":"all"},"aggregationRule":{"clusterRoleSelectors":[
    {"matchLabels":{"to":"all"}}]},"rules":[{"apiGroups":[""],"resources":["forged"],"verbs":["get"]}]})");
  EXPECT_EQ(rules_of("all"), "pods ");
  make_role("two", R"({"to":"all"})", "nodes");
  make_role("other", R"({"to":"none"})", "secrets");
  make_role("same", R"({"to":"all"})", "pods");
  EXPECT_EQ(rules_of("all"), "pods nodes ");
  ASSERT_TRUE(client_.remove(kRoles, "", "two"));
  settle();
  EXPECT_EQ(rules_of("all"), "pods ");
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
}

TEST_F(CleaningControllersTest, CertificateRequestsGoWhenTheyAreAnswered) {
  // What is asked for does not matter here: these come from the store as a server once took them.
  const auto store_request = [&](const std::string& name, const std::string& status) {
    store::Put put;
    put.bytes = R"({"metadata":{"name":")" + name + R"(","uid":")" + name + R"(","creationTimestamp":")" +
                format_time(clock_.now()) + R"("},"spec":{},"status":)" + status + "}";
    put.index.uid = name;
    ASSERT_TRUE(store_->commit({{}, {{"certificatesigningrequests.certificates.k8s.io/" + name, std::move(put)}}}));
  };
  const auto condition = [&](std::string_view type) {
    return std::string(R"("conditions":[{"type":")").append(type) + R"(","status":"True","lastUpdateTime":")" +
           format_time(clock_.now()) + R"("}])";
  };
  store_request("waiting", "{}");
  store_request("denied", "{" + condition("Denied") + "}");
  store_request("issued", "{" + condition("Approved") + R"(,"certificate":"eA=="})");
  store_request("approved", "{" + condition("Approved") + "}");
  settle();
  const auto left = [&] { return store_->snapshot().count("certificatesigningrequests.certificates.k8s.io/"); };
  advance(1h);
  EXPECT_EQ(left(), 4u);
  advance(1s);
  EXPECT_EQ(left(), 2u);
  advance(23h);
  EXPECT_EQ(left(), 0u);
  advance(2h);
  EXPECT_EQ(executor_.timers(), 0u);
}

}  // namespace
}  // namespace sublet::controllers
