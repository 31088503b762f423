#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

class ResourceQuotaControllerTest : public ControlledServer {
 protected:
  static inline const kube::Resource kQuotas{"", "v1", "resourcequotas"}, kConfigMaps{"", "v1", "configmaps"};
  std::string used() {
    advance(50ms);
    const auto quota = get(kQuotas, "q");
    return quota["status"]["used"].to_json();
  }
};

TEST_F(ResourceQuotaControllerTest, SaysWhatIsUsed) {
  create(kQuotas, "default",
         R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"4","requests.cpu":"2","count/jobs.batch":
    "3","services":"5","configmaps":"9","requests.memory":"1Gi"}}})");
  EXPECT_EQ(used(), R"({"configmaps":"1","count/jobs.batch":"0","pods":"0","requests.cpu":"0","requests.memory":"0",)"
                    R"("services":"1"})");
  create(kPods, "default", R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x",
    "resources":{"requests":{"cpu":"500m","memory":"128Mi"}}}]}})");
  create(kConfigMaps, "default", R"({"metadata":{"name":"c"}})");
  create(kJobs, "default",
         R"({"metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never",
    "containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(used(), R"({"configmaps":"2","count/jobs.batch":"1","pods":"1","requests.cpu":"500m",)"
                    R"("requests.memory":"128Mi","services":"1"})");
  EXPECT_EQ(get(kQuotas, "q")["status"]["hard"].to_json(), get(kQuotas, "q")["spec"]["hard"].to_json());
  say_status("p", R"({"phase":"Succeeded"})");
  EXPECT_EQ(used(), R"({"configmaps":"2","count/jobs.batch":"1","pods":"0","requests.cpu":"0","requests.memory":"0",)"
                    R"("services":"1"})");
  const auto before = store_->stats().revision;
  merge(kQuotas, "q", R"({"metadata":{"labels":{"a":"b"}}})");
  advance(1min);
  EXPECT_EQ(store_->stats().revision, before + 1) << "only what was asked for";
}

TEST_F(ResourceQuotaControllerTest, ThePlatformsCountsAllNamespaces) {
  options_.platform_quotas = "sublet.dev/from-host";
  restart_controllers();
  const std::string pod = R"(,"spec":{"nodeName":"n","containers":[{"name":"c","image":"x","resources":{"requests":
    {"cpu":"500m"}}}]}})";
  create(kPods, "default", R"({"metadata":{"name":"p"})" + pod);
  create(kPods, "kube-system", R"({"metadata":{"name":"p"})" + pod);
  const std::string hard = R"("spec":{"hard":{"pods":"4","requests.cpu":"2","count/services":"5"}}})";
  create(kQuotas, "kube-system", R"({"metadata":{"name":"brought","labels":{"sublet.dev/from-host":"true"}},)" + hard);
  create(kQuotas, "kube-system", R"({"metadata":{"name":"own"},)" + hard);
  const auto used_of = [&](std::string_view name) {
    return client_.get(kQuotas, "kube-system", name).value()["status"]["used"].to_json();
  };
  advance(50ms);
  EXPECT_EQ(used_of("brought"), R"({"count/services":"1","pods":"2","requests.cpu":"1"})");
  EXPECT_EQ(used_of("own"), R"({"count/services":"0","pods":"1","requests.cpu":"500m"})");
  say_status("p", R"({"phase":"Succeeded"})");
  advance(500ms);
  EXPECT_EQ(used_of("brought"), R"({"count/services":"1","pods":"1","requests.cpu":"500m"})");
}

}  // namespace
}  // namespace sublet::controllers
