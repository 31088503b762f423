#include "sublet/net/body_source.h"

#include <numeric>

#include "net/net_testing.h"
#include "sublet/net/courier.h"

namespace sublet::net {
namespace {

using Step = BodySource::Step;

/// What a test sees of a source that lives inside an answer.
struct Seen {
  std::atomic<std::size_t> given{0};  // bytes
  std::atomic<int> steps{0};
  std::atomic<bool> gone{false};
};

/// Gives `total` bytes in pieces, of a pattern that shows a lost or repeated piece.
class Pattern final : public BodySource {
 public:
  Pattern(std::size_t total, std::size_t piece, std::shared_ptr<Seen> seen = std::make_shared<Seen>())
      : total_(total), piece_(piece), seen_(std::move(seen)) {}
  ~Pattern() override { seen_->gone = true; }

  static std::string text(std::size_t from, std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (from + i) / 7 % 26);
    return out;
  }

  Result<Step> next(std::string& out, const std::shared_ptr<Waker>&) override {
    ++seen_->steps;
    const auto size = std::min(piece_, total_ - given_);
    out = text(given_, size);
    given_ += size;
    seen_->given = given_;
    return given_ == total_ ? Step::end : Step::more;
  }

 private:
  const std::size_t total_, piece_;
  std::size_t given_ = 0;
  const std::shared_ptr<Seen> seen_;
};

/// Does in each step what the list says.
class Script final : public BodySource {
 public:
  using Line = std::function<Result<Step>(std::string& out, const std::shared_ptr<Waker>& waker)>;
  explicit Script(std::vector<Line> lines) : lines_(std::move(lines)) {}
  Result<Step> next(std::string& out, const std::shared_ptr<Waker>& waker) override {
    return lines_.at(at_++)(out, waker);
  }
  void add_headers(Headers& headers) override { headers.add("X-Steps", std::to_string(at_)); }

