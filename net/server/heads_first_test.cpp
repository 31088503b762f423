// Requests whose body has not come when their handler is called, and peers that have not shown who they are.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/net_testing.h"
#include "sublet/net/http_server.h"

namespace sublet::net {
namespace {

constexpr HttpServerLimits kHeadsFirst{.heads_first = true};

/// Lets in who asks for /in, and echoes; answers the others without their body.
void doorkeeper(Request request, std::shared_ptr<ResponseSink> sink) {
  if (!request.path().starts_with("/in")) return sink->respond(401, {}, "who are you?");
  if (!request.body_follows) return echo(std::move(request), std::move(sink));
  const auto waiting = std::make_shared<Request>(std::move(request));
  sink->read_body([waiting, sink](std::string body) {
    waiting->body = std::move(body);
    echo(std::move(*waiting), sink);
  });
}

std::string head(const std::string& target, const std::string& fields) {
  return "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n";
}

TEST(HeadsFirst, ARefusalComesBeforeTheBodyAndTheConnectionIsKept) {
  TestServer server(doorkeeper, kHeadsFirst);
  RawClient client(server.socket());
  client.send(head("/out", "Content-Length: 4\r\n"));
  const auto answer = client.read_until("who are you?");
  EXPECT_EQ(answer.rfind("HTTP/1.1 401", 0), 0u) << answer;
  EXPECT_EQ(answer.find("Connection: close"), std::string::npos) << answer;
  client.send("abcd" + head("/in", "Content-Length: 2\r\n"));
  client.send("xy");
  EXPECT_NE(client.read_until("/in 2").find("200 OK"), std::string::npos);
}

TEST(HeadsFirst, ALargeBodyIsNotReadForTheUnknown) {
  TestServer server(doorkeeper, kHeadsFirst);
  RawClient client(server.socket());
  client.send(head("/out", "Content-Length: 3000000\r\n"));
  const auto answer = client.read_until("who are you?");
  EXPECT_EQ(answer.rfind("HTTP/1.1 401", 0), 0u) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  EXPECT_TRUE(client.sees_end());
}

TEST(HeadsFirst, WhoIsLetInHasItsBodyReadHoweverItComes) {
  TestServer server(doorkeeper, kHeadsFirst);
  RawClient client(server.socket());
  const std::string body(300'000, 'b');
  client.send(head("/in/1", "Content-Length: 300000\r\n"));
  client.send(body + "GET /in/2 HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto first = client.read_until("/in/1 300000");
  EXPECT_NE(first.find("200 OK"), std::string::npos) << first;
  EXPECT_EQ(first.find("Connection: close"), std::string::npos) << first;
  EXPECT_NE(client.read_until("/in/2 0").find("200 OK"), std::string::npos);
  const std::string chunked = head("/in/3", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n";
  for (const char byte : chunked) client.send({&byte, 1});
  EXPECT_NE(client.read_until("/in/3 3").find("200 OK"), std::string::npos);
  client.send(head("/in/4", "Content-Length: 2\r\n") + "ab");
  EXPECT_NE(client.read_until("/in/4 2").find("200 OK"), std::string::npos);
}

TEST(HeadsFirst, WhoAsksIsKnownBeforeTheBodyComes) {
  TestServer server(doorkeeper, kHeadsFirst);
  RawClient client(server.socket());
  client.send(head("/in", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  client.read_until("100 Continue\r\n\r\n");  // the body comes behind the head, also on a machine that stalls
  client.send("xy");
  const std::string peer = "uid=" + std::to_string(::getuid());
  EXPECT_NE(client.read_until(peer).find("POST /in 2 " + peer), std::string::npos);
}

TEST(HeadsFirst, OnlyWhoIsLetInIsToldToContinue) {
  TestServer server(doorkeeper, kHeadsFirst);
  RawClient client(server.socket());
  client.send(head("/in", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_NE(client.read_until("/in 2").find("200 OK"), std::string::npos);
  // Whoever is refused may never send its body, so nothing can follow on this connection.
  RawClient refused(server.socket());
  refused.send(head("/out", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  const auto answer = refused.read_all();
  EXPECT_EQ(answer.rfind("HTTP/1.1 401", 0), 0u) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
}

TEST(HeadsFirst, ABodyThatDoesNotComeOrIsMalformedEndsTheRunningRequest) {
  auto limits = kHeadsFirst;
  limits.body_timeout = 50ms;
  TestServer server(doorkeeper, limits);
  RawClient slow(server.socket());
  slow.send(head("/in", "Content-Length: 5\r\n") + "ab");
  const auto late = slow.read_all();
  EXPECT_EQ(late.rfind("HTTP/1.1 408", 0), 0u) << late;
  RawClient wrong(server.socket());
  wrong.send(head("/in", "Transfer-Encoding: chunked\r\n"));
  wrong.send("nonsense\r\n");
  const auto refused = wrong.read_all();
  EXPECT_EQ(refused.rfind("HTTP/1.1 400", 0), 0u) << refused;
  // A body that nobody wants and that does not come: no answer to a request that was never made.
  RawClient unwanted(server.socket());
  unwanted.send(head("/out", "Content-Length: 5\r\n"));
  const auto all = unwanted.read_all();
  EXPECT_EQ(all.find("408"), std::string::npos) << all;
  EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

TEST(HeadsFirst, WhoWaitsForABodyIsFreedWhenThePeerLeaves) {
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = kept;
  Box<bool> asked;
  TestServer server(
      [&](const Request&, std::shared_ptr<ResponseSink> sink) {
        sink->read_body([sink, held = std::exchange(kept, nullptr)](std::string) { sink->respond(200, {}, "heard"); });
        asked.put(true);
      },
      kHeadsFirst);
  RawClient client(server.socket());
  client.send(head("/in", "Content-Length: 5\r\n") + "ab");
  ASSERT_TRUE(asked.wait());
  EXPECT_FALSE(seen.expired());
  client.close();
  EXPECT_TRUE(eventually([&] { return seen.expired() && server.server().connections() == 0; }));
}

// Strangers -----------------------------------------------------------------------------------------------------------

/// A TCP connection that says nothing.
Descriptor silent_peer(int port) {
  Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

bool ended(const Descriptor& fd) {
  char byte;
  const auto got = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

class StrangersOfAServer : public ::testing::Test {
 protected:
  bool serves(Transport& client) {
    const auto answer = fetch(client, get("/in"), 10s);
    return answer && answer->code == 200;
  }
  std::vector<Descriptor> silent_peers(int count) {
    std::vector<Descriptor> all;
    for (int i = 0; i < count; ++i) all.push_back(silent_peer(server_.port()));
    return all;
  }
  std::shared_ptr<Transport> client(const std::shared_ptr<TlsContext>& tls) {
    return make_http_client(loop_.loop(), server_.tls_endpoint(tls));
  }

  TestServer server_{[](Request request, std::shared_ptr<ResponseSink> sink) {
                       if (request.headers.has("authorization")) sink->peer_is_known();
                       echo(std::move(request), std::move(sink));
                     },
                     {.connections_max = 8, .strangers = {.connections_max = 4}}};
  LoopThread loop_{"client"};
};

TEST_F(StrangersOfAServer, CannotLockOutWhoShowsACertificate) {
  const auto early = client(client_tls(TestCertificates::get().client));
  ASSERT_TRUE(serves(*early));
  const auto silent = silent_peers(40);
  // They are taken in the order in which they came, so the last that has to go goes when all have been seen.
  EXPECT_TRUE(eventually([&] { return ended(silent[35]) && server_.server().connections() == 5; }))
      << server_.server().connections();
  EXPECT_TRUE(ended(silent.front()));
  EXPECT_FALSE(ended(silent.back()));
  EXPECT_TRUE(serves(*early));
  const auto late = client(client_tls(TestCertificates::get().client));
  EXPECT_TRUE(serves(*late));
  // The newcomer drove one out and is none itself.
  EXPECT_TRUE(eventually([&] { return ended(silent[36]) && server_.server().connections() == 5; }));
  EXPECT_FALSE(ended(silent.back()));
}

TEST_F(StrangersOfAServer, WhoIsKnownByItsRequestIsNoneFromThenOn) {
  const auto known = client(client_tls()), unknown = client(client_tls());
  auto request = get("/in");
  request.headers.add("Authorization", "Bearer yes");
  ASSERT_TRUE(fetch(*known, request, 10s));
  ASSERT_TRUE(serves(*unknown));
  const auto silent = silent_peers(4);
  EXPECT_TRUE(eventually([&] { return server_.server().connections() == 5; })) << server_.server().connections();
  const auto more = silent_peers(1);
  EXPECT_TRUE(eventually([&] { return ended(silent.front()); }));
}

TEST_F(StrangersOfAServer, MakeRoomWhenAllPlacesAreTaken) {
  std::vector<std::shared_ptr<Transport>> known;
  for (int i = 0; i < 7; ++i) {
    known.push_back(client(client_tls(TestCertificates::get().client)));
    ASSERT_TRUE(serves(*known.back()));
  }
  const auto silent = silent_peers(1);
  EXPECT_TRUE(eventually([&] { return server_.server().connections() == 8; }));
  known.push_back(client(client_tls(TestCertificates::get().client)));
  EXPECT_TRUE(serves(*known.back()));
  EXPECT_TRUE(ended(silent.front()));
  RawClient one_too_many(server_.socket());
  EXPECT_TRUE(one_too_many.sees_end());
}

}  // namespace
}  // namespace sublet::net
