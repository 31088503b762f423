#include "net/net_testing.h"

namespace sublet::net {
namespace {

PeerIdentity controllers() {
  PeerIdentity identity;
  identity.common_name = "system:controllers";
  return identity;
}

TEST(InProcess, AnswersLikeAServer) {
  const auto transport = make_in_process_transport(echo, controllers());
  const auto answer = fetch(*transport, post("/api/v1/pods", "12345"), 10s);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->headers.get("content-type"), "text/plain");
  EXPECT_EQ(answer->body, "POST /api/v1/pods 5 in-process");
}

TEST(InProcess, UsesTheGivenLoopForHandlersAndObservers) {
  LoopThread loop("shared");
  std::atomic<bool> on_loop{false};
  const auto transport = make_in_process_transport(
      [&](Request, std::shared_ptr<ResponseSink> sink) {
        on_loop = loop.loop().in_loop_thread();
        sink->respond(204, {}, "");
      },
      {}, &loop.loop());
  EXPECT_EQ(fetch(*transport, get("/"), 10s)->code, 204);
  EXPECT_TRUE(on_loop);
}

TEST(InProcess, StreamsWithBacklogAndDrain) {
  Box<std::shared_ptr<ResponseSink>> box;
  const auto transport =
      make_in_process_transport([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); }, {});
  const auto heard = std::make_shared<Recorder>();
  const auto exchange = transport->start(get("/watch"), heard, 0ms);
  const auto sink = box.wait().value();
  std::atomic<int> drained{0};
  std::atomic<bool> closed{false};
  sink->on_drain([&] { ++drained; });
  sink->on_close([&] { closed = true; });
  sink->start(200, {});
  for (int i = 0; i < 100; ++i) sink->write(shared("0123456789"));
  EXPECT_TRUE(heard->wait_for_body(1000));
  EXPECT_TRUE(eventually([&] { return sink->backlog() == 0 && drained > 0; }));
  EXPECT_FALSE(closed);
  sink->end();
  ASSERT_TRUE(heard->wait_for_end());
  EXPECT_TRUE(*heard->wait_for_end());
  EXPECT_TRUE(eventually([&] { return closed && sink->closed(); }));
}

TEST(InProcess, CancellingClosesTheSinkAndSilencesTheObserver) {
  Box<std::shared_ptr<ResponseSink>> box;
  const auto transport =
      make_in_process_transport([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); }, {});
  const auto heard = std::make_shared<Recorder>();
  auto exchange = transport->start(get("/watch"), heard, 0ms);
  const auto sink = box.wait().value();
  Box<bool> closed;
  sink->on_close([&] { closed.put(true); });
  sink->start(200, {});
  exchange.reset();
  sink->write(shared("late"));
  EXPECT_TRUE(closed.wait());
  EXPECT_FALSE(heard->ended());
  EXPECT_EQ(heard->body(), "");
}

TEST(InProcess, TimeLimitCoversTheWholeAnswer) {
  Box<std::shared_ptr<ResponseSink>> box;
  const auto transport =
      make_in_process_transport([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); }, {});
  const auto answer = fetch(*transport, get("/slow"), 30ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::timeout);
  const auto sink = box.wait().value();
  EXPECT_TRUE(eventually([&] { return sink->closed(); }));
}

TEST(InProcess, AbortAndForgottenAnswersReachTheObserver) {
  const auto transport = make_in_process_transport(
      [&](Request request, std::shared_ptr<ResponseSink> sink) {
        if (request.target == "/throw") throw 1;
        if (request.target != "/abort") return;
        sink->start(200, {});
        sink->abort();
      },
      {});
  const auto broken = fetch(*transport, get("/abort"), 10s);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().reason, Reason::service_unavailable);
  EXPECT_EQ(fetch(*transport, get("/forget"), 10s)->code, 500);
  EXPECT_EQ(fetch(*transport, get("/throw"), 10s)->code, 500);
}

TEST(InProcess, AnObserverMayStartTheNextCallAndDropItsOwn) {
  const auto transport = make_in_process_transport(echo, {});
  struct Chain final : ResponseObserver {
    Transport* transport = nullptr;
    std::unique_ptr<Exchange> exchange;
    std::shared_ptr<Recorder> next = std::make_shared<Recorder>();
    std::unique_ptr<Exchange> next_exchange;
    void on_head(int, const Headers&) override {
      next_exchange = transport->start(get("/next"), next, 0ms);
      exchange.reset();  // from within: no deadlock, and nothing more is heard
    }
    void on_body(std::string_view) override { ADD_FAILURE() << "cancelled, yet heard"; }
    void on_end(Outcome) override { ADD_FAILURE() << "cancelled, yet ended"; }
  };
  const auto chain = std::make_shared<Chain>();
  chain->transport = transport.get();
  Box<std::shared_ptr<ResponseSink>> box;
  const auto gate =
      make_in_process_transport([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); }, {});
  chain->exchange = gate->start(get("/first"), chain, 0ms);
  box.wait().value()->respond(200, {}, "body");
  EXPECT_TRUE(chain->next->wait_for_end());
  EXPECT_EQ(chain->next->body(), "GET /next 0 in-process");
}

// What a handler left with the sink commonly holds the sink.
TEST(InProcess, ALoopThatEndsBeforeACancelStillClosesTheSink) {
  std::weak_ptr<ResponseSink> seen;
  bool closed = false;
  {
    Loop loop;
    const auto transport = make_in_process_transport(
        [&](Request, std::shared_ptr<ResponseSink> sink) {
          seen = sink;
          sink->on_close([&closed, sink] { closed = true; });
          sink->on_drain([sink] {});
          loop.stop();
        },
        {}, &loop);
    auto exchange = transport->start(get("/watch"), std::make_shared<Recorder>(), 0ms);
    loop.run();
    exchange.reset();
    EXPECT_FALSE(closed) << "only on the loop, while there is one";
  }
  EXPECT_TRUE(closed);
  EXPECT_TRUE(seen.expired());
}

TEST(InProcess, AClosedSinkKeepsNoCallback) {
  Box<std::shared_ptr<ResponseSink>> box;
  const auto gate =
      make_in_process_transport([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); }, {});
  auto exchange = gate->start(get("/watch"), std::make_shared<Recorder>(), 0ms);
  auto sink = box.wait().value();
  exchange.reset();
  ASSERT_TRUE(eventually([&] { return sink->closed(); }));
  const std::weak_ptr<ResponseSink> seen = sink;
  sink->on_drain([sink] {});
  sink.reset();
  EXPECT_TRUE(eventually([&] { return seen.expired(); }));
}

}  // namespace
}  // namespace sublet::net
