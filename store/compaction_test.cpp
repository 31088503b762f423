// That nobody has to wait long for compaction, counted on a clock that only the log moves: a commit takes 500 us, and
// to delete a row 50.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "store/store_testing.h"
#include "sublet/base/clock.h"
#include "sublet/store/memory_log.h"

namespace sublet::store {
namespace {

using std::chrono::microseconds;
using testing_support::Answers;
using testing_support::eventually;
using testing_support::GatedLog;
using testing_support::put;
using testing_support::put_async;

constexpr microseconds kCommit{500}, kRow{50}, kQuickRow{5};

class TimedLog final : public Log {
 public:
  TimedLog(std::unique_ptr<Log> below, ManualClock& clock) : below_(std::move(below)), clock_(clock) {}
  Outcome replay(const std::function<Outcome(Row&&)>& visit) override { return below_->replay(visit); }
  Revision compacted() const override { return below_->compacted(); }
  Revision last() const override { return below_->last(); }
  AppendError append(const std::vector<Row>& rows, std::string& error) override {
    const AppendError result = below_->append(rows, error);
    clock_.advance(kCommit);
    const MutexLock lock(mutex_);
    waits_.emplace_back();
    if (quick_ > 0) --quick_;
    return result;
  }
  AppendError compact(const std::vector<Revision>& rows, Revision floor, std::string& error) override {
    const MutexLock lock(mutex_);
    const microseconds took = (quick_ > 0 ? kQuickRow : kRow) * rows.size();
    clock_.advance(took);
    if (!waits_.empty()) waits_.back() += took;
    deleted_ += rows.size();
    raised_ = std::max(raised_, floor - below_->compacted());
    return below_->compact(rows, floor, error);
  }

  /// The disk is quick for so many commits.
  void be_quick(std::size_t commits) {
    const MutexLock lock(mutex_);
    quick_ = commits;
  }
  /// Of compaction behind each commit.
  std::vector<microseconds> waits() const {
    const MutexLock lock(mutex_);
    return waits_;
  }
  std::size_t deleted() const {
    const MutexLock lock(mutex_);
    return deleted_;
  }
  Revision raised() const {  // at once
    const MutexLock lock(mutex_);
    return raised_;
  }

 private:
  std::unique_ptr<Log> below_;
  ManualClock& clock_;
  mutable Mutex mutex_;
  std::vector<microseconds> waits_ SUBLET_GUARDED_BY(mutex_);
  std::size_t deleted_ SUBLET_GUARDED_BY(mutex_) = 0, quick_ SUBLET_GUARDED_BY(mutex_) = 0;
  Revision raised_ SUBLET_GUARDED_BY(mutex_) = 0;
};

/// A store whose history is old enough to go, with a queue of commits of which the first is held.
class CompactionTest : public testing::Test {
 protected:
  static constexpr int kUpdates = 4000, kQueued = 500;

  CompactionTest() {
    StoreOptions options;
    options.clock = &clock_;
    options.batch_ops_max = 1;
    auto timed = std::make_unique<TimedLog>(testing_support::make_gated_log(make_memory_log(), gate_), clock_);
    log_ = timed.get();
    store_ = *Store::open(std::move(timed), options);
    for (int i = 0; i < kUpdates; ++i) put_async(*store_, "k", std::to_string(i));
    EXPECT_TRUE(store_->commit({}));
  }
  /// Lets them go when compaction is due; returns how long each waited for it.
  std::vector<microseconds> waits_of_queue() {
    gate_->hold();
    put_async(*store_, "k", "held");
    gate_->wait_until_held();
    const std::size_t before = log_->waits().size();
    clock_.advance(std::chrono::hours(1));
    Answers answers;
    for (int i = 0; i < kQueued; ++i)
      store_->submit(testing_support::create("q" + std::to_string(i), ""), answers.callback());
    gate_->release();
    answers.wait(kQueued);
    std::vector<microseconds> waits = log_->waits();
    waits.erase(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(before));
    waits.resize(kQueued);  // behind the last one nobody waits
    return waits;
  }

  ManualClock clock_;
  GatedLog* gate_ = nullptr;
  TimedLog* log_ = nullptr;
  std::unique_ptr<Store> store_;
};

TEST_F(CompactionTest, ACommitWaitsForNoMoreThanAShortStep) {
  microseconds all{}, longest{};
  for (const microseconds wait : waits_of_queue()) {
    all += wait;
    longest = std::max(longest, wait);
  }
  EXPECT_GT(longest, microseconds(0));
  EXPECT_LE(longest, 2 * StoreOptions().compact_step);  // one may find that it is too large
  EXPECT_LE(all, kQueued * kCommit / 2 + 2 * StoreOptions().compact_step + longest);
  EXPECT_GT(all, kQueued * kCommit / 4);  // and it gets its share
  // When nobody writes any more, the rest goes at once.
  EXPECT_TRUE(eventually([&] { return log_->deleted() >= static_cast<std::size_t>(kUpdates) - 1; }));
}

TEST_F(CompactionTest, StepsBecomeShorterWhenTheDiskBecomesSlow) {
  log_->be_quick(20);
  const std::vector<microseconds> waits = waits_of_queue();
  const auto longer = [&](microseconds than) {
    return std::count_if(waits.begin(), waits.end(), [&](microseconds wait) { return wait > than; });
  };
  EXPECT_GE(longer(2 * StoreOptions().compact_step), 1);  // which tells that it is slow
  EXPECT_LE(longer(2 * StoreOptions().compact_step), 3);
}

TEST_F(CompactionTest, TheFloorRisesInSmallSteps) {
  waits_of_queue();
  EXPECT_TRUE(eventually([&] { return store_->stats().history_events <= kQueued + 1; }));
  EXPECT_LE(log_->raised(), 256 + 1);
  EXPECT_GT(log_->raised(), 0);
}

TEST_F(CompactionTest, ARequestEndsAlthoughWritesGoOn) {
  // Each write supersedes a row and drops an event, so there is always something to compact.
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; !done; ++i) (void)put(*store_, "k", std::to_string(i));
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store_->compact(store_->snapshot().revision() + 1'000'000'000));
  EXPECT_GE(log_->deleted(), static_cast<std::size_t>(kUpdates) - 1);
  done = true;
  writer.join();
}

}  // namespace
}  // namespace sublet::store
