// A syncer whose time and order are the test's: no thread of its own, and nothing waits but for the test's clock.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

class SteppedSyncer : public TwoServers {
 protected:
  SteppedSyncer() { clock.own_all_time(); }
  ~SteppedSyncer() override { stop_syncer(); }

  // One step of either kind; false: nothing is to be done now.
  bool step() { return strand.step() || executor.step(); }
  /// Steps until the condition holds; when there is nothing to step, the servers' answers are on the way, and ring.
  void step_until(const std::function<bool()>& condition, std::string_view what) {
    eventually(
        [&] {
          while (step())
            if (condition()) return true;
          return condition();
        },
        what);
  }
  void begin_syncer() {
    kube::Client to_tenant = tenant.client_through(tenant_faults), to_host = host.client_through(faults);
    threads_without = threads_of_this_process();  // the servers', and the transports'
    syncer = std::make_unique<Syncer>(strand, executor, std::move(to_tenant), std::move(to_host), syncer_options());
    syncer->begin();
    step_until([&] { return syncer->synced(); }, "the copies are filled");
    syncer->serve();
  }
  bool on_host(const std::string& pod) { return host_pod(pod).root().is_object(); }

  SteppedStrand strand{clock, [this] { ring(); }};
  SteppedExecutor executor;
  std::ptrdiff_t threads_without = 0;
};

TEST_F(SteppedSyncer, APodCrossesAndItsStatusComesBackWithoutAThreadOrTimeOfItsOwn) {
  const SteadyTime began = clock.steady_now();
  begin_syncer();
  EXPECT_EQ(threads_of_this_process(), threads_without);
  create_pod("web");
  EXPECT_FALSE(on_host("web")) << "nobody has stepped yet";
  step_until([&] { return on_host("web"); }, "the pod is on the host");
  run_on_host("web");
  step_until([&] { return tenant_pod("web")["status"]["phase"].text() == "Running"; }, "the status came back");
  EXPECT_EQ(tenant_pod("web")["spec"]["nodeName"].text(), "node-1");
  EXPECT_EQ(threads_of_this_process(), threads_without);
  EXPECT_EQ(clock.steady_now(), began);
}

TEST_F(SteppedSyncer, WhatFailedIsTriedAgainWhenTheTestsClockSaysSo) {
  begin_syncer();
  faults.inject("POST", "/pods", 1, Faults::status(503, "ServiceUnavailable"));
  create_pod("web");
  step_until([&] { return faults.left() == 0; }, "the host refused once");
  while (step()) {
  }
  EXPECT_FALSE(syncer->idle(minutes(2))) << "it waits for its time";
  const SteadyTime refused = Clock::system().steady_now();
  eventually([&] { return Clock::system().steady_now() > refused + milliseconds(30); }, "the first back-off is over");
  EXPECT_FALSE(executor.step()) << "in real time, which does not count";
  clock.advance(seconds(1));
  step_until([&] { return on_host("web"); }, "the pod is on the host");
}

// As it is after a machine has slept.
TEST_F(SteppedSyncer, TokensAreRenewedWithinMinutesWhenTheTimeOfDayJumps) {
  begin_syncer();
  tenant.create(kPods, R"({"metadata":{"name":"web","namespace":"default"},
                           "spec":{"containers":[{"name":"main","image":"busybox"}]}})");
  const auto tokens = [&] {
    std::string all;
    const auto secrets = host.client().list(kSecrets, kHostNamespace);
    for (const schema::Value secret : secrets->root()["items"]) all += secret["data"].to_json();
    return all;
  };
  step_until([&] { return tokens().size() > 20; }, "the token is on the host");
  while (step()) {
  }
  const std::string first = tokens();
  clock.set_forward(minutes(50));  // past 80 % of an hour
  clock.advance(minutes(5));
  step_until([&] { return tokens() != first; }, "the token is a new one");
}

TEST_F(SteppedSyncer, TokensAreRenewedByTheTestsClockAlone) {
  begin_syncer();
  tenant.create(kPods, R"({"metadata":{"name":"web","namespace":"default"},
                           "spec":{"containers":[{"name":"main","image":"busybox"}]}})");
  std::string name;
  const auto token = [&] {
    const schema::Document pod = host_pod("web");
    for (const schema::Value volume : pod["spec"]["volumes"])
      for (const schema::Value source : volume["projected"]["sources"])
        if (source["secret"]["name"].text().find("token") != std::string_view::npos)
          name = source["secret"]["name"].string();
    return name.empty() ? "" : host.get(kSecrets, kHostNamespace, name)["data"].to_json();
  };
  step_until([&] { return token().size() > 20; }, "the token is on the host");
  const std::string first = token();
  clock.advance(minutes(50));  // past 80 % of an hour
  step_until([&] { return token() != first; }, "the token is a new one");
}

// The syncer before it had brought the pod's end, and that write came after this one's list.
TEST_F(SteppedSyncer, APodThatHasEndedSinceTheFirstListIsNotRunASecondTime) {
  create_pod("job");
  const std::string list = tenant.client().list(kPods, "")->to_json();
  ASSERT_TRUE(tenant.client().patch(kPods, kTenantNamespace, "job", kube::PatchType::merge,
                                    R"({"status":{"phase":"Succeeded"}})", "status"));
  tenant_faults.inject("GET", "/api/v1/pods?", 1, [list](net::ResponseSink& sink) {
    sink.respond(200, {{"Content-Type", "application/json"}}, list);
  });
  tenant_faults.inject("GET", "/api/v1/pods?", 1000, Faults::status(503, "ServiceUnavailable"));  // no news meanwhile
  begin_syncer();
  while (executor.step()) {
  }
  EXPECT_FALSE(on_host("job"));
  EXPECT_FALSE(syncer->idle(seconds(1))) << "it looks again";
}

TEST_F(SteppedSyncer, TwoThatStopItAtOnceBothFindItStopped) {
  begin_syncer();
  create_pod("web");
  std::thread other([&] { syncer->stop(); });
  syncer->stop();
  EXPECT_FALSE(executor.step());
  other.join();
}

}  // namespace
}  // namespace sublet::syncer
