#include "sublet/syncer/health.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using testing::TempDir;

Health sample() {
  Health health;
  health.at = WallTime(std::chrono::seconds(1'800'000'010));
  health.since = WallTime(std::chrono::seconds(1'800'000'000));
  health.pid = 7;
  health.tenant.answered = health.host.answered = health.at;
  health.kinds.push_back({"Pod", "host", health.at, health.at, ""});
  return health;
}

TEST(Health, RecordIsReadAsItWasWritten) {
  Health health = sample();
  health.host.failing_since = health.since;
  health.host.code = 401;
  health.host.cause = "it answers 401 Unauthorized";
  health.host.latency = std::chrono::milliseconds(12);
  health.backlog = 3;
  judge(health);
  const auto read = parse_health(to_json(health));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, HealthState::host_refuses);
  EXPECT_EQ(to_json(*read), to_json(health));
  EXPECT_FALSE(read->is_stale(health.at + kHealthStale));
  EXPECT_TRUE(read->is_stale(health.at + kHealthStale + std::chrono::seconds(1)));
  EXPECT_FALSE(parse_health("{}"));
  EXPECT_FALSE(parse_health("[]"));
}

TEST(Health, IsJudgedByTheWorstThatIsKnown) {
  Health health = sample();
  judge(health);
  EXPECT_EQ(health.state, HealthState::ok);
  EXPECT_EQ(health.message, "");
  health.kinds.push_back({"Secret", "tenant", {}, {}, "connection refused"});
  judge(health);
  EXPECT_EQ(health.state, HealthState::starting);
  EXPECT_EQ(health.message, "the syncer has not listed Secret of the tenant yet: connection refused");
  health.tenant.failing_since = health.since;
  health.tenant.cause = "connection refused";
  judge(health);
  EXPECT_EQ(health.state, HealthState::tenant_silent);
  health.host.failing_since = health.since;
  health.host.cause = "no answer for 5 s";
  judge(health);
  EXPECT_EQ(health.state, HealthState::host_silent);
  EXPECT_EQ(health.message, "the host does not answer: no answer for 5 s");
}

class HealthRecord : public TwoServers {
 protected:
  void SetUp() override {
    health_path = TempDir() + "sublet-health-" + std::to_string(::getpid()) + ".json";
    start_syncer();
    await_state(HealthState::ok);
  }
  void TearDown() override {
    stop_syncer();
    std::filesystem::remove(health_path);
  }
  void await_state(HealthState state) {
    eventually(
        [&] {
          const auto health = read_health(health_path);
          return health && health->state == state;
        },
        "the record says " + std::string(to_text(state)));
  }
};

TEST_F(HealthRecord, SaysThatTheHostRefusesAndTellsPendingPods) {
  faults.inject("POST", "", 1'000'000, Faults::status(401, "Unauthorized"));
  faults.inject("GET", "limit=1", 1'000'000, Faults::status(401, "Unauthorized"));
  create_pod("web");
  await_state(HealthState::host_refuses);
  EXPECT_NE(await_event("web", "HostRefuses").find("`sublet create rag` again"), std::string::npos);
  faults.clear();
  await_state(HealthState::ok);
  await_host_pod("web");
}

TEST_F(HealthRecord, FindsOutThatAnIdleHostIsSilent) {
  faults.hang("GET", "limit=1");
  await_state(HealthState::host_silent);
  faults.clear();
  await_state(HealthState::ok);
}

}  // namespace
}  // namespace sublet::syncer
