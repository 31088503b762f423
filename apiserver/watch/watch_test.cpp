// Watches, through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "apiserver/server_testing.h"
#include "apiserver/watch/watch_hub.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

std::string type_of(const schema::Document& event) { return event["type"].string(); }
std::string name_of(const schema::Document& event) { return event["object"]["metadata"]["name"].string(); }
std::string version_of(const schema::Document& event) {
  return event["object"]["metadata"]["resourceVersion"].string();
}

TEST(Watch, BeginsWithThePresentThenFollows) {
  Rig rig;
  rig.make_config_map("a");
  auto watching = rig.watch(kConfigMaps + "?watch=1");
  EXPECT_EQ(watching->code(), 200);
  EXPECT_EQ(type_of(watching->event(0)), "ADDED");
  const auto changed = rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"k":"2"}})");
  const auto event = watching->event(1);
  EXPECT_EQ(type_of(event), "MODIFIED");
  EXPECT_EQ(version_of(event), changed.version());
  EXPECT_EQ(event["object"]["kind"].text(), "ConfigMap");
  rig.remove(kConfigMaps + "/a");
  const auto gone = watching->event(2);
  EXPECT_EQ(type_of(gone), "DELETED");
  EXPECT_GT(std::stoll(version_of(gone)), std::stoll(changed.version()));  // 27
}

TEST(Watch, ResumesAfterARevision) {
  Rig rig;
  const auto first = rig.make_config_map("a");
  rig.make_config_map("b");
  auto watching = rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + first.version());
  EXPECT_EQ(name_of(watching->event(0)), "b");
}

TEST(Watch, CompactedRevisionIsAnErrorInTheStream) {  // 25
  Rig rig;
  rig.make_config_map("a");
  rig.make_config_map("b");
  ASSERT_TRUE(rig.store().compact(rig.store().snapshot().revision()));
  auto watching = rig.watch(kConfigMaps + "?watch=1&resourceVersion=1");
  EXPECT_EQ(watching->code(), 200);
  const auto event = watching->event(0);
  EXPECT_EQ(type_of(event), "ERROR");
  EXPECT_EQ(event["object"]["code"].integer(), 410);
  EXPECT_EQ(event["object"]["reason"].text(), "Expired");
  EXPECT_TRUE(watching->ended());
  EXPECT_EQ(watching->count(), 1u);
}

TEST(Watch, SelectorEdgesAreAddedAndDeleted) {  // 26
  Rig rig;
  rig.make_config_map("x", "v", R"({"a":"1"})");
  auto watching = rig.watch(kConfigMaps + "?watch=1&labelSelector=a%3D1");
  EXPECT_EQ(type_of(watching->event(0)), "ADDED");
  const auto left = rig.patch(kConfigMaps + "/x", "merge-patch", R"({"metadata":{"labels":{"a":"2"}}})");
  const auto event = watching->event(1);
  EXPECT_EQ(type_of(event), "DELETED");
  EXPECT_EQ(event["object"]["metadata"]["labels"]["a"].text(), "1");
  EXPECT_EQ(version_of(event), left.version());
  rig.patch(kConfigMaps + "/x", "merge-patch", R"({"data":{"k":"unseen"}})");
  rig.patch(kConfigMaps + "/x", "merge-patch", R"({"metadata":{"labels":{"a":"1"}}})");
  EXPECT_EQ(type_of(watching->event(2)), "ADDED");
}

TEST(Watch, OneChangeIsToldToEachAsItsSelectionSeesIt) {
  Rig rig;
  rig.make_config_map("x", "v", R"({"a":"1"})");
  rig.make_config_map("y", "v", R"({"a":"2"})");
  auto everything = rig.watch(kConfigMaps + "?watch=1");
  auto ones = rig.watch(kConfigMaps + "?watch=1&labelSelector=a%3D1");
  auto twos = rig.watch(kConfigMaps + "?watch=1&labelSelector=a%3D2");
  EXPECT_EQ(name_of(everything->event(1)), "y");
  EXPECT_EQ(name_of(ones->event(0)), "x");
  EXPECT_EQ(name_of(twos->event(0)), "y");
  rig.patch(kConfigMaps + "/x", "merge-patch", R"({"metadata":{"labels":{"a":"2"}}})");
  EXPECT_EQ(type_of(everything->event(2)), "MODIFIED");
  EXPECT_EQ(type_of(ones->event(1)), "DELETED");
  EXPECT_EQ(type_of(twos->event(1)), "ADDED");
  rig.remove(kConfigMaps + "/x");
  rig.make_config_map("z", "v", R"({"a":"1"})");
  EXPECT_EQ(type_of(everything->event(3)), "DELETED");
  EXPECT_EQ(type_of(twos->event(2)), "DELETED");
  EXPECT_EQ(name_of(ones->event(2)), "z") << "of what it does not see no deletion is told";
}

