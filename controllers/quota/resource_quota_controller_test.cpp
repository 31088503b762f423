#include "controllers/controlled_server_testing.h"
#include "controllers/quota/quota_usage.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using namespace std::chrono_literals;

std::string text_of(const Usage& usage) {
  std::string text;
  for (const auto& [name, nanos] : usage)
    text.append(name).append("=").append(schema::quantity_from_nanos(nanos)).append(" ");
  return text;
}

std::string pod(std::string_view json) {
  return text_of(pod_usage((*Document::parse_json(json)).root(), *parse_time("2026-11-22T10:00:00Z")));
}

TEST(QuotaUsage, OfAPodIsWhatItNeedsAtOneTime) {
  EXPECT_EQ(pod(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m","memory":"64"},"limits":{"cpu":"1"}}},
    {"resources":{"requests":{"cpu":"200m","nvidia.com/gpu":"1"}}}]}})"),
            "cpu=300m limits.cpu=1 memory=64 pods=1 requests.cpu=300m requests.memory=64 requests.nvidia.com/gpu=1 ");
  EXPECT_EQ(pod(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m"}}}],"initContainers":[
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"50m"}}},{"resources":{"requests":{"cpu":"300m"}}}],
    "overhead":{"cpu":"10m"}}})"),
            "cpu=360m pods=1 requests.cpu=360m ");
  EXPECT_EQ(pod(R"({"status":{"phase":"Succeeded"}})"), "");
  EXPECT_EQ(pod(R"({"metadata":{"deletionTimestamp":"2026-11-22T09:00:00Z","deletionGracePeriodSeconds":30}})"), "");
  EXPECT_EQ(pod(R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:00Z","deletionGracePeriodSeconds":30}})"),
            "pods=1 ");
}

TEST(QuotaUsage, NamesSayWhereTheyAreMeasured) {
  EXPECT_EQ(measured_on("requests.cpu"), Measured::pods);
  EXPECT_EQ(measured_on("limits.memory"), Measured::pods);
  EXPECT_EQ(measured_on("requests.nvidia.com/gpu"), Measured::pods);
  EXPECT_EQ(measured_on("requests.hugepages-2Mi"), Measured::pods);
  EXPECT_EQ(measured_on("requests.storage"), Measured::claims);
  EXPECT_EQ(measured_on("gold.storageclass.storage.k8s.io/requests.storage"), Measured::claims);
  EXPECT_EQ(measured_on("services.nodeports"), Measured::services);
  EXPECT_EQ(measured_on("nvidia.com/gpu"), Measured::nowhere);
  EXPECT_EQ(counted_kind("count/deployments.apps"), "deployments.apps");
  EXPECT_EQ(counted_kind("secrets"), "secrets");
  EXPECT_EQ(counted_kind("pods"), "");
}

TEST(QuotaUsage, ScopesPickPods) {
  const auto is_in = [](std::string_view quota, std::string_view wanted) {
    return is_in_scopes((*Document::parse_json(quota)).root(), (*Document::parse_json(wanted)).root());
  };
  const std::string_view limited = R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}})",
                         plain = R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5,"priorityClassName":"high"}})";
  EXPECT_TRUE(is_in(R"({"scopes":["BestEffort","Terminating"]})", plain));
  EXPECT_FALSE(is_in(R"({"scopes":["BestEffort"]})", limited));
  EXPECT_TRUE(is_in(R"({"scopes":["NotBestEffort","NotTerminating"]})", limited));
  const std::string_view high =
      R"({"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}})";
  EXPECT_TRUE(is_in(high, plain));
  EXPECT_FALSE(is_in(high, limited));
}

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

}  // namespace
}  // namespace sublet::controllers
