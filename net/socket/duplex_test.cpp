#include "sublet/net/duplex.h"

#include "net/net_testing.h"

namespace sublet::net {
namespace {

/// Hears one end.
class Ear final : public Duplex::Observer {
 public:
  void on_bytes(std::string_view bytes) override {
    const MutexLock lock(mutex_);
    text_.append(bytes);
  }
  void on_drain() override { drained = true; }
  void on_end() override { ended = true; }
  void on_over() override { over = true; }
  std::size_t size() const {
    const MutexLock lock(mutex_);
    return text_.size();
  }
  std::string text() const {
    const MutexLock lock(mutex_);
    return text_;
  }
  std::atomic<bool> drained{false}, ended{false}, over{false};

 private:
  mutable Mutex mutex_;
  std::string text_ SUBLET_GUARDED_BY(mutex_);
};

/// What a client gets: a connection, or an answer as ever.
class Asker final : public UpgradeObserver {
 public:
  void on_head(int code, const Headers& headers) override {
    code_ = code;
    protocol_ = headers.get("Upgrade");
  }
  void on_body(std::string_view chunk) override { body_ += chunk; }
  void on_end(Outcome outcome) override { (void)outcome, connection.put(nullptr); }
  void on_upgrade(std::shared_ptr<Duplex> made) override { connection.put(std::move(made)); }
  Box<std::shared_ptr<Duplex>> connection;
  int code_ = 0;
  std::string protocol_, body_;
};

const Headers kUpgradeHeaders = {{"Connection", "Upgrade"}, {"Upgrade", "bytes"}};

void give(const std::shared_ptr<ResponseSink>& sink, std::function<void(std::shared_ptr<Duplex>)> then) {
  upgradable(*sink)->upgrade(kUpgradeHeaders, std::move(then));
}

class DuplexTest : public testing::Test {
 protected:
  /// A server whose requests become connections that the test gets.
  DuplexTest()
      : server_([this](const Request&, const std::shared_ptr<ResponseSink>& sink) {
          sink->on_close([this] { ++closed_; });
          give(sink, [this](std::shared_ptr<Duplex> made) { given_.put(std::move(made)); });
        }) {}
  std::shared_ptr<Duplex> ask(Transport& transport) {
    const auto asker = std::make_shared<Asker>();
    Request request{"GET", "/up", kUpgradeHeaders, {}, {}};
    const auto exchange = transport.start(std::move(request), asker, 0ms);
    auto made = asker->connection.wait();
    EXPECT_EQ(asker->code_, 101);
    EXPECT_EQ(asker->protocol_, "bytes");
    return made ? *made : nullptr;
  }
  static std::shared_ptr<Ear> hear(Duplex& connection) {
    auto ear = std::make_shared<Ear>();
    connection.start(ear);
    return ear;
  }

