#include "sublet/syncer/log_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "base/eventually_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/body_source.h"

namespace sublet::syncer {
namespace {

using namespace std::chrono_literals;

using testing_support::eventually;

/// The host's log: numbered lines.
class Lines final : public net::BodySource {
 public:
  Lines(int count, std::atomic<std::size_t>& given) : count_(count), given_(given) {}
  static std::string line(int number) { return "line " + std::to_string(number) + " of a long log\n"; }
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>&) override {
    while (at_ < count_ && out.size() < net::kStepBytes) out += line(at_++);
    given_ += out.size();
    return at_ == count_ ? Step::end : Step::more;
  }

 private:
  const int count_;
  int at_ = 0;
  std::atomic<std::size_t>& given_;
};

constexpr std::string_view kOurs =
    R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"pod-uid"}}})";

std::string job(const std::string& id, const std::string& query = "") {
  return R"({"id":")" + id + R"(","namespace":"default","pod":"web","uid":"pod-uid","query":")" + query + "\"}";
}

/// The tenant's end of the tunnel: jobs that the test gives, and pieces that are taken when it says so.
class TunnelEnd {
 public:
  net::Handler handler() {
    return [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) { serve(request, std::move(sink)); };
  }
  void give(std::string job) {
    std::shared_ptr<net::ResponseSink> poll;
    {
      const MutexLock lock(mutex_);
      if (parked_)
        poll = std::exchange(parked_, nullptr);
      else
        jobs_.push_back(job);
    }
    if (poll) poll->respond(200, {}, std::move(job));
  }
  /// From now on pieces are taken at once.
  void take_all() {
    std::shared_ptr<net::ResponseSink> piece;
    {
      const MutexLock lock(mutex_);
      takes_ = true;
      piece = std::move(held_);
    }
    if (piece) piece->respond(200, {}, "");
  }
  std::string body() {
    const MutexLock lock(mutex_);
    return body_;
  }
  int pieces() {
    const MutexLock lock(mutex_);
    return pieces_;
  }
  std::string end() {
    const MutexLock lock(mutex_);
    return end_;
  }
  std::string code() {
    const MutexLock lock(mutex_);
    return code_;
  }
  std::size_t longest() {
    const MutexLock lock(mutex_);
    return longest_;
  }

 private:
  void serve(const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
    const MutexLock lock(mutex_);
    if (request.method == "GET") {
      if (jobs_.empty()) {
        parked_ = std::move(sink);
        return;
      }
      sink->respond(200, {}, std::move(jobs_.front()));
      jobs_.pop_front();
      return;
    }
    ++pieces_;
    body_ += request.body;
    longest_ = std::max(longest_, request.body.size());
    for (const auto& [key, value] : net::parse_query(request.query())) {
      if (key == "end") end_ = value;
      if (key == "code") code_ = value;
    }
    if (takes_) return sink->respond(200, {}, "");
    held_ = std::move(sink);
  }

  Mutex mutex_;
  bool takes_ SUBLET_GUARDED_BY(mutex_) = false;
  std::deque<std::string> jobs_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<net::ResponseSink> parked_ SUBLET_GUARDED_BY(mutex_), held_ SUBLET_GUARDED_BY(mutex_);
  std::string body_ SUBLET_GUARDED_BY(mutex_), end_ SUBLET_GUARDED_BY(mutex_), code_ SUBLET_GUARDED_BY(mutex_);
  std::size_t longest_ SUBLET_GUARDED_BY(mutex_) = 0;
  int pieces_ SUBLET_GUARDED_BY(mutex_) = 0;
};

/// The host: one pod of that metadata, whose log says nothing and goes on, unless `log` answers for it.
class HostEnd {
 public:
  explicit HostEnd(std::string_view pod) : pod_(pod) {}
  net::Handler handler() {
    return [this](const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
      if (!request.path().ends_with("/log")) return sink->respond(200, {}, pod_);
      if (log) return log(std::move(sink));
      const MutexLock lock(mutex_);
      targets_.push_back(request.target);
      sink->on_close([this] { ++closed; });
      sink->start(200, {{"Content-Type", "text/plain"}});
      streams_.push_back(std::move(sink));
    };
  }
  std::vector<std::string> targets() {
    const MutexLock lock(mutex_);
    return targets_;
  }

  std::function<void(std::shared_ptr<net::ResponseSink>)> log;
  std::atomic<int> closed{0};

 private:
  const std::string pod_;
  Mutex mutex_;
  std::vector<std::string> targets_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<net::ResponseSink>> streams_ SUBLET_GUARDED_BY(mutex_);
};

class LogGatewayTest : public testing::Test {
 protected:
  void begin(std::size_t streams_max = kLogStreamsMax) {
    LogGatewayOptions options;
    options.virtual_cluster_uid = "vc-uid";
    options.host_namespace = "host";
    options.host_name = [](const std::string&, const std::string& pod) { return pod + "-x"; };
    options.streams_max = streams_max;
    gateway_ = std::make_unique<LogGateway>(
        loop_.loop(), net::make_in_process_transport(tunnel_.handler(), {}, &loop_.loop()),
        net::make_in_process_transport(host_->handler(), {}, &loop_.loop()), std::move(options));
    gateway_->start();
  }