 private:
  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

void refuse(const std::shared_ptr<ResponseSink>& sink, const Status& why) { sink->respond(500, {}, why.message); }

Handler answering(std::function<std::unique_ptr<BodySource>(const Request&)> make) {
  return [make = std::move(make)](Request request, std::shared_ptr<ResponseSink> sink) {
    auto source = make(request);
    if (!source) return echo(std::move(request), std::move(sink));
    answer_in_steps(sink, 200, {}, std::move(source), [sink](const Status& why) { refuse(sink, why); });
  };
}

std::vector<std::shared_ptr<Transport>> transports_to(TestServer& server, LoopThread& loop, const Handler& handler) {
  return {make_http_client(loop.loop(), server.tls_endpoint(client_tls())),
          make_http_client(loop.loop(), server.unix_endpoint()), make_in_process_transport(handler, {})};
}

TEST(BodySource, StepsGiveTheSameBytesAsOnePieceOverEveryTransport) {
  const auto handler = answering([](const Request& request) {
    const auto piece = std::stoul(std::string(request.query()));
    return std::make_unique<Pattern>(3'000'000, piece);
  });
  TestServer server(handler);
  LoopThread loop("client");
  const auto whole = Pattern::text(0, 3'000'000);
  for (const auto& transport : transports_to(server, loop, handler))
    for (const std::size_t piece : {3'000'000u, 65536u, 1999u, 262144u, 1'000'000u}) {
      const auto answer = fetch(*transport, get("/?" + std::to_string(piece)), 60s);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_TRUE(answer->body == whole) << piece;
    }
}

TEST(BodySource, AnswersOfOneStepHaveALengthAndTheConnectionGoesOn) {
  TestServer server(answering([](const Request& request) {
    return std::make_unique<Pattern>(request.target == "/short" ? 10 : 200'000, 65536);
  }));
  RawClient client(server.socket());
  for (int round = 0; round < 3; ++round) {
    client.send("GET /short HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto head = client.read_until("\r\n\r\n");
    EXPECT_NE(head.find("Content-Length: 10\r\n"), std::string::npos);
    EXPECT_EQ(client.read_size(10), Pattern::text(0, 10));
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
    EXPECT_GT(client.read_until("\r\n0\r\n\r\n").size(), 200'000u);
  }
  client.send("HEAD /long HTTP/1.1\r\nHost: x\r\n\r\nGET /short HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("200 OK"), std::string::npos);
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK")) << "a body followed a HEAD's answer";
}

// A short TLS record at the end of each piece would cost as much as a full one.
TEST(BodySource, PiecesFillRecords) {
  constexpr std::size_t kRecord = 16 * 1024, kTotal = 1'000'000;
  for (const std::size_t piece : {65536u, 66000u, 40'000u, 3000u}) {
    TestServer server(answering([&](const Request&) { return std::make_unique<Pattern>(kTotal, piece); }));
    RawClient client(server.socket());
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("\r\n\r\n");
    std::size_t on_wire = 0, bytes = 0, full = 0, chunks = 0;
    std::string body;
    for (std::size_t size = 1; size != 0; ++chunks) {
      const std::string line = client.read_until("\r\n");
      size = std::stoul(line, nullptr, 16);
      body += client.read_size(size);
      client.read_size(2);
      on_wire += line.size() + size + 2;
      bytes += size;
      full += on_wire % kRecord == 0 ? 1u : 0u;
    }
    EXPECT_EQ(bytes, kTotal);
    EXPECT_TRUE(body == Pattern::text(0, kTotal));
    // Between two full records stands at most what was held back and one piece.
    EXPECT_GE(2 * full + 4, chunks) << piece;
    EXPECT_GE(full, kTotal / std::max(piece, kRecord) - 2) << piece;
  }
}

TEST(BodySource, ASlowReaderHoldsTheSourceBackAndNobodyElse) {
  constexpr std::size_t kTotal = 100'000'000;
  const auto seen = std::make_shared<Seen>();
  TestServer server(answering([&](const Request& request) -> std::unique_ptr<BodySource> {
    if (request.target != "/long") return nullptr;
    return std::make_unique<Pattern>(kTotal, kStepBytes, seen);
  }));
  RawClient slow(server.socket());
  slow.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.read_until("\r\n\r\n");
  // Other requests are answered meanwhile; when a few in a row saw no step, the source pauses.
  RawClient other(server.socket());
  int still = 0;
  for (int before = -1; still < 50;) {
    other.send("GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_NE(other.read_until("/other 0 uid").find("200 OK"), std::string::npos);
    still = seen->steps == before ? still + 1 : 0;
    before = seen->steps;
  }
  EXPECT_LT(seen->given, 4'000'000u);  // the kernel's buffers and ours
  EXPECT_FALSE(seen->gone);
  EXPECT_EQ(slow.read_size(kTotal).size(), kTotal);  // resumed, and complete
  EXPECT_TRUE(slow.read_until("\r\n0\r\n\r\n").ends_with("\r\n0\r\n\r\n"));
  EXPECT_EQ(seen->given, kTotal);
  EXPECT_TRUE(eventually([&] { return seen->gone.load(); }));
}

TEST(BodySource, OthersHaveTheirTurnBetweenSteps) {
  LoopThread loop("server");
  std::vector<int> order;  // the loop's thread only
  std::vector<Script::Line> lines;
  Box<bool> done;
  for (int i = 0; i < 3; ++i)
    lines.push_back([&order, &loop, i](std::string& out, const auto&) -> Result<Step> {
      order.push_back(i);
      loop.loop().post([&order, i] { order.push_back(10 + i); });
      out = "x";
      return i == 2 ? Step::end : Step::more;
    });
  const auto transport = make_in_process_transport(
      answering([&](const Request&) { return std::make_unique<Script>(lines); }), {}, &loop.loop());
  ASSERT_EQ(fetch(*transport, get("/"), 10s)->body, "xxx");
  loop.loop().run_sync([] {});
  EXPECT_EQ(order, (std::vector<int>{0, 10, 1, 11, 2, 12}));
}

TEST(BodySource, WaitsUntilWokenFromAnotherThread) {
  Box<std::shared_ptr<Waker>> box;
  const auto handler = answering([&](const Request&) {
    return std::make_unique<Script>(std::vector<Script::Line>{
        [](std::string& out, const auto&) -> Result<Step> { return out = "one ", Step::more; },
        [&](std::string&, const std::shared_ptr<Waker>& waker) -> Result<Step> {
          box.put(waker);
          return Step::wait;
        },
        [](std::string& out, const auto&) -> Result<Step> { return out = "two", Step::end; }});
  });
  TestServer server(handler);
  LoopThread loop("client");
  for (const auto& transport : transports_to(server, loop, handler)) {
    const auto heard = std::make_shared<Recorder>();
    const auto exchange = transport->start(get("/"), heard, 60s);
    const auto waker = box.wait().value();
    EXPECT_TRUE(heard->wait_for_body(4));
    EXPECT_FALSE(heard->ended());
    waker->wake();
    ASSERT_TRUE(heard->wait_for_end().value());
    EXPECT_EQ(heard->body(), "one two");
  }
}

TEST(BodySource, ASourceThatNobodyCanWakeBreaksOffTheAnswer) {
  const auto handler = answering([&](const Request&) {
    return std::make_unique<Script>(std::vector<Script::Line>{
        [](std::string& out, const auto&) -> Result<Step> { return out = "one ", Step::wait; }});
  });
  TestServer server(handler);
  LoopThread loop("client");
  for (const auto& transport : transports_to(server, loop, handler)) {
    const auto answer = fetch(*transport, get("/"), 60s);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, Reason::service_unavailable) << answer.error().message;
  }
}

TEST(BodySource, AnErrorAfterTheFirstPieceNeverLooksWhole) {
  const auto handler = answering([&](const Request& request) {
    std::vector<Script::Line> lines;
    if (request.target == "/late")
      lines.push_back([](std::string& out, const auto&) -> Result<Step> { return out = "[1,", Step::more; });
    lines.push_back([](std::string& out, const auto&) -> Result<Step> {
      out = "2";
      return internal_error("broken object");
    });
    return std::make_unique<Script>(std::move(lines));
  });
  TestServer server(handler);
  LoopThread loop("client");
  for (const auto& transport : transports_to(server, loop, handler)) {
    const auto refused = fetch(*transport, get("/early"), 60s);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 500);
    EXPECT_EQ(refused->body, internal_error("broken object").value().message);
    EXPECT_FALSE(fetch(*transport, get("/late"), 60s));
  }
}

TEST(BodySource, HeadersMayDependOnTheFirstPiece) {
  TestServer server(answering([&](const Request&) {
    return std::make_unique<Script>(std::vector<Script::Line>{
        [](std::string&, const auto&) -> Result<Step> { return Step::more; },
        [](std::string& out, const auto&) -> Result<Step> { return out = "found", Step::end; }});
  }));
  LoopThread loop("client");
  const auto answer = fetch(*make_http_client(loop.loop(), server.unix_endpoint()), get("/"), 60s);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.get("X-Steps"), "2");
  EXPECT_EQ(answer->body, "found");
}

TEST(BodySource, GoesWithThePeerAlsoWhileItPausesOrWaits) {
  Box<std::shared_ptr<Waker>> box;
  const auto seen = std::make_shared<Seen>();
  const auto waiting = std::make_shared<Seen>();
  struct Waiting final : BodySource {
    Waiting(Box<std::shared_ptr<Waker>>& box_, std::shared_ptr<Seen> seen_) : box(box_), seen(std::move(seen_)) {}
    ~Waiting() override { seen->gone = true; }
    Result<Step> next(std::string& out, const std::shared_ptr<Waker>& waker) override {
      out = "x";
      box.put(waker);
      return Step::wait;
    }
    Box<std::shared_ptr<Waker>>& box;
    std::shared_ptr<Seen> seen;
  };
  TestServer server(answering([&](const Request& request) -> std::unique_ptr<BodySource> {
    if (request.target == "/wait") return std::make_unique<Waiting>(box, waiting);
    return std::make_unique<Pattern>(16'000'000, kStepBytes, seen);
  }));
  for (const std::string path : {"/long", "/wait"}) {
    RawClient client(server.socket());
    client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("\r\n\r\n");
    client.close();
  }
  EXPECT_TRUE(eventually([&] { return seen->gone && waiting->gone; }));
  EXPECT_LT(seen->given, 16'000'000u);
  box.wait().value()->wake();  // too late, and harmless
}

TEST(BodySource, AnObserverThatPausesHoldsTheSourceBackAndLosesNothing) {
  constexpr std::size_t kTotal = 30'000'000;
  const auto seen = std::make_shared<Seen>();
  const auto handler = answering([&](const Request&) { return std::make_unique<Pattern>(kTotal, kStepBytes, seen); });
  TestServer server(handler);
  LoopThread loop("client");
  for (const auto& transport : transports_to(server, loop, handler)) {
    const auto heard = std::make_shared<Recorder>();
    const auto exchange = transport->start(get("/"), heard, 0ms);
    ASSERT_TRUE(heard->wait_for_body(1));
    exchange->pause(true);
    std::size_t before = 0;
    for (int still = 0; still < 50; ++still) {  // nothing moves any more
      const auto now = seen->given + heard->body().size();
      if (std::exchange(before, now) != now) still = 0;
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_FALSE(heard->ended());
    EXPECT_LT(seen->given, heard->body().size() + 8'000'000);  // the kernel's buffers and ours
    exchange->pause(false);
    ASSERT_TRUE(heard->wait_for_end().value());
    EXPECT_EQ(heard->body().size(), kTotal);
    EXPECT_TRUE(heard->body() == Pattern::text(0, kTotal));
  }
}

TEST(BodySource, TheServerMayStopInMidAnswer) {
  const auto seen = std::make_shared<Seen>();
  {
    TestServer server(
        answering([&](const Request&) { return std::make_unique<Pattern>(std::size_t{1} << 40, kStepBytes, seen); }));
    RawClient client(server.socket());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("\r\n\r\n");
    server.server().stop(0ms);
  }
  EXPECT_TRUE(seen->gone);
}

}  // namespace
}  // namespace sublet::net
