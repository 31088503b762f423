// Upstream's own schemas and levels stand as they must, and every schema says whether its level is there.
#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class FlowControlControllerTest : public ControlledServer {
 protected:
  schema::Document found(const kube::Resource& resource, std::string_view name) {
    auto answer = client_.get(resource, "", name);
    return answer ? std::move(*answer) : schema::Document();
  }
};

TEST_F(FlowControlControllerTest, FlowControlIsKeptAndSaysWhatDangles) {
  const kube::Resource schemas{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas"},
      levels{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations"};
  const auto dangling = [&](std::string_view name) {
    return found(schemas, name)["status"]["conditions"].at(0)["status"].string();
  };
  EXPECT_EQ(dangling("catch-all"), "False");
  const auto bend = [&](std::string_view name) {
    ASSERT_TRUE(client_.patch(schemas, "", name, kube::PatchType::merge, R"({"spec":{"matchingPrecedence":9000}})"));
    settle();
  };
  EXPECT_FALSE(
      client_.patch(schemas, "", "catch-all", kube::PatchType::merge, R"({"spec":{"matchingPrecedence":9000}})"));
  EXPECT_EQ(found(schemas, "catch-all")["spec"]["matchingPrecedence"].integer(), 10000);
  bend("global-default");
  EXPECT_EQ(found(schemas, "global-default")["spec"]["matchingPrecedence"].integer(), 9900);
  ASSERT_TRUE(client_.patch(schemas, "", "global-default", kube::PatchType::merge,
                            R"({"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}}})"));
  bend("global-default");
  EXPECT_EQ(found(schemas, "global-default")["spec"]["matchingPrecedence"].integer(), 9000) << "its owner wants it so";
  ASSERT_TRUE(client_.remove(levels, "", "workload-low", {}));
  settle();
  EXPECT_TRUE(found(levels, "workload-low").root()) << "it comes back";
  create(schemas, "", R"({"metadata":{"name":"lost"},"spec":{"priorityLevelConfiguration":{"name":"nowhere"}}})");
  EXPECT_EQ(dangling("lost"), "True");
  EXPECT_EQ(found(schemas, "lost")["status"]["conditions"].at(0)["message"].text(),
            "This FlowSchema references the PriorityLevelConfiguration object named \"nowhere\" but there is no such "
            "object");
  create(levels, "",
         R"({"metadata":{"name":"nowhere"},"spec":{"type":"Limited","limited":{"limitResponse":)"
         R"({"type":"Reject"}}}})");
  EXPECT_EQ(dangling("lost"), "False");
}

}  // namespace
}  // namespace sublet::controllers
