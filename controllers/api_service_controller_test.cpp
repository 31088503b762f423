// Every APIService says whether it can be had; it is looked at again when it, its Service or the endpoints change.
#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class ApiServiceControllerTest : public ControlledServer {
 protected:
  static inline const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};

  ApiServiceControllerTest() {
    options_.check_api_service = [this](const std::string& name, std::function<void(apiserver::ApiAvailability)> done) {
      looks_.push_back({name, std::move(done)});
      return std::make_shared<int>(0);
    };
    restart_controllers();
  }
  struct Asked {
    std::string name;
    std::function<void(apiserver::ApiAvailability)> done;
  };
  void add(const std::string& name, const std::string& service) {
    create(kApiServices, "",
           R"({"metadata":{"name":"v1.)" + name + R"("},"spec":{"group":")" + name +
               R"(","version":"v1","groupPriorityMinimum":100,"versionPriority":1)" + service + "}}");
  }
  void answer(bool available, const std::string& reason) {
    ASSERT_FALSE(looks_.empty());
    auto done = std::move(looks_.back().done);
    looks_.pop_back();
    done({available, reason, "why"});
    settle();
  }
  std::string said(const std::string& name) {
    const auto stored = client_.get(kApiServices, "", name);
    if (!stored) return "gone";
    const auto condition = (*stored)["status"]["conditions"].at(0);
    return condition["type"].string() + "=" + condition["status"].string() + " " + condition["reason"].string();
  }
  std::vector<Asked> looks_;
};

TEST_F(ApiServiceControllerTest, EveryOneSaysWhetherItCanBeHad) {
  add("local.test", "");
  answer(true, "Local");
  EXPECT_EQ(said("v1.local.test"), "Available=True Local");
  advance(std::chrono::hours(1));
  EXPECT_TRUE(looks_.empty()) << "there is nobody to ask again";

  add("other.test", R"(,"service":{"namespace":"default","name":"other"})");
  answer(false, "ServiceNotFound");
  EXPECT_EQ(said("v1.other.test"), "Available=False ServiceNotFound");
  EXPECT_TRUE(looks_.empty()) << "its own status is no news";
  create(kServices, "default", R"({"metadata":{"name":"other"},"spec":{"ports":[{"port":443}]}})");
  answer(true, "Passed");
  EXPECT_EQ(said("v1.other.test"), "Available=True Passed");
  looks_.clear();
}

TEST_F(ApiServiceControllerTest, WhoeverNamesAServiceIsLookedAtFromTimeToTime) {
  add("other.test", R"(,"service":{"namespace":"default","name":"other"})");
  answer(true, "Passed");
  advance(std::chrono::seconds(29));
  EXPECT_TRUE(looks_.empty());
  advance(std::chrono::seconds(2));
  ASSERT_EQ(looks_.size(), 1u);
  ASSERT_TRUE(
      client_.patch(kApiServices, "", "v1.other.test", kube::PatchType::merge, R"({"spec":{"versionPriority":2}})"));
  settle();
  EXPECT_EQ(looks_.size(), 1u) << "one look at a time";
  answer(false, "FailedDiscoveryCheck");
  EXPECT_EQ(said("v1.other.test"), "Available=False FailedDiscoveryCheck");
  EXPECT_EQ(looks_.size(), 1u) << "what changed meanwhile is looked at";
  answer(true, "Passed");
  ASSERT_TRUE(client_.remove(kApiServices, "", "v1.other.test", {}));
  settle();
  advance(std::chrono::hours(1));
  EXPECT_TRUE(looks_.empty());
}

}  // namespace
}  // namespace sublet::controllers
