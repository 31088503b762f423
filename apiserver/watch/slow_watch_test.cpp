// Watches that are behind: resumed from long ago, read slowly, cut off and resumed in the midst of writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "apiserver/server_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kFarBehind = 21'000;
constexpr std::size_t kMostBehindOneWatch = 512 * 1024;  // bytes that a watch may keep for its peer

std::string line_version(std::string_view line) {
  const std::string_view key = R"("resourceVersion":")";
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto begin = at + key.size();
  return std::string(line.substr(begin, line.find('"', begin) - begin));
}

/// Updates of one stored ConfigMap, in batches, as fast as the store takes them.
void update_often(Rig& rig, const std::string& name, std::size_t count) {
  const auto object = rig.store().snapshot().get("configmaps/test/" + name);
  ASSERT_TRUE(object);
  for (std::size_t done = 0; done < count;) {
    store::Txn txn;
    for (; done < count && txn.ops.size() < 500; ++done)
      txn.ops.push_back({object->key, store::Put{object->bytes, object->hole, object->index}, {}});
    ASSERT_TRUE(rig.store().commit(std::move(txn)));
  }
}

/// A peer that takes bytes only when it is told to.
class SlowPeer final : public net::ResponseSink {
 public:
  void respond(int, net::Headers, std::string) override { ADD_FAILURE() << "a watch is a stream"; }
  void start(int, net::Headers) override {}
  void write(std::shared_ptr<const std::string> bytes) override {
    const MutexLock lock(mutex_);
    backlog_ += bytes->size();
    most_ = std::max(most_.load(), backlog_.load());
    waiting_ += *bytes;
    changed_.notify_all();
  }
  void end() override {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void abort() override { end(); }
  std::size_t backlog() const override { return backlog_; }
  bool closed() const override { return false; }
  void on_close(std::function<void()> callback) override {
    const MutexLock lock(mutex_);
    gone_ = std::move(callback);
  }
  void on_drain(std::function<void()> callback) override {
    const MutexLock lock(mutex_);
    drained_ = std::move(callback);
  }
  const std::shared_ptr<net::Courier>& courier() const override { return courier_; }

  /// Takes all that waits, or the end; false when nothing comes for a minute.
  bool take() {
    std::function<void()> drained;
    {
      MutexLock lock(mutex_);
      if (!changed_.wait_for(lock, std::chrono::seconds(60),
                             [&]() SUBLET_REQUIRES(mutex_) { return !waiting_.empty() || ended_; }))
        return false;
      taken_ += std::exchange(waiting_, {});
      backlog_ = 0;
      drained = drained_;
    }
    for (auto end = taken_.find('\n'); end != std::string::npos; end = taken_.find('\n', end + 1)) {
      lines.push_back(taken_.substr(line_begin_, end - line_begin_));
      line_begin_ = end + 1;
    }
    taken_.erase(0, line_begin_);
    line_begin_ = 0;
    if (drained) drained();
    return true;
  }
  /// Waits until the watch has written until it had to stop.
  bool stuffed() {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&]() SUBLET_REQUIRES(mutex_) { return backlog_ >= 256 * 1024; });
  }
  void leave() {
    std::function<void()> gone;
    {
      const MutexLock lock(mutex_);
      gone = gone_;
    }
    if (gone) gone();
  }
  bool ended() const {
    const MutexLock lock(mutex_);
    return ended_ && waiting_.empty();
  }
  std::size_t most() const { return most_; }
  std::vector<std::string> lines;

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::atomic<std::size_t> backlog_{0}, most_{0};
  std::string waiting_ SUBLET_GUARDED_BY(mutex_);
  bool ended_ SUBLET_GUARDED_BY(mutex_) = false;
  std::function<void()> gone_ SUBLET_GUARDED_BY(mutex_), drained_ SUBLET_GUARDED_BY(mutex_);
  std::string taken_;  // by the reader, as what follows
  std::size_t line_begin_ = 0;
  net::Loop loop_;  // none that runs: the watch is served on its hub's
  const std::shared_ptr<net::Courier> courier_ = std::make_shared<net::Courier>(loop_);
};

