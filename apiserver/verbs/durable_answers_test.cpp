// What a client is told of a write is durable when it is told: a refusal that rests on somebody else's write, too.
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"
#include "sublet/base/mutex.h"

namespace sublet::apiserver {
namespace {

// A log in memory whose appends wait while it is held, and that can refuse one as a full disk does.
class HeldLog final : public store::Log {
 public:
  Outcome replay(const std::function<Outcome(store::Row&&)>& visit) override { return below_->replay(visit); }
  store::Revision compacted() const override { return below_->compacted(); }
  store::Revision last() const override { return below_->last(); }
  AppendError append(const std::vector<store::Row>& rows, std::string& error) override {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return !held_; });
    if (std::exchange(full_, false)) return AppendError::full;
    return below_->append(rows, error);
  }
  AppendError compact(const std::vector<store::Revision>& rows, store::Revision floor, std::string& error) override {
    return below_->compact(rows, floor, error);
  }
  void hold() {
    const MutexLock lock(mutex_);
    held_ = true;
  }
  void release(bool full = false) {
    const MutexLock lock(mutex_);
    held_ = false;
    full_ = full;
    changed_.notify_all();
  }

 private:
  const std::unique_ptr<Log> below_ = store::make_memory_log();
  Mutex mutex_;
  CondVar changed_;
  bool held_ SUBLET_GUARDED_BY(mutex_) = false, full_ SUBLET_GUARDED_BY(mutex_) = false;
};

store::StoreOptions probing_at_once() {
  store::StoreOptions options;
  options.full_probe = std::chrono::milliseconds(0);
  return options;
}

class DurableAnswers : public testing::Test {
 protected:
  // Two clients: the first's write is held back, the second's request follows.
  Watching behind(Watching first, std::string method, std::string target, std::string body = {}) {
    EXPECT_FALSE(first->ended(std::chrono::seconds(0)));
    first_ = std::move(first);
    auto second = rig_.begin(std::move(method), std::move(target), std::move(body));
    EXPECT_FALSE(second->ended(std::chrono::seconds(0))) << "told before it was durable: " << second->raw();
    return second;
  }
  Watching begin_create() { return rig_.begin("POST", kConfigMaps, std::string(kBody)); }

  static constexpr std::string_view kBody = R"({"metadata":{"name":"a"},"data":{"k":"v"}})";
  const std::string target_ = kConfigMaps + "/a";
  HeldLog* log_ = new HeldLog;  // the rig's
  Rig rig_{probing_at_once(), {}, std::unique_ptr<store::Log>(log_)};
  Watching first_;
};

TEST_F(DurableAnswers, ExistsAlready) {
  log_->hold();
  const auto second = behind(begin_create(), "POST", kConfigMaps, std::string(kBody));
  log_->release();
  EXPECT_EQ(second->code(), 409);
  EXPECT_EQ(rig_.get(target_).code, 200);
}

TEST_F(DurableAnswers, ReadsShowWhatIsDurable) {
  log_->hold();
  const auto creating = begin_create();
  EXPECT_EQ(rig_.get(target_).code, 404);
  EXPECT_EQ(rig_.get(kConfigMaps)["items"].size(), 0u);
  log_->release();
  EXPECT_EQ(creating->code(), 201);
  EXPECT_EQ(rig_.get(target_).code, 200);
}

TEST_F(DurableAnswers, ACollectionOfWhichSomeStay) {
  rig_.make_config_map("a");
  log_->hold();
  const auto removing = rig_.begin("DELETE", kConfigMaps);
  EXPECT_FALSE(removing->ended(std::chrono::seconds(0)));
  log_->release(true);
  EXPECT_EQ(removing->code(), 429) << removing->raw();
  EXPECT_EQ(rig_.get(target_).code, 200);
}

TEST_F(DurableAnswers, ACollectionThatSomebodyElseRemoves) {
  rig_.make_config_map("a");
  log_->hold();
  const auto second = behind(rig_.begin("DELETE", target_), "DELETE", kConfigMaps);
  log_->release();
  EXPECT_EQ(second->code(), 200);
  EXPECT_EQ(rig_.get(target_).code, 404);
}

TEST_F(DurableAnswers, GoneAlready) {
  rig_.make_config_map("a");
  log_->hold();
  const auto second = behind(rig_.begin("DELETE", target_), "DELETE", target_);
  log_->release();
  EXPECT_EQ(second->code(), 404);
  EXPECT_EQ(rig_.get(target_).code, 404);
}

TEST_F(DurableAnswers, ModifiedMeanwhile) {
  const auto stale = rig_.make_config_map("a").version();
  const std::string body = R"({"metadata":{"name":"a","resourceVersion":")" + stale + R"("},"data":{"k":"w"}})";
  log_->hold();
  const auto second = behind(rig_.begin("PUT", target_, body), "PUT", target_, body);
  log_->release();
  EXPECT_EQ(second->code(), 409);
  EXPECT_NE(rig_.get(target_).version(), stale);
}

TEST_F(DurableAnswers, NothingToChange) {
  log_->hold();
  const auto second = behind(begin_create(), "PUT", target_, std::string(kBody));
  log_->release();
  EXPECT_EQ(second->code(), 200);
}

TEST_F(DurableAnswers, ADryRunOfWhatIsThereAlready) {
  log_->hold();
  const auto second = behind(begin_create(), "POST", kConfigMaps + "?dryRun=All", std::string(kBody));
  log_->release();
  EXPECT_EQ(second->code(), 409);
  EXPECT_EQ(rig_.get(target_).code, 200);
}

TEST_F(DurableAnswers, WhatItRestedOnNeverCame) {
  log_->hold();
  const auto second = behind(begin_create(), "POST", kConfigMaps, std::string(kBody));
  log_->release(true);
  EXPECT_EQ(first_->code(), 429);
  EXPECT_EQ(second->code(), 201) << "there is nothing that exists already";
  EXPECT_EQ(rig_.get(target_).code, 200);
}

TEST_F(DurableAnswers, ADeleteOfWhatNeverCame) {
  log_->hold();
  const auto second = behind(begin_create(), "DELETE", target_);
  log_->release(true);
  EXPECT_EQ(first_->code(), 429);
  EXPECT_EQ(second->code(), 404);
}

TEST_F(DurableAnswers, ARefusalThatRestsOnNothingPendingIsToldAtOnce) {
  const auto refused = rig_.begin("DELETE", kConfigMaps + "/none");
  EXPECT_TRUE(refused->ended(std::chrono::seconds(0)));
  EXPECT_EQ(refused->code(), 404);
}

}  // namespace
}  // namespace sublet::apiserver