  Box<std::shared_ptr<Duplex>> given_;
  std::atomic<int> closed_{0};
  TestServer server_;
  LoopThread loop_{"client"};
};

TEST_F(DuplexTest, BytesGoBothWaysOverTlsAndOverTheSocket) {
  for (const Endpoint& endpoint : {server_.tls_endpoint(client_tls()), server_.unix_endpoint()}) {
    const auto transport = make_http_client(loop_.loop(), endpoint);
    const auto client = ask(*transport);
    const auto server = given_.wait().value();
    const auto client_ear = hear(*client), server_ear = hear(*server);
    const std::string large(3'000'000, 'x');
    client->write("from the client" + large);
    server->write("from the server" + large);
    EXPECT_TRUE(eventually([&] { return client_ear->size() == large.size() + 15; }));
    EXPECT_TRUE(eventually([&] { return server_ear->size() == large.size() + 15; }));
    EXPECT_EQ(server_ear->text().substr(0, 17), "from the clientxx");
    client->end();
    EXPECT_TRUE(eventually([&] { return server_ear->ended.load(); }));
    server->write("and more");  // the way back is open
    EXPECT_TRUE(eventually([&] { return client_ear->size() == large.size() + 23; }));
    EXPECT_FALSE(client_ear->ended);
    server->end();
    EXPECT_TRUE(eventually([&] { return client_ear->over && server_ear->over; }));
  }
  EXPECT_TRUE(eventually([&] { return closed_ == 2 && server_.server().connections() == 0; }));
}

TEST_F(DuplexTest, WhoStartsLateHearsThatWhatWasWrittenHasGone) {
  const auto transport = make_http_client(loop_.loop(), server_.unix_endpoint());
  const auto client = ask(*transport);
  const auto server = given_.wait().value();
  const auto client_ear = hear(*client);
  server->write("early");
  EXPECT_TRUE(eventually([&] { return client_ear->text() == "early" && server->backlog() == 0; }));
  EXPECT_TRUE(eventually([ear = hear(*server)] { return ear->drained.load(); }));
}

TEST_F(DuplexTest, WhatComesRightBehindTheHeadIsNotLost) {
  RawClient client(server_.socket());
  client.send("GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\nearly bird");
  EXPECT_NE(client.read_until("\r\n\r\n").find("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n"),
            std::string::npos);
  const auto server = given_.wait().value();
  const auto ear = hear(*server);
  EXPECT_TRUE(eventually([&] { return ear->text() == "early bird"; }));
  server->write("HTTP/1.1 is over");
  EXPECT_EQ(client.read_size(16), "HTTP/1.1 is over");
  client.close();
  EXPECT_TRUE(eventually([&] { return ear->ended.load(); }));
}

TEST_F(DuplexTest, NobodyReadsNobodyKeeps) {
  RawClient client(server_.socket());
  client.send("GET /up HTTP/1.1\r\nHost: x\r\n\r\n");
  given_.wait().value().reset();
  client.read_until("\r\n\r\n");
  EXPECT_TRUE(client.sees_end());
  EXPECT_TRUE(eventually([&] { return closed_ == 1; }));
}

TEST_F(DuplexTest, TheServersStopEndsIt) {
  RawClient client(server_.socket());
  client.send("GET /up HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto server = given_.wait().value();
  client.read_until("\r\n\r\n");
  server_.server().stop(0ms);
  EXPECT_TRUE(client.sees_end());
}

TEST_F(DuplexTest, ItIsStillThePeersWhoBeganIt) {
  const auto transport =
      make_http_client(loop_.loop(), server_.tls_endpoint(client_tls(TestCertificates::get().client)));
  const auto client = ask(*transport);
  const auto client_ear = hear(*client);
  const auto server = given_.wait().value();
  const auto server_ear = hear(*server);
  server_.server().close_peers([](const PeerIdentity& peer) { return peer.common_name == "somebody else"; });
  server->write("still there");
  EXPECT_TRUE(eventually([&] { return client_ear->text() == "still there"; }));
  server_.server().close_peers([](const PeerIdentity& peer) { return peer.common_name == "admin"; });
  EXPECT_TRUE(eventually([&] { return client_ear->over.load() || client_ear->ended.load(); }));
  EXPECT_TRUE(eventually([&] { return server_ear->over && server_.server().connections() == 0; }));
}

TEST(Upgrade, AnythingBut101IsAnAnswerAsEver) {
  TestServer server(echo);
  LoopThread loop("client");
  const auto transport = make_http_client(loop.loop(), server.unix_endpoint());
  const auto asker = std::make_shared<Asker>();
  const auto exchange = transport->start({"GET", "/x", kUpgradeHeaders, {}, {}}, asker, 0ms);
  EXPECT_EQ(asker->connection.wait().value(), nullptr);
  EXPECT_EQ(asker->code_, 200);
  EXPECT_NE(asker->body_.find("GET /x"), std::string::npos);
}

TEST(Upgrade, WhoDidNotAskGetsNone) {
  TestServer server([](const Request&, const std::shared_ptr<ResponseSink>& sink) {
    give(sink, [](const std::shared_ptr<Duplex>&) {});
  });
  LoopThread loop("client");
  const auto transport = make_http_client(loop.loop(), server.unix_endpoint());
  const auto response = fetch(*transport, get("/x"), 10s);
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().message.find("malformed response"), std::string::npos) << response.error().message;
}

TEST(Upgrade, InProcessThereIsNoConnection) {
  bool possible = true;
  const auto transport = make_in_process_transport(
      [&](const Request&, const std::shared_ptr<ResponseSink>& sink) {
        possible = upgradable(*sink) != nullptr;
        sink->respond(200, {}, "");
      },
      {});
  ASSERT_TRUE(fetch(*transport, get("/x"), 10s));
  EXPECT_FALSE(possible);
}

/// A proxy between a client and a server: what it splices is observed at both ends.
class SpliceTest : public testing::Test {
 protected:
  SpliceTest()
      : far_([this](const Request&, const std::shared_ptr<ResponseSink>& sink) {
          give(sink, [this](std::shared_ptr<Duplex> made) { given_.put(std::move(made)); });
        }),
        to_far_(make_http_client(loop_.loop(), far_.unix_endpoint())),
        near_([this](const Request&, const std::shared_ptr<ResponseSink>& sink) {
          const MutexLock lock(mutex_);
          sink_ = sink;
          asker_ = std::make_shared<Asker>();
          exchange_ = to_far_->start({"GET", "/up", kUpgradeHeaders, {}, {}}, asker_, 0ms);
          give(sink, [this](std::shared_ptr<Duplex> made) { near_end_.put(std::move(made)); });
        }) {}
  void join() {
    client_ = std::make_unique<RawClient>(near_.socket());
    client_->send("GET /up HTTP/1.1\r\nHost: x\r\n\r\n");
    client_->read_until("\r\n\r\n");
    auto near_end = near_end_.wait().value();
    std::shared_ptr<Asker> asker;
    {
      const MutexLock lock(mutex_);
      asker = asker_;
    }
    splice(near_end, asker->connection.wait().value(), [this] { ++over_; });
    server_ = given_.wait().value();
    ear_ = std::make_shared<Ear>();
  }

