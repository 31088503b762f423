// Many creates at once against one quota, with the controller counting beside them: never one too many, never one too
// few. The long run: SUBLET_QUOTA_ROUNDS=1000 build/release/bin/controllers_test --gtest_filter='QuotaRace.*'
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/eventually_testing.h"
#include "controllers/resources_testing.h"
#include "controllers/role_checked_testing.h"
#include "sublet/apiserver/server.h"
#include "sublet/controllers/controllers.h"
#include "sublet/controllers/executor.h"
#include "sublet/store/memory_log.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using testing_support::parse_json;

constexpr int kCreates = 20, kAllowed = 5;
const kube::Resource kQuotas{"", "v1", "resourcequotas"};

int rounds() {
  const char* asked = std::getenv("SUBLET_QUOTA_ROUNDS");
  return asked ? std::atoi(asked) : 5;
}

std::string pod_json(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"x"}]}})";
}

/// A server with all its controllers on threads of their own.
class QuotaRace : public testing::Test {
 protected:
  QuotaRace() {
    EXPECT_TRUE(server_.start());
    ControllersOptions options;
    options.client_as = clients_with_roles(server_.handler(), &loop_.loop());
    controllers_ = std::make_unique<Controllers>(*store_, client_, *executor_, std::move(options));
    controllers_->start();
  }
  ~QuotaRace() override {
    controllers_->stop();
    server_.stop();
    store_->close();
  }

  static net::PeerIdentity in_process() {
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    return identity;
  }
  std::string used() {
    const auto quota = client_.get(kQuotas, "default", "q");
    return quota ? (*quota)["status"]["used"]["pods"].string("uncounted") : quota.error().message;
  }
  void expect_used(const std::string& count) {
    EXPECT_TRUE(testing_support::eventually([&] { return used() == count; })) << used() << ", not " << count;
  }

  /// What the creates of a round came to.
  struct Tally {
    std::atomic<int> made{0}, refused{0};
  };
  void create(const std::string& name, Tally& tally) {
    const auto made = client_.create(kPods, "default", parse_json(pod_json(name)).root());
    if (made) {
      ++tally.made;
      return;
    }
    ++tally.refused;
    EXPECT_NE(made.error().message.find("exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5"),
              std::string::npos)
        << made.error().message;
  }
  void run_round(int round) {
    Tally tally;
    std::vector<std::thread> threads;
    for (int i = 0; i < kCreates; ++i)
      threads.emplace_back(
          [this, &tally, name = "p-" + std::to_string(round) + "-" + std::to_string(i)] { create(name, tally); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(tally.made, kAllowed);
    EXPECT_EQ(tally.refused, kCreates - kAllowed);
    EXPECT_EQ(store_->snapshot().count("pods/default/"), static_cast<std::size_t>(kAllowed));
    EXPECT_EQ(used(), "5") << "it is charged when the answer is there";
  }
  void remove_pods() {
    const auto pods = client_.list(kPods, "default");
    ASSERT_TRUE(pods);
    for (const schema::Value pod : (*pods)["items"])
      EXPECT_TRUE(client_.remove(kPods, "default", pod["metadata"]["name"].string()));
  }

  net::LoopThread loop_{"test-quota-race"};
  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  apiserver::Server server_{*store_, loop_.loop(), {}};
  std::unique_ptr<Executor> executor_ = make_pool_executor(loop_.loop(), 4);
  kube::Client client_{net::make_in_process_transport(server_.handler(), in_process())};
  std::unique_ptr<Controllers> controllers_;
};

TEST_F(QuotaRace, ExactlyWhatIsAllowedIsMade) {
  ASSERT_TRUE(testing_support::eventually([&] { return client_.get(kAccounts, "default", "default").has_value(); }));
  ASSERT_TRUE(client_.create(kQuotas, "default",
                             parse_json(R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"5"}}})").root()));
  expect_used("0");
  const int count = rounds();
  int round = 0;
  for (; round < count && !HasFailure(); ++round) {
    run_round(round);
    remove_pods();
    expect_used("0");
  }
  std::printf("quota race: %d rounds of %d creates at once against pods=%d: %s\n", round, kCreates, kAllowed,
              HasFailure() ? "the last one FAILED" : "exactly as many made in each");
}

}  // namespace
}  // namespace sublet::controllers
