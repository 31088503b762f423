#include "syncer/from_host/pod_status.h"

#include <gtest/gtest.h>

namespace sublet::syncer {
namespace {

using schema::Document;

std::string status(std::string_view host_pod, std::string_view tenant_pod) {
  const auto host = std::move(*Document::parse_json(host_pod)), tenant = std::move(*Document::parse_json(tenant_pod));
  return tenant_pod_status(host.root(), tenant.root())["conditions"].to_json();
}

constexpr std::string_view kEvicted =
    R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}]}})";

TEST(TenantPodStatus, KeepsTheWordOfAnEviction) {
  EXPECT_EQ(
      status(R"({"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}})", kEvicted),
      R"([{"type":"Ready","status":"False"},{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}])");
  EXPECT_EQ(status(R"({"status":{"phase":"Pending"}})", kEvicted),
            R"([{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}])");
}

TEST(TenantPodStatus, TheHostsOwnDisruptionCountsMore) {
  EXPECT_EQ(
      status(
          R"({"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})",
          kEvicted),
      R"([{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}])");
}

TEST(TenantPodStatus, OtherConditionsAreTheHosts) {
  EXPECT_EQ(
      status(R"({"status":{"conditions":[]}})", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
      "[]");
}

}  // namespace
}  // namespace sublet::syncer