TEST(Watch, OneNameOnly) {
  Rig rig;
  rig.make_config_map("a");
  auto by_field = rig.watch(kConfigMaps + "?watch=1&fieldSelector=metadata.name%3Db");
  auto by_path = rig.watch("/api/v1/watch/namespaces/test/configmaps/b");
  rig.make_config_map("b");
  EXPECT_EQ(name_of(by_field->event(0)), "b");
  EXPECT_EQ(name_of(by_path->event(0)), "b");
}

TEST(Watch, InitialEventsEndWithABookmark) {  // 29
  Rig rig;
  rig.make_config_map("a");
  rig.make_config_map("b");
  auto watching = rig.watch(
      kConfigMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  EXPECT_EQ(type_of(watching->event(0)), "ADDED");
  EXPECT_EQ(type_of(watching->event(1)), "ADDED");
  const auto end = watching->event(2);
  EXPECT_EQ(type_of(end), "BOOKMARK");
  EXPECT_EQ(end["object"]["kind"].text(), "ConfigMap");
  EXPECT_EQ(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].text(), "true");
  EXPECT_EQ(version_of(end), std::to_string(rig.store().snapshot().revision()));
  rig.make_config_map("c");
  EXPECT_EQ(name_of(watching->event(3)), "c");
}

TEST(Watch, EndsCleanlyWithABookmarkThatMoved) {  // 28, 32
  Rig rig;
  // Only a write that was answered within the watch's second was before its end: a machine that stalls has another
  // look.
  bool before_the_end = false;
  for (int i = 0; !before_the_end; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    auto watching = rig.watch(kConfigMaps + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=1");
    const auto other =
        rig.post("/api/v1/namespaces", R"({"metadata":{"name":"elsewhere-)" + std::to_string(i) + "\"}}");
    before_the_end = std::chrono::steady_clock::now() - begun < std::chrono::seconds(1);
    EXPECT_TRUE(watching->ended());
    ASSERT_EQ(watching->count(), 1u);
    EXPECT_EQ(type_of(watching->event(0)), "BOOKMARK");
    if (before_the_end) {
      EXPECT_GE(std::stoll(version_of(watching->event(0))), std::stoll(other.version()));
    }
  }
}

TEST(Watch, RestartedAtEveryRevisionReplaysTheSame) {  // 30
  constexpr std::size_t kWrites = 60;
  Rig rig;
  const auto start = std::to_string(rig.store().snapshot().revision());
  auto watching = rig.watch("/api/v1/configmaps?watch=1&resourceVersion=" + start);
  rig.make_config_map("a");
  for (std::size_t i = 1; i < kWrites; ++i)
    rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"k":")" + std::to_string(i) + "\"}}");
  std::vector<std::string> versions;
  for (std::size_t i = 0; i < kWrites; ++i) versions.push_back(version_of(watching->event(i)));
  for (std::size_t from = 0; from + 1 < kWrites; ++from) {
    auto again = rig.watch("/api/v1/configmaps?watch=1&resourceVersion=" + versions[from]);
    for (std::size_t i = from + 1; i < kWrites; ++i) ASSERT_EQ(version_of(again->event(i - from - 1)), versions[i]);
  }
}

TEST(Watch, TableHasColumnsOnlyOnce) {  // 11
  Rig rig;
  rig.make_config_map("a");
  auto watching = rig.watch(kConfigMaps + "?watch=1", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_FALSE(watching->event(0)["object"]["columnDefinitions"].empty());
  rig.make_config_map("b");
  const auto second = watching->event(1);
  EXPECT_EQ(second["object"]["kind"].text(), "Table");
  EXPECT_TRUE(second["object"].has("columnDefinitions"));
  EXPECT_TRUE(second["object"]["columnDefinitions"].empty());
  EXPECT_EQ(second["object"]["rows"].at(0)["cells"].at(0).text(), "b");
}

TEST(Watch, ProtobufFramesCarryTheirLength) {
  Rig rig;
  rig.make_config_map("a");
  auto watching = rig.watch(kConfigMaps + "?watch=1&timeoutSeconds=1",
                            {{"Accept", "application/vnd.kubernetes.protobuf;stream=watch"}});
  ASSERT_TRUE(watching->ended());
  const std::string raw = watching->raw();
  ASSERT_GT(raw.size(), 4u);
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(raw[static_cast<std::size_t>(i)]);
  EXPECT_EQ(raw.size(), size + 4);
  EXPECT_EQ(raw.substr(4, 7), std::string("\x0a\x05"
                                          "ADDED"));
  EXPECT_NE(raw.find(schema::kProtobufMagic), std::string::npos);
}

TEST(Watch, ManyWatchersSeeTheSame) {
  Rig rig;
  std::vector<Watching> all;
  const std::string from = std::to_string(rig.store().snapshot().revision());
  for (int i = 0; i < 50; ++i) all.push_back(rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + from));
  for (int i = 0; i < 20; ++i) rig.make_config_map("c" + std::to_string(i));
  for (auto& watching : all)
    for (std::size_t i = 0; i < 20; ++i) ASSERT_EQ(name_of(watching->event(i)), "c" + std::to_string(i));
}

