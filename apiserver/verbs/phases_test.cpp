// Writes that ask outside on their way: phases.h, admission/call_out.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/admission/call_out.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/server_testing.h"
#include "sublet/base/mutex.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

// What is outside: questions wait here until it answers.
class Outside {
 public:
  enum class Woken { answered, cancelled, deadline };

  Woken wait(SteadyTime deadline, const bool& cancelled) {
    MutexLock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    const bool woken =
        changed_.wait_until(lock, deadline, [&]() SUBLET_REQUIRES(mutex_) { return answers_ || cancelled; });
    ++returned_;
    changed_.notify_all();
    if (!woken) return Woken::deadline;
    return answers_ ? Woken::answered : Woken::cancelled;
  }
  void answer(bool yes = true) {
    const MutexLock lock(mutex_);
    answers_ = yes;
    changed_.notify_all();
  }
  void cancel(bool& cancelled) {
    const MutexLock lock(mutex_);
    cancelled = true;
    changed_.notify_all();
  }
  int asked() { return read(&Outside::asked_); }
  void wait_asked(int count) { wait_for(&Outside::asked_, count); }
  void wait_returned(int count) { wait_for(&Outside::returned_, count); }

 private:
  int read(int Outside::*what) {
    const MutexLock lock(mutex_);
    return this->*what;
  }
  void wait_for(int Outside::*what, int count) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() SUBLET_REQUIRES(mutex_) { return this->*what >= count; });
  }
  Mutex mutex_;
  CondVar changed_;
  int asked_ SUBLET_GUARDED_BY(mutex_) = 0, returned_ SUBLET_GUARDED_BY(mutex_) = 0;
  bool answers_ SUBLET_GUARDED_BY(mutex_) = false;
};

class Question final : public CallOut {
 public:
  explicit Question(Outside& outside) : outside_(outside) {}
  void ask(SteadyTime deadline) override { woken_ = outside_.wait(deadline, cancelled_); }
  void cancel() override { outside_.cancel(cancelled_); }
  Outcome apply(const Attempt& attempt) override {
    EXPECT_EQ(woken_, Outside::Woken::answered);
    if (attempt.verb == WriteVerb::remove) return attempt.forbid("outside said no");
    schema::Value object = attempt.object;
    object.object("data").put("seen", "outside");
    return {};
  }

 private:
  Outside& outside_;
  bool cancelled_ = false;  // guarded by the Outside's lock
  Outside::Woken woken_ = Outside::Woken::deadline;
};

// Asks about every ConfigMap whose k is "ask", and about the removal of one.
class Asking final : public CallOutPlugin {
 public:
  explicit Asking(Outside& outside, std::chrono::milliseconds timeout = std::chrono::seconds(60))
      : outside_(outside), timeout_(timeout) {}
  std::string_view name() const override { return "asking.test"; }
  Kind kind() const override { return Kind::mutating; }
  std::chrono::milliseconds timeout() const override { return timeout_; }
  Result<std::shared_ptr<CallOut>> begin(const Attempt& attempt) const override {
    const schema::Value about = attempt.verb == WriteVerb::remove ? attempt.old : attempt.object;
    if (!attempt.is("", "configmaps") || about["data"]["k"].text() != "ask") return nullptr;
    return std::make_shared<Question>(outside_);
  }

 private:
  Outside& outside_;
  const std::chrono::milliseconds timeout_;
};

ServerOptions asking(Outside& outside, std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  ServerOptions options;
  options.call_outs.push_back(std::make_shared<Asking>(outside, timeout));
  return options;
}

std::string config_map_json(const std::string& name, const std::string& k = "ask") {
  return R"({"metadata":{"name":")" + name + R"("},"data":{"k":")" + k + "\"}}";
}

int in_flight(Rig& rig, std::string_view kind = "mutating") {
  const auto text = rig.get("/metrics").body;
  const std::string name = "\napiserver_current_inflight_requests{request_kind=\"" + std::string(kind) + "\"} ";
  return std::stoi(text.substr(text.find(name) + name.size()));
}