std::shared_ptr<SlowPeer> watch_slowly(Rig& rig, const std::string& query) {
  auto peer = std::make_shared<SlowPeer>();
  net::Request request;
  request.method = "GET";
  request.target = kConfigMaps + "?watch=1&" + query;
  request.peer.kind = net::PeerIdentity::Kind::in_process;
  request.peer.common_name = "slow";
  rig.server().handler()(std::move(request), peer);
  return peer;
}

TEST(SlowWatch, ResumedFarBehindItGetsEverythingAndThenFollows) {
  Rig rig;
  const auto first = rig.make_config_map("a");
  update_often(rig, "a", kFarBehind);
  auto watching = rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + first.version());
  const auto last = watching->event(kFarBehind - 1);
  EXPECT_EQ(last["object"]["metadata"]["resourceVersion"].string(), std::to_string(rig.store().snapshot().revision()));
  const auto live = rig.make_config_map("b");
  EXPECT_EQ(watching->event(kFarBehind)["object"]["metadata"]["resourceVersion"].string(), live.version());
}

TEST(SlowWatch, APeerThatReadsNothingForALongTimeMissesNothingAndCostsLittle) {
  Rig rig;
  const auto first = rig.make_config_map("a");
  const auto peer = watch_slowly(rig, "resourceVersion=" + first.version());
  auto quick = rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + first.version());
  update_often(rig, "a", kFarBehind);
  EXPECT_FALSE(quick->event(kFarBehind - 1).root().is_null()) << "others are not held up";
  ASSERT_TRUE(peer->stuffed());
  while (peer->lines.size() < kFarBehind) {
    ASSERT_FALSE(peer->ended());
    ASSERT_TRUE(peer->take()) << peer->lines.size();
  }
  EXPECT_LE(peer->most(), kMostBehindOneWatch);
  for (std::size_t i = 0; i < kFarBehind; ++i)
    ASSERT_EQ(line_version(peer->lines[i]),
              std::to_string(std::stoll(first.version()) + static_cast<long long>(i) + 1));
  const auto live = rig.make_config_map("b");
  ASSERT_TRUE(peer->take());
  EXPECT_EQ(line_version(peer->lines.back()), live.version());
  peer->leave();
}

TEST(SlowWatch, OneThatBeginsWhileOthersAreStillToldIsNotToldWhatWasBeforeIt) {
  constexpr std::size_t kWrites = 2'000;  // several stretches of the hub's
  Rig rig;
  const auto first = rig.make_config_map("a");
  auto other = rig.watch(kConfigMaps + "?watch=1&resourceVersion=" + first.version());
  rig.make_config_map("b");
  ASSERT_FALSE(other->event(0).root().is_null()) << "it is live";
  std::shared_ptr<SlowPeer> peer;
  rig.loop().run_sync([&] {  // nobody is told anything meanwhile
    update_often(rig, "a", kWrites);
    peer = watch_slowly(rig, "resourceVersion=" + std::to_string(rig.store().snapshot().revision()));
  });
  ASSERT_FALSE(other->event(kWrites).root().is_null());
  const auto last = rig.make_config_map("c");
  while (peer->lines.empty()) ASSERT_TRUE(peer->take());
  EXPECT_EQ(line_version(peer->lines.front()), last.version());
  peer->leave();
}

