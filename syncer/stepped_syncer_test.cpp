// A syncer whose time and order are the test's: no thread of its own, and nothing waits but for the test's clock.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "sublet/base/sanitized.h"
#include "syncer/stepped_syncer_testing.h"

namespace sublet::syncer {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

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

// Only probes are sent to an idle host, and each answer is a whole interval old when the monitor reads it.
TEST_F(SteppedSyncer, AnIdleHostThatAnswersItsProbesIsNotSilent) {
  health_path = testing::TempDir() + "sublet-idle-host-" + std::to_string(::getpid()) + ".json";
  begin_syncer();
  settle();
  for (int turn = 0; turn < 8; ++turn) {
    pass(kHealthInterval);
    settle_until([&] { return clock.now() - syncer->health().host.answered < kHealthInterval; },
                 "the host has answered within an interval");
    const auto health = read_health(health_path);
    ASSERT_TRUE(health) << health.error().message;
    EXPECT_EQ(health->state, HealthState::ok) << health->message;
  }
  std::filesystem::remove(health_path);
}

// A pod's way is not made longer by what is said of it; and what is said again in that moment is told once.
TEST_F(SteppedSyncer, AnEventYieldsToThePodThatItIsAbout) {
  begin_syncer();
  create_pod("web");
  step_until([&] { return on_host("web"); }, "the pod is on the host");
  const auto all_seen = [&] { return syncer->caught_up().value_or(false); };
  settle_until(all_seen, "the host pod is known");
  host.create(kEvents, R"({"metadata":{"name":"e","namespace":"team"},"reason":"Pulling","type":"Normal","count":1,
      "message":"m","involvedObject":{"kind":"Pod","namespace":"team","name":")" +
                           host_name_of("web") + R"("}})");
  settle_until(all_seen, "the event is seen");
  host.patch(kEvents, "team", "e", R"({"count":2})");
  settle_until(all_seen, "and that it is said again");
  const auto told = [&] { return tenant.client().list(kEvents, kTenantNamespace)->root()["items"].size(); };
  EXPECT_EQ(told(), 0U);
  run_on_host("web");
  step_until([&] { return tenant_pod("web")["status"]["phase"].text() == "Running"; }, "the status goes first");
  EXPECT_EQ(told(), 0U);
  const auto writes = tenant_faults.writes();
  pass(milliseconds(100));
  settle_until([&] { return told() == 1; }, "the event is told");
  EXPECT_EQ(tenant_faults.writes(), writes + 1);
  EXPECT_EQ(tenant.client().list(kEvents, kTenantNamespace)->root()["items"].at(0)["count"].integer(), 2);
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

// A host that is away, and what comes of it with many pods.
class AwayHost : public SteppedSyncer {
 protected:
  std::set<std::string> pods_on_host() {
    std::set<std::string> names;
    const auto pods = host.client().list(kPods, kHostNamespace);
    EXPECT_TRUE(pods);
    for (const schema::Value pod : pods->root()["items"])
      if (!pod["metadata"].has("deletionTimestamp"))
        names.insert(pod["metadata"]["name"].string() + pod["metadata"]["labels"]["t.sublet.dev/turn"].string());
    return names;
  }
};

// Pods come all the time, three a second: five minutes with the host, five without (a sanitizer's build: less).
TEST_F(AwayHost, IsAskedNoMoreThanOneThatIsThereAndIsCaughtUpWithAtOnce) {
  constexpr int kSeconds = kSanitized ? 100 : 300;
  begin_syncer();
  std::size_t pods = 0;
  const auto for_minutes = [&](const std::function<bool()>& end) {
    const std::size_t before = faults.seen().size();
    for (int second = 0; second < kSeconds; ++second) {
      for (int i = 0; i < 3; ++i) create_pod("web-" + std::to_string(pods++));
      pass(seconds(1));
    }
    settle_until(end, "all of these minutes is known");
    return faults.seen().size() - before;
  };
  const std::size_t steady = for_minutes([&] { return pods_on_host().size() == pods; });
  const std::size_t there = pods;
  faults.away(true);
  const std::size_t while_away = for_minutes([&] { return syncer->stats().queue_depth >= pods - there; });
  EXPECT_LE(while_away, 2 * steady);
  EXPECT_EQ(pods_on_host().size(), there);
  faults.away(false);
  int waited = 0;
  for (; waited < 120 && pods_on_host().size() < pods; ++waited) pass(seconds(1));
  EXPECT_LT(waited, 30) << "seconds until all pods are there";
  std::printf("requests in %d s: %zu to a host that is there, %zu to one that is away; caught up within %d s\n",
              kSeconds, steady, while_away, waited);
}

// One pod alone has waited as long as anything waits.
TEST_F(AwayHost, OnePodThatWaitedLongIsThereSoon) {
  begin_syncer();
  faults.away(true);
  create_pod("web");
  settle_until([&] { return syncer->stats().queue_depth > 0; }, "the pod is known");
  pass(seconds(5));
  create_pod("second");
  pass(minutes(10));
  EXPECT_FALSE(on_host("web"));
  create_pod("late");  // when it has long been known
  for (const char* pod : {"web", "second", "late"}) {
    const auto said = [&] {
      return tenant.client().list(kEvents, kTenantNamespace,
                                  {.field_selector = std::string("reason=HostAway,involvedObject.name=") + pod});
    };
    settle_until([&] { return said()->root()["items"].size() == 1; }, std::string(pod) + " says why it waits");
    pass(minutes(1));
    EXPECT_EQ(said()->root()["items"].at(0)["count"].integer(), 1) << "once";
  }
  faults.away(false);
  pass(seconds(6));
  EXPECT_TRUE(on_host("web"));
}

// Everything at once: the host away, its history gone and lists refused when it is back, and both sides changed
// meanwhile.
TEST_F(AwayHost, AThousandPodsAreRightAgainAfterwards) {
  constexpr int kAll = kSanitized ? 200 : 1000, kOfEach = kAll / 10;
  const auto name = [](int i) { return "web-" + std::to_string(i); };
  begin_syncer();
  for (int i = 0; i < kAll; ++i) create_pod(name(i));
  settle_until([&] { return pods_on_host().size() == kAll; }, "all pods are there");
  faults.away(true);
  std::set<std::string> wanted;
  for (int i = 0; i < kAll + kOfEach; ++i) {
    if (i < kOfEach) {
      host.remove(kPods, kHostNamespace, host_name_of(name(i)), 0);  // none of them ran: they are made anew
    } else if (i < 2 * kOfEach) {
      tenant.remove(kPods, kTenantNamespace, name(i), 0);
      continue;
    } else if (i < 3 * kOfEach) {
      tenant.patch(kPods, kTenantNamespace, name(i), R"({"metadata":{"labels":{"turn":"2"}}})");
    } else if (i >= kAll) {
      create_pod(name(i));
    }
    wanted.insert(host_name_of(name(i)) + (i >= 2 * kOfEach && i < 3 * kOfEach ? "2" : ""));
  }
  faults.inject("GET", "/namespaces/team/pods?", 5, Faults::status(410, "Expired"));
  faults.inject("POST", "/pods", 50, Faults::status(429, "TooManyRequests", {{"Retry-After", "1"}}));
  const SteadyTime back = clock.steady_now();
  const auto began = std::chrono::steady_clock::now();
  faults.away(false);
  settle_until(
      [&] {
        pass(milliseconds(50));
        return pods_on_host() == wanted;
      },
      "host = f(tenant)");
  EXPECT_EQ(faults.left(), 0);
  std::printf("right after %.1f s of the clock, %.1f s of work\n",
              std::chrono::duration<double>(clock.steady_now() - back).count(),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
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
