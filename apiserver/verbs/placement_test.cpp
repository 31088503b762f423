// What is judged off the loop: definitions of custom resources.
#include "apiserver/verbs/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "apiserver/admission/call_out.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

std::string definition_named(const std::string& plural = "crontabs") {
  return R"({"metadata":{"name":")" + plural + R"(.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":")" +
         plural + R"(","kind":"Kind)" + plural + R"("},"versions":[{"name":"v1","served":true,"storage":true,
    "schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
}

/// Where definitions and ConfigMaps are judged; those of definitions wait while it is held.
struct Probe {
  Mutex mutex;
  CondVar changed;
  std::vector<std::thread::id> definitions SUBLET_GUARDED_BY(mutex), config_maps SUBLET_GUARDED_BY(mutex);
  bool held SUBLET_GUARDED_BY(mutex) = false;
  std::thread::id answered SUBLET_GUARDED_BY(mutex);
  bool asks_outside = true;  // about definitions; set before the server

  void hold(bool hold) {
    const MutexLock lock(mutex);
    held = hold;
    changed.notify_all();
  }
  void judge(bool is_definition) {
    MutexLock lock(mutex);
    (is_definition ? definitions : config_maps).push_back(std::this_thread::get_id());
    changed.notify_all();
    while (is_definition && held) changed.wait(lock);
  }
  void await_definitions(std::size_t count) {
    MutexLock lock(mutex);
    while (definitions.size() < count) changed.wait(lock);
  }
};

class Answered final : public CallOut {
 public:
  explicit Answered(Probe& place) : place_(place) {}
  void ask(SteadyTime) override {}
  void cancel() override {}
  Outcome apply(const Attempt&) override {
    const MutexLock lock(place_.mutex);
    place_.answered = std::this_thread::get_id();
    return {};
  }

 private:
  Probe& place_;
};

class Noting final : public CallOutPlugin {
 public:
  explicit Noting(Probe& place) : place_(place) {}
  std::string_view name() const override { return "noting.test"; }
  Kind kind() const override { return Kind::validating; }
  Result<std::shared_ptr<CallOut>> begin(const Attempt& attempt) const override {
    const bool is_definition = attempt.is("apiextensions.k8s.io", "customresourcedefinitions");
    std::shared_ptr<CallOut> call;
    if (!is_definition && !attempt.is("", "configmaps")) return call;
    place_.judge(is_definition);
    if (is_definition && place_.asks_outside) call = std::make_shared<Answered>(place_);
    return call;
  }

 private:
  Probe& place_;
};

ServerOptions noting(Probe& place) {
  ServerOptions options;
  options.call_outs.push_back(std::make_shared<Noting>(place));
  return options;
}

std::thread::id loop_of(Rig& rig) {
  std::thread::id id;
  rig.loop().run_sync([&id] { id = std::this_thread::get_id(); });
  return id;
}

constexpr int kSlowWritesMax = 128;  // ServerCore::slow_writes

TEST(Placement, DefinitionsAreJudgedOffTheLoop) {
  Probe place;
  Rig rig({}, noting(place));
  EXPECT_EQ(rig.post(kDefinitions, definition_named()).code, 201);
  EXPECT_EQ(rig.make_config_map("a").code, 201);
  const auto loop = loop_of(rig);
  const MutexLock lock(place.mutex);
  EXPECT_THAT(place.definitions, testing::Each(testing::Ne(loop)));
  EXPECT_THAT(place.config_maps, testing::ElementsAre(loop));
  EXPECT_NE(place.answered, std::thread::id());
  EXPECT_NE(place.answered, loop);  // nor does it go on there after a call outside
}

TEST(Placement, OthersGoOnMeanwhile) {
  Probe place;
  place.hold(true);
  Rig rig({}, noting(place));
  const auto slow = rig.begin("POST", kDefinitions, definition_named());
  place.await_definitions(1);
  EXPECT_EQ(rig.make_config_map("a").code, 201);
  EXPECT_EQ(rig.get(kDefinitions).code, 200);
  EXPECT_FALSE(slow->ended(std::chrono::seconds(0)));
  place.hold(false);
  EXPECT_EQ(slow->code(), 201);
}

TEST(Placement, TooManyAreRefused) {
  Probe place;
  place.asks_outside = false;  // there is less room for questions than for these
  place.hold(true);
  Rig rig({}, noting(place));
  std::vector<Watching> open;
  open.push_back(rig.begin("POST", kDefinitions, definition_named()));
  place.await_definitions(1);
  for (int n = 1; n < kSlowWritesMax; ++n) open.push_back(rig.begin("POST", kDefinitions, definition_named()));
  const auto refused = rig.post(kDefinitions, definition_named());
  EXPECT_EQ(refused.code, 429) << refused.body;
  EXPECT_EQ(refused.headers.get("Retry-After"), "1");
  place.hold(false);
  EXPECT_EQ(open.front()->code(), 201);
  for (std::size_t n = 1; n < open.size(); ++n) EXPECT_EQ(open[n]->code(), 409);
}

TEST(Placement, AServerThatStopsAnswersThoseThatWait) {
  Probe place;
  place.hold(true);
  Rig rig({}, noting(place));
  const auto runs = rig.begin("POST", kDefinitions, definition_named());
  place.await_definitions(1);
  const auto waits = rig.begin("POST", kDefinitions, definition_named("others"));
  std::thread stopping([&rig] { rig.server().stop(); });
  while (rig.get("/readyz").code == 200) std::this_thread::yield();
  place.hold(false);  // who runs is waited for
  EXPECT_EQ(waits->code(), 503);
  stopping.join();
  EXPECT_TRUE(runs->ended());
}

TEST(Placement, OneFunctionDecidesForEveryKindOfWork) {
  constexpr auto kSmall = kLoopBytesMax, kLarge = kLoopBytesMax + 1;
  struct Case {
    Work work;
    Place place;
  };
  const Case cases[] = {
      {{.bytes = kSmall}, Place::caller},
      {{.bytes = kLarge}, Place::large_writes},
      {{.bytes = kLarge, .only_answers = true}, Place::caller},
      {{.bytes = kSmall, .is_slow_write = true}, Place::slow_writes},
      {{.bytes = kLarge, .is_slow_write = true}, Place::slow_writes},
      {{.needs_webhook = true}, Place::conversions},
      {{.bytes = kLarge, .is_slow_write = true, .needs_webhook = true}, Place::conversions},
      // Where a request was moved, it stays; only a conversion's answer needs its place.
      {{.moved_to = Place::slow_writes, .bytes = kLarge}, Place::slow_writes},
      {{.moved_to = Place::slow_writes, .needs_webhook = true}, Place::slow_writes},
      {{.moved_to = Place::slow_writes, .only_answers = true}, Place::caller},
      {{.moved_to = Place::conversions, .bytes = kSmall}, Place::conversions},
      {{.moved_to = Place::conversions, .only_answers = true}, Place::conversions},
  };
  int at = 0;
  for (const Case& row : cases) EXPECT_EQ(place_of(row.work), row.place) << "case " << at++;
}

}  // namespace
}  // namespace sublet::apiserver