TEST(SlowWatch, WhatWasCompactedBeforeItWasReadIsA410InTheStream) {
  store::StoreOptions options;
  options.history_events_max = 1'000;
  Rig rig(options);
  const auto first = rig.make_config_map("a");
  const auto peer = watch_slowly(rig, "resourceVersion=" + first.version());
  update_often(rig, "a", 500);
  ASSERT_TRUE(peer->take());
  update_often(rig, "a", 10'000);
  while (!peer->ended()) ASSERT_TRUE(peer->take());
  EXPECT_THAT(peer->lines.back(), testing::HasSubstr(R"("type":"ERROR")"));
  EXPECT_THAT(peer->lines.back(), testing::HasSubstr(R"("reason":"Expired")"));
  EXPECT_THAT(peer->lines.back(), testing::HasSubstr(R"("code":410)"));
  for (std::size_t i = 1; i + 1 < peer->lines.size(); ++i)
    ASSERT_EQ(std::stoll(line_version(peer->lines[i])), std::stoll(line_version(peer->lines[i - 1])) + 1);
}

TEST(SlowWatch, InitialEventsOfASlowPeerComeBeforeWhatHappenedMeanwhile) {
  constexpr std::size_t kListedObjects = 3'000;
  Rig rig;
  rig.make_config_map("a", std::string(1024, 'x'));
  const auto object = rig.store().snapshot().get("configmaps/test/a");
  store::Txn txn;
  for (std::size_t i = 1; i < kListedObjects; ++i)
    txn.ops.push_back({"configmaps/test/b" + std::to_string(i), store::Put{object->bytes, object->hole, {}}, {}});
  ASSERT_TRUE(rig.store().commit(std::move(txn)));
  const auto then = rig.store().snapshot().revision();
  const auto peer = watch_slowly(
      rig, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=" +
               std::to_string(then));
  ASSERT_TRUE(peer->stuffed());
  update_often(rig, "a", 1'000);
  while (peer->lines.size() < kListedObjects + 1 + 1'000) ASSERT_TRUE(peer->take()) << peer->lines.size();
  for (std::size_t i = 0; i < kListedObjects; ++i) ASSERT_TRUE(peer->lines[i].starts_with(R"({"type":"ADDED")")) << i;
  EXPECT_THAT(peer->lines[kListedObjects], testing::HasSubstr("initial-events-end"));
  EXPECT_EQ(line_version(peer->lines[kListedObjects]), std::to_string(then));
  EXPECT_EQ(line_version(peer->lines[kListedObjects + 1]), std::to_string(then + 1));
  peer->leave();
}

/// Follows one ConfigMap by watches that end all the time, by themselves with a bookmark or cut off, and returns the
/// versions seen until `last` is.
std::vector<std::string> follow_in_pieces(Rig& rig, std::string from, const std::atomic<long long>& last,
                                          unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> seen;
  while (last == 0 || std::stoll(from) < last) {
    const bool to_its_end = random() % 4 == 0;
    auto watching = rig.watch(kConfigMaps + "?watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&" +
                              (to_its_end ? "timeoutSeconds=1&" : "") + "resourceVersion=" + from);
    const std::size_t some = random() % 30;
    const auto enough = [&] { return watching->count() > some || (last != 0 && last - std::stoll(from) <= 60); };
    if (to_its_end)
      EXPECT_TRUE(watching->ended());
    else
      while (!enough()) std::this_thread::yield();
    watching.exchange.reset();
    for (std::size_t i = 0; i < watching->count(); ++i) {
      const auto event = watching->event(i);
      from = event["object"]["metadata"]["resourceVersion"].string();
      if (event["type"].text() != "BOOKMARK") seen.push_back(from);
      EXPECT_NE(event["type"].text(), "ERROR");
    }
  }
  return seen;
}

TEST(SlowWatch, ResumedAtEveryKindOfEndNothingIsMissedOrToldTwice) {
  constexpr int kWatches = 4, kWrites = 3'000;
  Rig rig;
  const auto first = rig.make_config_map("a");
  std::atomic<long long> last{0};
  std::vector<std::vector<std::string>> seen(kWatches);
  std::vector<std::thread> watches;
  for (unsigned i = 0; i < kWatches; ++i)
    watches.emplace_back([&, i] { seen[i] = follow_in_pieces(rig, first.version(), last, i); });
  std::vector<std::string> written;
  for (int i = 0; i < kWrites; ++i) {
    if (i % 3 == 0) rig.make_config_map("other-" + std::to_string(i));
    written.push_back(
        rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"k":")" + std::to_string(i) + "\"}}").version());
  }
  last = std::stoll(written.back());
  for (auto& thread : watches) thread.join();
  for (const auto& versions : seen) EXPECT_EQ(versions, written);
}

}  // namespace
}  // namespace sublet::apiserver
