// Rows of the fault matrix (docs/reliability.md) in which what counts is how often somebody is asked, and that all is
// right in the end: hosts that refuse, drop what they do not know, flap, end every watch, or are edited without pause.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "sublet/base/sanitized.h"
#include "syncer/stepped_syncer_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

class FaultRows : public SteppedSyncer {
 protected:
  std::set<std::string> pods_on_host() {
    std::set<std::string> names;
    const auto pods = host.client().list(kPods, kHostNamespace);
    EXPECT_TRUE(pods);
    for (const Value pod : pods->root()["items"]) names.insert(pod["metadata"]["name"].string());
    return names;
  }
  void label(const std::string& pod, const std::string& value) {
    tenant.patch(kPods, kTenantNamespace, pod, R"({"metadata":{"labels":{"turn":")" + value + "\"}}}");
  }
  std::string label_on_host(const std::string& pod) {
    return host_pod(pod)["metadata"]["labels"]["t.sublet.dev/turn"].string();
  }
};

struct Refusal {
  int code;
  const char* reason;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.code; }

class NeverTaken : public FaultRows, public testing::WithParamInterface<Refusal> {};

// Rows 14, 15 and 32: one object that the host never takes, whatever it says. It is tried now and then, nobody waits
// for it, and it comes when the host takes it.
TEST_P(NeverTaken, IsTriedNowAndThenAndKeepsNobodyWaiting) {
  begin_syncer();
  for (const char* pod : {"web", "other"}) create_pod(pod);
  settle_until([&] { return pods_on_host().size() == 2; }, "both are there");
  faults.inject("PATCH", host_name_of("web"), 1'000'000, Faults::status(GetParam().code, GetParam().reason));
  const auto tries = [&] { return faults.writes(host_name_of("web")); };
  const std::size_t before = tries();
  label("web", "2");
  settle_until([&] { return tries() > before; }, "it was tried");
  label("other", "2");
  settle_until([&] { return label_on_host("other") == "2"; }, "the other one is changed at once");
  constexpr seconds kLong{kSanitized ? 60 : 300};
  pass(kLong);
  EXPECT_LE(tries() - before, static_cast<std::size_t>(kLong.count())) << "once a second";
  EXPECT_EQ(label_on_host("web"), "");
  faults.clear();
  settle_until(
      [&] {
        pass(seconds(1));
        return label_on_host("web") == "2";
      },
      "it has come");
}

INSTANTIATE_TEST_SUITE_P(Codes, NeverTaken,
                         testing::Values(Refusal{500, "InternalError"}, Refusal{503, "ServiceUnavailable"},
                                         Refusal{504, "Timeout"}, Refusal{429, "TooManyRequests"},
                                         Refusal{409, "Conflict"}),
                         [](const auto& one) { return std::to_string(one.param.code); });

// Row 15: somebody on the host edits a copy of ours a hundred times a second.
TEST_F(FaultRows, WhoEditsWithoutPauseIsAnsweredNowAndThenAndNotFollowed) {
  begin_syncer();
  tenant.create(kConfigMaps, R"({"metadata":{"name":"settings","namespace":"default"},"data":{"v":"ours"}})");
  tenant.create(kPods, R"({"metadata":{"name":"web","namespace":"default"},"spec":{"automountServiceAccountToken":false,
                          "containers":[{"name":"main","image":"i","envFrom":[{"configMapRef":{"name":"settings"}}]}]}})");
  const std::string name = host_name_of("settings");
  settle_until([&] { return host.get(kConfigMaps, kHostNamespace, name).root().is_object(); }, "it is there");
  const std::size_t before = faults.writes(name);
  constexpr unsigned kSeconds = kSanitized ? 3 : 10;
  for (unsigned edit = 0; edit < kSeconds * 100; ++edit) {
    host.patch(kConfigMaps, kHostNamespace, name, R"({"data":{"v":"edit )" + std::to_string(edit) + "\"}}");
    while (step()) {
    }
    clock.advance(milliseconds(10));
  }
  const std::size_t writes = faults.writes(name) - before;
  EXPECT_LE(writes, 5u + kSeconds / 2) << "pauses grow from a tenth of a second to two seconds";
  pass(seconds(5));
  settle_until([&] { return host.get(kConfigMaps, kHostNamespace, name)["data"]["v"].text() == "ours"; }, "it is ours");
  std::printf("%u edits, %zu writes of the syncer\n", kSeconds * 100, writes);
}