TEST(CallOut, OthersGoOnWhileAWriteWaits) {
  Outside outside;
  Rig rig({}, asking(outside));
  const auto slow = rig.begin("POST", kConfigMaps, config_map_json("slow"));
  outside.wait_asked(1);
  EXPECT_EQ(rig.post(kConfigMaps, config_map_json("quick", "v")).code, 201);  // its answer comes over the loop
  EXPECT_EQ(rig.get(kConfigMaps + "/slow").code, 404);
  EXPECT_FALSE(slow->ended(std::chrono::seconds(0)));
  outside.answer();
  EXPECT_EQ(slow->code(), 201);
  EXPECT_EQ(rig.get(kConfigMaps + "/slow").text("data.seen"), "outside");
  EXPECT_EQ(outside.asked(), 1);
}

TEST(CallOut, AnApplyMeetsWhatWasMadeMeanwhile) {
  Outside outside;
  Rig rig({}, asking(outside));
  const auto slow = rig.begin("PATCH", kConfigMaps + "/a?fieldManager=me",
                              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"ask"}})",
                              {{"Content-Type", "application/apply-patch+yaml"}});
  outside.wait_asked(1);
  EXPECT_EQ(rig.post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"other":"1"}})").code, 201);
  outside.answer();
  EXPECT_EQ(slow->code(), 200);
  const auto now = rig.get(kConfigMaps + "/a");
  EXPECT_EQ(now["data"].to_json(), R"({"k":"ask","other":"1","seen":"outside"})");
  EXPECT_EQ(now["metadata"]["managedFields"].at(0)["fieldsV1"].to_json(), R"({"f:data":{"f:k":{}}})")
      << "what a plugin adds is nobody's";
}

TEST(CallOut, ARemovalCanBeRefusedFromOutside) {
  Outside outside;
  outside.answer();
  Rig rig({}, asking(outside));
  EXPECT_EQ(rig.post(kConfigMaps, config_map_json("a")).code, 201);
  const auto refused = rig.remove(kConfigMaps + "/a");
  EXPECT_EQ(refused.code, 403);
  EXPECT_THAT(refused.text("message"), HasSubstr("outside said no"));
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 200);
}

TEST(CallOut, APluginThatIsLateFailsTheWrite) {
  Outside outside;
  Rig rig({}, asking(outside, std::chrono::milliseconds(20)));
  const auto late = rig.post(kConfigMaps, config_map_json("a"));
  EXPECT_EQ(late.code, 500);
  EXPECT_EQ(late.text("message"),
            "Internal error occurred: failed calling webhook \"asking.test\": failed to call webhook: context deadline "
            "exceeded");
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
}

TEST(CallOut, ARequestHasADeadlineOfItsOwn) {
  Outside outside;
  auto options = asking(outside);
  options.request_timeout = std::chrono::milliseconds(50);
  Rig rig({}, std::move(options));
  const auto late = rig.post(kConfigMaps, config_map_json("a"));
  EXPECT_EQ(late.code, 504);
  EXPECT_EQ(late.text("reason"), "Timeout");
  EXPECT_EQ(late.text("message"),
            "Timeout: request did not complete within requested timeout - context deadline exceeded");
  outside.wait_returned(1);  // nobody waits for it, and it does not wait for ever
}

TEST(CallOut, MoreThanThePoolTakesIsRefused) {
  constexpr std::size_t kAll = CallOuts::kThreadsMax + CallOuts::kWaitingMax;
  Outside outside;
  Rig rig({}, asking(outside));
  std::vector<Watching> writes;
  for (std::size_t i = 0; i < kAll; ++i) {
    writes.push_back(rig.begin("POST", kConfigMaps, config_map_json("a" + std::to_string(i))));
    if (i < CallOuts::kThreadsMax) outside.wait_asked(static_cast<int>(i) + 1);  // on a worker, not in the queue
  }
  const auto refused = rig.post(kConfigMaps, config_map_json("b"));
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.headers.get("Retry-After"), "1");
  outside.answer();
  for (auto& write : writes) EXPECT_EQ(write->code(), 201);
}