TEST(Watch, ServerStopEndsAll) {
  Rig rig;
  auto watching = rig.watch(kConfigMaps + "?watch=1");
  EXPECT_EQ(watching->code(), 200);
  rig.server().stop();
  EXPECT_TRUE(watching->ended());
}

TEST(Watch, CancelledWatchesLeaveTheStore) {
  Rig rig;
  {
    auto watching = rig.watch(kConfigMaps + "?watch=1");
    EXPECT_EQ(watching->code(), 200);
    rig.make_config_map("a");
    watching->event(0);
  }
  const auto running = [&] {
    return rig.get("/metrics").body.find("\napiserver_longrunning_requests 0\n") == std::string::npos;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (running() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(running());
}

TEST(WatchHub, WhatItHasToldIsWhatTheLastOfItsWatchesGot) {
  constexpr std::size_t kWatches = 200;  // more than a turn of the loop tells
  struct Shared {
    WatchHub* hub = nullptr;
    std::size_t given = 0;
    bool ahead = false;
    std::promise<void> all_live, all_given;
    std::size_t live = 0;
  };
  struct Session final : WatchSession {
    explicit Session(Shared& shared_) : shared(shared_) {}
    Shared& shared;
    void run(FrameCache&) override {
      shared.hub->went_live(1);
      if (++shared.live == kWatches) shared.all_live.set_value();
    }
    void deliver(const std::vector<store::EventPtr>&, store::Revision, store::Revision up_to, FrameCache&) override {
      shared.ahead = shared.ahead || shared.hub->delivered() >= up_to;  // a bookmark would say so
      if (++shared.given == kWatches) shared.all_given.set_value();
    }
    void fall_behind() override {}
    void finish() override {}
    void finish_after(store::Revision) override {}
  };
  const auto store = *store::Store::open(store::make_memory_log());
  Shared shared;
  net::LoopThread loop("hub");
  WatchHub hub(loop.loop(), *store);
  shared.hub = &hub;
  std::vector<std::shared_ptr<Session>> sessions;
  for (std::size_t i = 0; i < kWatches; ++i)
    hub.add(sessions.emplace_back(std::make_shared<Session>(shared)), "things/");
  shared.all_live.get_future().wait();
  const auto written = store->commit(store::Txn{{}, {{"things/a", store::Put{"x", 0, {}}, {}}}});
  ASSERT_TRUE(written);
  shared.all_given.get_future().wait();
  loop.loop().run_sync([&] {  // behind the turn that gave it to the last
    EXPECT_FALSE(shared.ahead);
    EXPECT_EQ(hub.delivered(), written->revisions[0]);
    for (const auto& session : sessions) hub.remove(session.get(), "things/");
  });
}

TEST(WatchHub, ALoopThatEndsLetsGoOfTheWoken) {
  struct Session final : WatchSession {
    std::shared_ptr<WatchHub> hub;  // as a stream holds its server
    void run(FrameCache&) override { ADD_FAILURE() << "no loop runs"; }
    void deliver(const std::vector<store::EventPtr>&, store::Revision, store::Revision, FrameCache&) override {}
    void fall_behind() override {}
    void finish() override {}
    void finish_after(store::Revision) override {}
  };
  const auto store = *store::Store::open(store::make_memory_log());
  std::weak_ptr<Session> seen;
  {
    net::Loop loop;
    const auto session = std::make_shared<Session>();
    session->hub = std::make_shared<WatchHub>(loop, *store);
    seen = session;
    session->hub->wake(session);
  }
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace sublet::apiserver