// Row 14: what the host keeps for as long as a finalizer is there is asked to go once, not ten times a second.
TEST_F(FaultRows, AnEarlierObjectThatIsLongInGoingIsWaitedFor) {
  const kube::Resource claims{"", "v1", "persistentvolumeclaims"};
  const auto make = [&] {
    tenant.create(claims, R"({"metadata":{"name":"data","namespace":"default"},
                             "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
    tenant.patch(claims, kTenantNamespace, "data", R"({"metadata":{"finalizers":null}})");
  };
  begin_syncer();
  make();
  const std::string name = host_name_of("data");
  const auto claim = [&] { return host.get(claims, kHostNamespace, name); };
  settle_until([&] { return claim().root().is_object(); }, "the claim is there");
  const std::string uid = claim()["metadata"]["uid"].string();
  const std::size_t before = faults.writes(name);
  tenant.remove(claims, kTenantNamespace, "data");
  make();
  settle_until([&] { return claim()["metadata"].has("deletionTimestamp"); }, "the first one is ending");
  // A pod that came now would get the volume of the first, and keep it.
  tenant.create(kPods, R"({"metadata":{"name":"db","namespace":"default"},"spec":{"automountServiceAccountToken":false,
      "containers":[{"name":"main","image":"i"}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]}})");
  const auto reconciles = syncer->stats().reconciles;
  pass(seconds(kSanitized ? 30 : 200));
  EXPECT_LE(faults.writes(name) - before, 2u);
  EXPECT_LE(syncer->stats().reconciles - reconciles, 50u) << "nobody looks again and again";
  EXPECT_FALSE(on_host("db"));
  const SteadyTime gone = clock.steady_now();
  host.patch(claims, kHostNamespace, name, R"({"metadata":{"finalizers":null}})");
  settle_until(
      [&] {
        pass(milliseconds(100));
        return claim().root().is_object() && claim()["metadata"]["uid"].text() != uid && on_host("db");
      },
      "the second one has come, and the pod");
  EXPECT_LT(clock.steady_now() - gone, seconds(10)) << "what becomes of the claim brings the pod back";
}

// Row 17: every watch of both sides ends, a second after it has begun.
TEST_F(FaultRows, WatchesThatEndAllTheTimeCostFewRequestsAndNoWrite) {
  begin_syncer();
  for (int i = 0; i < 20; ++i) create_pod("web-" + std::to_string(i));
  settle_until([&] { return pods_on_host().size() == 20; }, "all are there");
  settle();
  const auto watches = [](const Faults& side) {
    std::set<std::string> targets;
    for (const Faults::Seen& seen : side.seen("watch=")) targets.insert(seen.target.substr(0, seen.target.find('?')));
    return targets.size();
  };
  const std::size_t kinds = watches(faults) + watches(tenant_faults);
  const std::size_t before = faults.seen().size() + tenant_faults.seen().size(), written = faults.writes();
  const auto asked = [&] { return faults.seen().size() + tenant_faults.seen().size() - before; };
  constexpr std::size_t kTimes = kSanitized ? 10 : 60;
  const SteadyTime began = clock.steady_now();
  for (std::size_t i = 0; i < kTimes; ++i) {
    const std::size_t until_now = asked();
    faults.end_watches("");
    tenant_faults.end_watches("");
    settle_until(
        [&] {
          pass(milliseconds(100));
          return asked() >= until_now + kinds;  // each has asked for another
        },
        "they have begun anew");
    pass(seconds(1));
  }
  const auto took = std::chrono::duration_cast<seconds>(clock.steady_now() - began).count();
  EXPECT_GE(asked(), kinds * kTimes);
  EXPECT_LE(asked(), 2 * kinds * static_cast<std::size_t>(took));
  EXPECT_EQ(faults.writes(), written);
  create_pod("late");
  label("web-3", "2");
  pass(seconds(30));
  settle_until([&] { return on_host("late") && label_on_host("web-3") == "2"; }, "what came then is there");
  std::printf("%zu kinds of watches ended %zu times in %lld s: %zu requests\n", kinds, kTimes,
              static_cast<long long>(took), asked());
}

