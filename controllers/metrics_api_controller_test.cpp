// metrics.k8s.io is there while somebody measures, and a tenant's own stays whoever measures.
#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class MetricsApiControllerTest : public ControlledServer {
 protected:
  static inline const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"},
      kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};
  static constexpr const char* kName = "v1beta1.metrics.k8s.io";

  MetricsApiControllerTest() {
    options_.check_metrics = [this](std::function<void(std::optional<bool>)> done) {
      ++asked_;
      done_ = std::move(done);
      return std::make_shared<int>(0);
    };
    restart_controllers();
    settle();
  }
  void answer(std::optional<bool> said) {
    ASSERT_TRUE(done_);
    std::exchange(done_, nullptr)(said);
    settle();
  }
  std::string served_by() {
    const auto stored = client_.get(kApiServices, "", kName);
    if (!stored) return "nobody";
    return (*stored)["spec"].has("service") ? (*stored)["spec"]["service"]["name"].string() : "local";
  }
  int asked_ = 0;
  std::function<void(std::optional<bool>)> done_;
};

TEST_F(MetricsApiControllerTest, ItIsThereWhileSomebodyMeasures) {
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(served_by(), "nobody");
  answer(true);
  EXPECT_EQ(served_by(), "local");
  const auto reader = client_.get(kClusterRoles, "", "system:aggregated-metrics-reader");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"].text(), "true");

  ASSERT_TRUE(client_.remove(kApiServices, "", kName, {}));
  settle();
  EXPECT_EQ(served_by(), "local") << "it comes back";
  EXPECT_EQ(asked_, 1);
  advance(std::chrono::seconds(301));
  EXPECT_EQ(asked_, 2);
  answer(std::nullopt);
  EXPECT_EQ(served_by(), "local") << "nobody has said that it is gone";
  advance(std::chrono::seconds(6));
  EXPECT_EQ(asked_, 3);
  answer(false);
  EXPECT_EQ(served_by(), "nobody");
}

TEST_F(MetricsApiControllerTest, ATenantsOwnStays) {
  answer(true);
  ASSERT_TRUE(client_.patch(kApiServices, "", kName, kube::PatchType::merge,
                            R"({"spec":{"service":{"namespace":"kube-system","name":"metrics-server"}}})"));
  settle();
  EXPECT_EQ(served_by(), "metrics-server");
  advance(std::chrono::seconds(301));
  answer(false);
  EXPECT_EQ(served_by(), "metrics-server");
  advance(std::chrono::seconds(301));
  answer(true);
  EXPECT_EQ(served_by(), "metrics-server");
  ASSERT_TRUE(client_.remove(kApiServices, "", kName, {}));
  settle();
  EXPECT_EQ(served_by(), "local");
}

TEST_F(MetricsApiControllerTest, ALocalOneThatSomebodyElseMadeIsNotRemoved) {
  create(kApiServices, "",
         R"({"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io","version":"v1beta1",)"
         R"("groupPriorityMinimum":100,"versionPriority":1}})");
  answer(false);
  EXPECT_EQ(served_by(), "local");
}

}  // namespace
}  // namespace sublet::controllers