  Box<std::shared_ptr<Duplex>> given_, near_end_;
  std::atomic<int> over_{0};
  TestServer far_;
  LoopThread loop_{"proxy"};
  std::shared_ptr<Transport> to_far_;
  Mutex mutex_;
  std::shared_ptr<Asker> asker_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<ResponseSink> sink_ SUBLET_GUARDED_BY(mutex_);
  std::unique_ptr<Exchange> exchange_ SUBLET_GUARDED_BY(mutex_);
  TestServer near_;
  std::unique_ptr<RawClient> client_;
  std::shared_ptr<Duplex> server_;
  std::shared_ptr<Ear> ear_;
};

TEST_F(SpliceTest, TheLastBytesComeBeforeTheEnd) {
  join();
  server_->start(ear_);
  client_->send("question");
  EXPECT_TRUE(eventually([&] { return ear_->text() == "question"; }));
  const std::string answer(5'000'000, 'a');
  server_->write(answer);
  server_->end();
  EXPECT_TRUE(client_->read_all() == answer);
  client_->close();
  EXPECT_TRUE(eventually([&] { return over_ == 1 && ear_->over; }));
}

TEST_F(SpliceTest, ASlowReaderHoldsTheOtherBackAndLosesNothing) {
  join();
  server_->start(ear_);
  constexpr std::size_t kPiece = 64 * 1024, kPieces = 400;  // 25 MiB
  std::size_t written = 0;
  std::size_t before = 0;
  for (int still = 0; still < 100 && written < kPieces; ++still) {  // until nothing moves any more
    while (written < kPieces && server_->backlog() < kPiece) {
      server_->write(std::string(kPiece, static_cast<char>('a' + written % 26)));
      ++written;
      still = 0;
    }
    if (std::exchange(before, server_->backlog()) != server_->backlog()) still = 0;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(written * kPiece, 6'000'000u);
  std::thread rest([&] {
    for (; written < kPieces; ++written) server_->write(std::string(kPiece, static_cast<char>('a' + written % 26)));
    server_->end();
  });
  const std::string all = client_->read_all();
  rest.join();
  ASSERT_EQ(all.size(), kPiece * kPieces);
  for (std::size_t i = 0; i < kPieces; ++i) ASSERT_EQ(all[i * kPiece], static_cast<char>('a' + i % 26)) << i;
}

TEST_F(SpliceTest, WhenTheClientLeavesTheFarSideIsLetGoWithinASecond) {
  join();
  server_->start(ear_);
  const auto left = std::chrono::steady_clock::now();
  client_->close();
  EXPECT_TRUE(eventually([&] { return ear_->over.load() || ear_->ended.load(); }));
  server_->write("still talking");
  EXPECT_TRUE(eventually([&] { return over_ == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - left, 2 * kHalfClosedTime + 2s);
}

TEST_F(SpliceTest, AnAbortedExchangeEndsBothSides) {
  join();
  server_->start(ear_);
  {
    const MutexLock lock(mutex_);
    sink_->abort();
  }
  EXPECT_TRUE(client_->sees_end());
  EXPECT_TRUE(eventually([&] { return over_ == 1 && ear_->ended; }));
}

}  // namespace
}  // namespace sublet::net
