// metrics.k8s.io as the server serves it itself: while there is a local APIService of it, with the rights of its group.
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using About = kube::MetricsQuestion::About;

class OwnMetricsTest : public testing::Test {
 protected:
  ServerOptions options() {
    ServerOptions made;
    made.metrics = [this](const kube::MetricsQuestion& question, const std::shared_ptr<net::ResponseSink>& sink) {
      asked_.push_back(question);
      auto answer = kube::MetricsAnswer::to(question).value();
      sink->respond(200, {{"Content-Type", "application/json"}}, answer.json().value_or("gone"));
    };
    return made;
  }
  static void make_local(Rig& rig) {
    ASSERT_EQ(rig.post("/apis/apiregistration.k8s.io/v1/apiservices",
                       R"({"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io",)"
                       R"("version":"v1beta1","groupPriorityMinimum":100,"versionPriority":100}})")
                  .code,
              201);
  }
  const std::string api_ = "/apis/metrics.k8s.io/v1beta1";
  std::vector<kube::MetricsQuestion> asked_;
};

TEST_F(OwnMetricsTest, ItIsServedWhileThereIsALocalApiService) {
  Rig rig({}, options());
  EXPECT_EQ(rig.get(api_).code, 404);
  EXPECT_EQ(rig.get(api_ + "/pods").code, 404);
  EXPECT_EQ(rig.get("/apis").body.find("metrics.k8s.io"), std::string::npos);
  make_local(rig);
  EXPECT_NE(rig.get(api_).body.find(R"("kind":"NodeMetrics","verbs":["get","list"])"), std::string::npos);
  EXPECT_NE(rig.get("/apis").body.find("metrics.k8s.io/v1beta1"), std::string::npos);
  EXPECT_NE(rig.get("/apis/metrics.k8s.io").body.find("metrics.k8s.io/v1beta1"), std::string::npos);
  EXPECT_EQ(rig.get("/openapi/v2").code, 200);
  EXPECT_EQ(rig.get(api_ + "/namespaces/shop/pods?labelSelector=app%3Dweb").code, 200);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].about, About::pods);
  EXPECT_EQ(asked_[0].namespace_name + " " + asked_[0].label_selector, "shop app=web");
  EXPECT_EQ(rig.get(api_ + "/nodes/n1").code, 200);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].about, About::nodes);
  EXPECT_EQ(asked_[1].name, "n1");
  ASSERT_EQ(rig.remove("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io").code, 200);
  EXPECT_EQ(rig.get(api_ + "/pods").code, 404);
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(OwnMetricsTest, NothingElseOfItIsServed) {
  Rig rig({}, options());
  make_local(rig);
  for (const char* path : {"/things", "/namespaces/shop/nodes", "/namespaces/shop/pods/web/log", "/pods/web"})
    EXPECT_EQ(rig.get(api_ + path).code, 404) << path;
  EXPECT_EQ(rig.get("/openapi/v3" + api_).code, 404);
  EXPECT_EQ(rig.get(api_ + "/pods?watch=true").code, 405);
  EXPECT_EQ(rig.post(api_ + "/namespaces/shop/pods", "{}").code, 405);
  EXPECT_EQ(rig.remove(api_ + "/namespaces/shop/pods/web").code, 405);
  EXPECT_EQ(rig.get(api_ + "/pods?labelSelector=%3D%3D").code, 400);
  EXPECT_EQ(rig.get(api_ + "/pods?fieldSelector=spec.nodeName%3Dn1").code, 400);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(OwnMetricsTest, OnesWithoutAMeasureServeNothing) {
  Rig rig;
  make_local(rig);
  EXPECT_EQ(rig.get(api_).code, 404);
  EXPECT_EQ(rig.get("/apis").body.find("metrics.k8s.io/v1beta1"), std::string::npos);
}

TEST_F(OwnMetricsTest, AnApiServiceThatNamesAServiceTakesItAway) {
  Rig rig({}, options());
  make_local(rig);
  ASSERT_EQ(rig.patch("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io", "merge-patch",
                      R"({"spec":{"service":{"namespace":"kube-system","name":"metrics-server"}}})")
                .code,
            200);
  EXPECT_EQ(rig.get(api_ + "/pods").code, 503);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(OwnMetricsTest, ItTakesTheRightToTheGroup) {
  Rig rig(options(), Rig::WithRights());
  make_local(rig);
  EXPECT_EQ(rig.call_as("mallory", "GET", api_ + "/pods").code, 403);
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace sublet::apiserver
