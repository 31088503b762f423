#include "controllers/runtime/line.h"

#include <gtest/gtest.h>

#include "controllers/manual_executor_testing.h"
#include "sublet/store/memory_log.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

/// A store whose watchers are told nothing while it is held.
class LaggingStore final : public store::Store {
 public:
  ~LaggingStore() override { close(); }
  store::Snapshot snapshot() const override { return store_->snapshot(); }
  store::Snapshot pending() const override { return store_->pending(); }
  Result<store::Snapshot> snapshot_at(store::Revision revision) const override { return store_->snapshot_at(revision); }
  bool submit(store::Txn txn, store::CommitCallback done) override {
    return store_->submit(std::move(txn), std::move(done));
  }
  Result<store::Changes> changes(std::string_view prefix, store::Revision from, std::size_t max) const override {
    return store_->changes(prefix, from, max);
  }
  std::unique_ptr<store::Subscription> listen(std::function<void()> committed) override {
    return store_->listen(std::move(committed));
  }
  Result<std::unique_ptr<store::Subscription>> watch(std::string_view prefix, store::Revision from,
                                                     std::shared_ptr<store::Watcher> watcher) override {
    return store_->watch(prefix, from, late(std::move(watcher)));
  }
  std::pair<store::Snapshot, std::unique_ptr<store::Subscription>> snapshot_and_watch(
      std::string_view prefix, std::shared_ptr<store::Watcher> watcher) override {
    return store_->snapshot_and_watch(prefix, late(std::move(watcher)));
  }
  Outcome compact(store::Revision revision) override { return store_->compact(revision); }
  store::Revision compacted() const override { return store_->compacted(); }
  store::StoreStats stats() const override { return store_->stats(); }
  store::StoreUsage usage() const override { return store_->usage(); }
  void close() override { store_->close(); }

  void hold() { held_ = true; }
  void release() {
    held_ = false;
    for (auto& call : std::exchange(calls_, {})) call();
  }

 private:
  struct Late final : store::Watcher {
    Late(LaggingStore& s, std::shared_ptr<store::Watcher> w) : lagging(s), watcher(std::move(w)) {}
    void on_events(const std::vector<store::EventPtr>& events) override {
      lagging.tell([w = watcher, events] { w->on_events(events); });
    }
    void on_progress(store::Revision revision) override {
      lagging.tell([w = watcher, revision] { w->on_progress(revision); });
    }
    LaggingStore& lagging;
    std::shared_ptr<store::Watcher> watcher;
  };
  std::shared_ptr<store::Watcher> late(std::shared_ptr<store::Watcher> watcher) {
    return std::make_shared<Late>(*this, std::move(watcher));
  }
  // commit() waits for the commit thread, so the test and it never touch `calls_` at a time.
  void tell(std::function<void()> call) {
    if (held_) return calls_.push_back(std::move(call));
    call();
  }

  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  std::atomic<bool> held_{false};
  std::vector<std::function<void()>> calls_;
};

class LineTest : public testing::Test {
 protected:
  ~LineTest() override {
    feeds_.stop();
    line_->stop();
  }
  void start(Line::Reconcile reconcile, int workers = 1) {
    feeds_.start();
    line_->start(workers, std::move(reconcile));
  }
  void write(const std::string& key) {
    ASSERT_TRUE(store_.commit({.ops = {{key, store::Put{"{}", store::Object::kNoHole, {}}}}}));
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LaggingStore store_;
  Feeds feeds_{store_, [this] { line_->feeds_moved(); }};
  std::shared_ptr<Line> line_ = std::make_shared<Line>("test", executor_, clock_, feeds_);
};

TEST_F(LineTest, KeysWaitForTheStart) {
  std::vector<std::string> done;
  line_->add("a");
  line_->add("b");
  line_->add("a");
  EXPECT_EQ(executor_.tasks(), 0u);
  start([&](const std::string& key) { return done.push_back(key), Outcome{}; });
  executor_.run_all();
  EXPECT_EQ(done, (std::vector<std::string>{"a", "b"}));
}

TEST_F(LineTest, AtRestItHasNeitherTaskNorTimer) {
  start([](const std::string&) { return Outcome{}; });
  EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u);
  line_->add("a");
  line_->add_after("b", 1min);
  executor_.run_all();
  EXPECT_EQ(executor_.timers(), 1u);
  EXPECT_EQ(executor_.next_timer(), clock_.steady_now() + 1min);
  clock_.advance(1min);
  EXPECT_GT(executor_.run_all(), 0);
  EXPECT_TRUE(line_->idle());
  EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u);
  clock_.advance(1h);
  EXPECT_EQ(executor_.run_all(), 0);
}