// Rows 13 and 19: the host comes and goes every second, and a pod comes in each of them.
TEST_F(FaultRows, AHostThatFlapsHasAllWithinHalfAMinute) {
  constexpr std::size_t kSeconds = kSanitized ? 20 : 60;
  begin_syncer();
  const std::size_t before = faults.seen().size();
  for (std::size_t second = 0; second < kSeconds; ++second) {
    faults.away(second % 2 == 0);
    create_pod("web-" + std::to_string(second));
    pass(seconds(1));
  }
  faults.away(false);
  const std::size_t asked = faults.seen().size() - before;
  int waited = 0;
  for (; waited < 120 && pods_on_host().size() < kSeconds; ++waited) pass(seconds(1));
  EXPECT_LT(waited, 30) << "seconds until all pods are there";
  EXPECT_LE(asked, 3000u);
  std::printf("%zu requests in a minute of flapping, all there after %d s\n", asked, waited);
}

// Row 33: everything goes at once.
TEST_F(FaultRows, AThousandPodsThatAreDeletedAtOnceLeaveNothing) {
  constexpr std::size_t kAll = kSanitized ? 100 : 1000;
  begin_syncer();
  for (std::size_t i = 0; i < kAll; ++i) create_pod("web-" + std::to_string(i));
  settle_until([&] { return pods_on_host().size() == kAll; }, "all are there");
  for (std::size_t i = 0; i < kAll; i += 10) host.bind(kHostNamespace, host_name_of("web-" + std::to_string(i)));
  settle();
  const std::size_t host_before = faults.writes(), tenant_before = tenant_faults.writes();
  for (std::size_t i = 0; i < kAll; ++i) tenant.remove(kPods, kTenantNamespace, "web-" + std::to_string(i));
  const auto kubelets_end = [&] {
    for (const std::string& name : pods_on_host())
      if (host.get(kPods, kHostNamespace, name)["metadata"].has("deletionTimestamp"))
        host.remove(kPods, kHostNamespace, name, 0);
  };
  settle_until(
      [&] {
        kubelets_end();
        pass(milliseconds(50));
        const auto left = tenant.client().list(kPods, kTenantNamespace);
        return pods_on_host().empty() && left && left->root()["items"].empty();
      },
      "nothing is left on either side");
  EXPECT_LE(faults.writes() - host_before, 2 * kAll);
  EXPECT_LE(tenant_faults.writes() - tenant_before, 3 * kAll);
}

// Row 35: a host of an earlier release drops fields that it does not know.
TEST_F(FaultRows, AHostThatDropsWhatItDoesNotKnowIsNotFought) {
  faults.change([](net::Request& request) {
    if (request.method == "GET") return;
    auto body = Document::parse_json(request.body);
    if (!body) return;
    Value spec = body->root()["spec"];
    if (!spec) return;
    spec.erase("trafficDistribution");
    for (Value container : spec["containers"])
      for (const char* field : {"resizePolicy", "restartPolicyRules", "lifecycle"}) container.erase(field);
    request.body = body->to_json();
  });
  begin_syncer();
  tenant.create(kPods, R"({"metadata":{"name":"web","namespace":"default"},"spec":{"automountServiceAccountToken":false,
                          "containers":[{"name":"main","image":"i","lifecycle":{"preStop":{"sleep":{"seconds":1}}},
                            "resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]}})");
  tenant.create(kServices, R"({"metadata":{"name":"front","namespace":"default"},
                              "spec":{"trafficDistribution":"PreferClose","ports":[{"port":80}]}})");
  settle_until(
      [&] { return on_host("web") && host.get(kServices, kHostNamespace, host_name_of("front")).root().is_object(); },
      "both are there");
  run_on_host("web");
  settle_until([&] { return tenant_pod("web")["status"]["phase"].text() == "Running"; }, "the status came");
  EXPECT_FALSE(host_pod("web")["spec"]["containers"].at(0).has("lifecycle"));
  settle();
  const std::size_t writes = faults.writes(), tenant_writes = tenant_faults.writes();
  pass(seconds(20));
  EXPECT_EQ(faults.writes(), writes);
  for (int i = 0; i < 3; ++i) {
    syncer->resync();
    settle();
  }
  EXPECT_EQ(faults.writes("/pods"), 1u) << "what made it";
  EXPECT_LE(faults.writes(), writes + 1) << "the Service may have been tried once more";
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
}

}  // namespace
}  // namespace sublet::syncer