  TunnelEnd tunnel_;
  std::unique_ptr<HostEnd> host_ = std::make_unique<HostEnd>(kOurs);
  net::LoopThread loop_{"gateway"};
  std::unique_ptr<LogGateway> gateway_;
};

TEST_F(LogGatewayTest, ASlowReaderHoldsTheHostBackAndLosesNothing) {
  constexpr int kLines = 1'000'000;  // more than 24 MB
  std::atomic<std::size_t> given{0};
  host_->log = [&](std::shared_ptr<net::ResponseSink> sink) {
    net::answer_in_steps(std::move(sink), 200, {{"Content-Type", "text/plain"}}, std::make_unique<Lines>(kLines, given),
                         [](const Status&) {});
  };
  begin();
  tunnel_.give(job("1"));
  ASSERT_TRUE(eventually([&] { return tunnel_.pieces() > 0; }));
  std::size_t before = 0;
  for (int still = 0; still < 100; ++still) {  // the reader takes nothing: the host comes to rest
    if (std::exchange(before, given.load()) != given) still = 0;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(given, 4'000'000u);
  tunnel_.take_all();
  ASSERT_TRUE(eventually([&] { return !tunnel_.end().empty(); }));
  EXPECT_EQ(tunnel_.end(), "1");
  std::string expected;
  for (int i = 0; i < kLines; ++i) expected += Lines::line(i);
  EXPECT_TRUE(tunnel_.body() == expected) << tunnel_.body().size() << " of " << expected.size();
  EXPECT_LT(tunnel_.longest(), 1'000'000u);
  gateway_.reset();
}

TEST_F(LogGatewayTest, OnlyTheOptionsOfALogCross) {
  begin();
  tunnel_.give(job("1", "follow=true&insecureSkipTLSVerifyBackend=true&container=a%2Fb&x=y&tailLines=3"));
  ASSERT_TRUE(eventually([&] { return !host_->targets().empty(); }));
  EXPECT_EQ(host_->targets().at(0), "/api/v1/namespaces/host/pods/web-x/log?follow=true&container=a%2Fb&tailLines=3");
}

TEST_F(LogGatewayTest, AForeignPodOfTheNameIsNotRead) {
  for (
      const std::string_view foreign :
      {R"({"metadata":{"name":"web-x"}})",
       R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"other"},"annotations":{"sublet.dev/tenant-uid":"pod-uid"}}})",
       R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"earlier"}}})"}) {
    TunnelEnd tunnel;
    tunnel.take_all();
    HostEnd host(foreign);
    LogGatewayOptions options{"vc-uid", "host", "",
                              [](const std::string&, const std::string& pod) { return pod + "-x"; }};
    LogGateway gateway(loop_.loop(), net::make_in_process_transport(tunnel.handler(), {}, &loop_.loop()),
                       net::make_in_process_transport(host.handler(), {}, &loop_.loop()), std::move(options));
    gateway.start();
    tunnel.give(job("1"));
    ASSERT_TRUE(eventually([&] { return !tunnel.end().empty(); }));
    EXPECT_EQ(tunnel.code(), "404") << foreign;
    EXPECT_NE(tunnel.body().find("another object has its name"), std::string::npos) << tunnel.body();
    EXPECT_TRUE(host.targets().empty()) << foreign;
  }
}

TEST_F(LogGatewayTest, ALogThatNobodyReadsAnyMoreEndsThoughItSaysNothing) {
  tunnel_.take_all();
  begin();
  tunnel_.give(job("1"));
  tunnel_.give(job("2"));
  ASSERT_TRUE(eventually([&] { return host_->targets().size() == 2; }));
  EXPECT_EQ(host_->closed, 0);
  tunnel_.give(R"({"id":"1","close":true})");
  tunnel_.give(R"({"id":"7","close":true})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 1; }));
  tunnel_.give(R"({"id":"2","close":true})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 2; }));
}

TEST_F(LogGatewayTest, MoreLogsThanAllowedAreRefusedUntilOneEnds) {
  tunnel_.take_all();
  begin(2);
  tunnel_.give(job("1"));
  tunnel_.give(job("2"));
  ASSERT_TRUE(eventually([&] { return host_->targets().size() == 2; }));
  tunnel_.give(job("3"));
  ASSERT_TRUE(eventually([&] { return tunnel_.code() == "429"; }));
  EXPECT_EQ(host_->targets().size(), 2u);
  tunnel_.give(R"({"id":"2","close":true})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 1; }));
  tunnel_.give(job("4"));
  EXPECT_TRUE(eventually([&] { return host_->targets().size() == 3; }));
}

}  // namespace
}  // namespace sublet::syncer
