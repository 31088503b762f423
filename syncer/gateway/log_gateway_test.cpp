#include "sublet/syncer/log_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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

/// The tenant's end of the tunnel: one job, and pieces that are taken when the test says so.
class TunnelEnd {
 public:
  net::Handler handler() {
    return [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) { serve(request, std::move(sink)); };
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
  std::size_t longest() {
    const MutexLock lock(mutex_);
    return longest_;
  }

 private:
  void serve(const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
    const MutexLock lock(mutex_);
    if (request.method == "GET" && !std::exchange(polled_, true))
      return sink->respond(200, {}, R"({"id":"1","namespace":"default","pod":"web","query":""})");
    if (request.method == "GET") {
      parked_ = std::move(sink);
      return;
    }
    ++pieces_;
    body_ += request.body;
    longest_ = std::max(longest_, request.body.size());
    for (const auto& [key, value] : net::parse_query(request.query()))
      if (key == "end") end_ = value;
    if (takes_) return sink->respond(200, {}, "");
    held_ = std::move(sink);
  }

  Mutex mutex_;
  bool polled_ SUBLET_GUARDED_BY(mutex_) = false, takes_ SUBLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<net::ResponseSink> parked_ SUBLET_GUARDED_BY(mutex_), held_ SUBLET_GUARDED_BY(mutex_);
  std::string body_ SUBLET_GUARDED_BY(mutex_), end_ SUBLET_GUARDED_BY(mutex_);
  std::size_t longest_ SUBLET_GUARDED_BY(mutex_) = 0;
  int pieces_ SUBLET_GUARDED_BY(mutex_) = 0;
};

TEST(LogGateway, ASlowReaderHoldsTheHostBackAndLosesNothing) {
  constexpr int kLines = 1'000'000;  // more than 24 MB
  std::atomic<std::size_t> given{0};
  TunnelEnd tunnel;
  net::LoopThread loop("gateway");
  const std::shared_ptr<net::Transport> tenant = net::make_in_process_transport(tunnel.handler(), {}, &loop.loop());
  const std::shared_ptr<net::Transport> host = net::make_in_process_transport(
      [&](net::Request, std::shared_ptr<net::ResponseSink> sink) {
        net::answer_in_steps(std::move(sink), 200, {{"Content-Type", "text/plain"}},
                             std::make_unique<Lines>(kLines, given), [](const Status&) {});
      },
      {}, &loop.loop());
  LogGatewayOptions options;
  options.host_namespace = "host";
  options.host_name = [](const std::string&, const std::string& pod) { return pod + "-x"; };
  LogGateway gateway(loop.loop(), tenant, host, std::move(options));
  gateway.start();
  ASSERT_TRUE(eventually([&] { return tunnel.pieces() > 0; }));
  std::size_t before = 0;
  for (int still = 0; still < 100; ++still) {  // the reader takes nothing: the host comes to rest
    if (std::exchange(before, given.load()) != given) still = 0;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(given, 4'000'000u);
  tunnel.take_all();
  ASSERT_TRUE(eventually([&] { return !tunnel.end().empty(); }));
  EXPECT_EQ(tunnel.end(), "1");
  std::string expected;
  for (int i = 0; i < kLines; ++i) expected += Lines::line(i);
  EXPECT_TRUE(tunnel.body() == expected) << tunnel.body().size() << " of " << expected.size();
  EXPECT_LT(tunnel.longest(), 1'000'000u);
}

}  // namespace
}  // namespace sublet::syncer