TEST_F(LineTest, AnEarlierDelayMovesTheTimer) {
  std::vector<std::string> done;
  start([&](const std::string& key) { return done.push_back(key), Outcome{}; });
  line_->add_after("late", 1h);
  line_->add_after("soon", 1min);
  EXPECT_EQ(executor_.timers(), 1u);
  clock_.advance(1min);
  executor_.run_all();
  EXPECT_EQ(done, (std::vector<std::string>{"soon"}));
  EXPECT_EQ(executor_.timers(), 1u);
  clock_.advance(1h);
  executor_.run_all();
  EXPECT_EQ(done, (std::vector<std::string>{"soon", "late"}));
}

TEST_F(LineTest, AFailureComesBackAfterAGrowingDelay) {
  int tries = 0;
  start([&](const std::string&) { return ++tries < 8 ? Outcome(fail(Reason::conflict, "again")) : Outcome{}; });
  line_->add("a");
  std::vector<SteadyTime::duration> delays;
  for (executor_.run_all(); executor_.timers() > 0; executor_.run_all()) {
    delays.push_back(executor_.next_timer() - clock_.steady_now());
    clock_.advance(delays.back());
  }
  EXPECT_EQ(tries, 8);
  ASSERT_EQ(delays.size(), 7u);
  EXPECT_LE(delays.front(), 10ms);
  EXPECT_GE(delays.back(), 300ms);
  EXPECT_TRUE(line_->idle());
}

TEST_F(LineTest, AKeyIsOnOneWorkerOnlyAndOthersGoOnBesideIt) {
  std::vector<std::string> done;
  start(
      [&](const std::string& key) {
        done.push_back(key + "(");
        // The other workers' turn in the middle of this one.
        if (key == "a" && done.size() == 1) {
          line_->add("a");
          line_->add("b");
          executor_.run_all();
        }
        done.push_back(")" + key);
        return Outcome{};
      },
      2);
  line_->add("a");
  executor_.run_all();
  EXPECT_EQ(done, (std::vector<std::string>{"a(", "b(", ")b", ")a", "a(", ")a"}));
}

TEST_F(LineTest, AKeyWaitsUntilTheFeedsHaveSeenWhatItWrote) {
  auto& feed = feeds_.get({"", "v1", "pods"});
  feed.add_index(By::owner);
  std::vector<std::size_t> seen;
  start([&](const std::string& key) {
    seen.push_back(feed.find(By::owner, key).size());
    if (seen.back() > 0) return Outcome{};
    return Outcome(
        store_.commit({.ops = {{"pods/a/" + key, store::Put{"{}", store::Object::kNoHole, {"", {}, {}, {key}}}}}})
            .map([](const auto&) {}));
  });
  store_.hold();
  line_->add("set");
  executor_.run_all();
  ASSERT_EQ(seen, (std::vector<std::size_t>{0}));
  line_->add("set");
  line_->add("other");  // has written nothing yet, so it need not wait
  executor_.run_all();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 0})) << "only the other one";
  EXPECT_FALSE(line_->idle());
  store_.release();
  executor_.run_all();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 0, 1})) << "it sees what it made";
  EXPECT_TRUE(line_->idle());
}

TEST_F(LineTest, WithoutAWorkerItTriesAgainLater) {
  int done = 0;
  start([&](const std::string&) { return ++done, Outcome{}; });
  executor_.refuses = true;
  line_->add("a");
  EXPECT_EQ(executor_.tasks(), 0u);
  executor_.refuses = false;
  clock_.advance(1s);
  executor_.run_all();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(executor_.timers(), 0u);
}

TEST_F(LineTest, AfterTheEndNothingRuns) {
  int done = 0;
  start([&](const std::string&) { return ++done, Outcome{}; });
  line_->add("a");
  line_->add_after("b", 1ms);
  line_->stop();
  line_->add("c");
  clock_.advance(1s);
  executor_.run_all();
  EXPECT_EQ(done, 0);
  EXPECT_EQ(executor_.timers(), 0u);
}

}  // namespace
}  // namespace sublet::controllers