TEST(InFlight, CountsRequestsOfBothKindsButNoWatches) {
  Outside outside;
  Rig rig({}, asking(outside));
  EXPECT_EQ(in_flight(rig, "readOnly"), 1);  // the question itself
  EXPECT_EQ(in_flight(rig, "mutating"), 0);
  const auto watch = rig.watch(kConfigMaps + "?watch=1");
  EXPECT_EQ(watch->code(), 200);
  const auto slow = rig.begin("POST", kConfigMaps, config_map_json("slow"));
  outside.wait_asked(1);
  EXPECT_EQ(in_flight(rig, "readOnly"), 1);
  EXPECT_EQ(in_flight(rig, "mutating"), 1);
  outside.answer();
  EXPECT_EQ(slow->code(), 201);
}

TEST(CallOut, AClientThatLeavesTakesItsWriteWithIt) {
  Outside outside;
  Rig rig({}, asking(outside));
  {
    const auto leaving = rig.begin("POST", kConfigMaps, config_map_json("a"));
    outside.wait_asked(1);
    EXPECT_EQ(in_flight(rig), 1);
  }
  outside.wait_returned(1);  // cancelled, not answered
  while (in_flight(rig) != 0) std::this_thread::yield();
  EXPECT_EQ(rig.get(kConfigMaps + "/a").code, 404);
}

TEST(CallOut, StopAnswersWhatIsUnderWay) {
  Outside outside;
  Rig rig({}, asking(outside));
  std::vector<Watching> writes;
  for (std::size_t i = 0; i <= CallOuts::kThreadsMax; ++i)  // the last one waits for a worker
    writes.push_back(rig.begin("POST", kConfigMaps, config_map_json("a" + std::to_string(i))));
  outside.wait_asked(CallOuts::kThreadsMax);
  rig.server().stop();
  for (auto& write : writes) EXPECT_EQ(write->code(), 503);
  EXPECT_EQ(outside.asked(), static_cast<int>(CallOuts::kThreadsMax));
  EXPECT_EQ(rig.store().snapshot().count("configmaps/test/a"), 0u);
}

TEST(Phases, AChangeIsMadeAnewWhenItsObjectHasChanged) {
  Outside outside;
  Rig rig({}, asking(outside));
  ASSERT_EQ(rig.post(kConfigMaps, config_map_json("a", "v")).code, 201);
  const net::Headers merge{{"Content-Type", "application/merge-patch+json"}};
  const auto slow = rig.begin("PATCH", kConfigMaps + "/a", R"({"data":{"k":"ask"}})", merge);
  outside.wait_asked(1);
  ASSERT_EQ(rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"other":"x"}})").code, 200);
  outside.answer();
  EXPECT_EQ(slow->code(), 200);
  EXPECT_EQ(outside.asked(), 2) << "the question was about an object that is no more";
  EXPECT_EQ(rig.get(kConfigMaps + "/a")["data"].to_json(), R"({"k":"ask","other":"x","seen":"outside"})");
}

TEST(Phases, ANewObjectIsJudgedAgainButNotMadeAgain) {
  Outside outside;
  Rig rig({}, asking(outside));
  const auto slow = rig.begin("POST", kConfigMaps, config_map_json("a"));
  outside.wait_asked(1);
  ASSERT_EQ(rig.remove("/api/v1/namespaces/test").code, 200);  // Terminating from now on
  outside.answer();
  EXPECT_EQ(slow->code(), 403);
  ASSERT_TRUE(slow->ended());
  EXPECT_THAT(slow->raw(), HasSubstr("because it is being terminated"));
  EXPECT_EQ(outside.asked(), 1);
}

}  // namespace
}  // namespace sublet::apiserver
