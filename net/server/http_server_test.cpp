#include "sublet/net/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <set>

#include "net/net_testing.h"
#include "sublet/base/mutex.h"

namespace sublet::net {
namespace {

TEST(HttpServer, ServesOverTlsWithAVerifiedClientCertificate) {
  TestServer server(echo);
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(TestCertificates::get().client)));
  const auto answer = fetch(*client, get("/api/v1/pods?limit=1"), 10s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->body, "GET /api/v1/pods?limit=1 0 cn=admin o=system:masters o=team-legal");
  EXPECT_FALSE(answer->headers.get("date").empty());
}

TEST(HttpServer, PeerWithoutCertificateIsAnonymous) {
  TestServer server(echo);
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls()));
  const auto answer = fetch(*client, get("/version"), 10s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /version 0 anonymous");
}

TEST(HttpServer, CertificateHasDigestAndAddress) {
  Box<PeerIdentity> seen;
  TestServer server([&](Request request, std::shared_ptr<ResponseSink> sink) {
    seen.put(request.peer);
    sink->respond(200, {}, "");
  });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(TestCertificates::get().client)));
  ASSERT_TRUE(fetch(*client, get("/"), 10s));
  const auto peer = seen.wait();
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->sha256.size(), 64u);
  EXPECT_EQ(peer->address.rfind("127.0.0.1:", 0), 0u) << peer->address;
}

// The server lets go of what the client sent behind its certificate; the connection must not miss it.
TEST(HttpServer, CertificateWithItsChainServesManyRequests) {
  CertificateRequest of_intermediate;
  of_intermediate.common_name = "department-ca";
  of_intermediate.is_ca = true;
  const auto intermediate = make_certificate(of_intermediate, &TestCertificates::get().authority).value();
  CertificateRequest of_leaf;
  of_leaf.common_name = "bob";
  of_leaf.client_auth = true;
  auto leaf = make_certificate(of_leaf, &intermediate).value();
  leaf.certificate_pem += intermediate.certificate_pem + TestCertificates::get().authority.certificate_pem;
  TestServer server(echo);
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(leaf)));
  for (int i = 0; i < 3; ++i) {
    const auto answer = fetch(*client, get("/"), 10s);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "GET / 0 cn=bob");
  }
  EXPECT_EQ(server.server().connections(), 1u);
}

TEST(HttpServer, RefusesCertificatesOfAnotherAuthorityOrUsage) {
  TestServer server(echo);
  LoopThread loop("client");
  for (const auto& identity : {TestCertificates::get().foreign_client, TestCertificates::get().server_only}) {
    const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(identity)));
    const auto answer = fetch(*client, get("/"), 10s);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, Reason::service_unavailable);
    EXPECT_NE(answer.error().message.find("alert"), std::string::npos) << answer.error().message;
  }
  EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

/// Of an authority that is one now: good for a day from `days` ago.
KeyPair good_from(int days, bool client_auth) {
  CertificateRequest request;
  request.common_name = "yesterday";
  request.ip_addresses = {"127.0.0.1"};
  request.client_auth = client_auth;
  request.server_auth = !client_auth;
  request.lifetime = std::chrono::hours(24);
  return make_certificate(request, &TestCertificates::get().authority,
                          Clock::system().now() - std::chrono::hours(24 * days))
      .value();
}

constexpr int kExpired = 3, kNotYet = -3;  // days ago

TEST(HttpServer, RefusesACertificateThatHasExpiredOrIsNotYetValid) {
  TestServer server(echo);
  LoopThread loop("client");
  const auto said_to = [&](int days) {
    const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(good_from(days, true))));
    const auto answer = fetch(*client, get("/"), 10s);
    return answer ? std::to_string(answer->code) : answer.error().message;
  };
  EXPECT_EQ(said_to(0), "200");
  EXPECT_NE(said_to(kExpired).find("expired"), std::string::npos) << said_to(kExpired);
  EXPECT_NE(said_to(kNotYet).find("alert"), std::string::npos) << said_to(kNotYet);
}

// What a client says of a server that shows this.
std::string said_of(const KeyPair& own) {
  LoopThread serving("server"), loop("client");
  HttpServer server(serving.loop(), echo, {});
  const auto address = server.listen_tls(
      "127.0.0.1:0",
      TlsContext::server({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem, .client_ca_pem = {}})
          .value());
  EXPECT_TRUE(address);
  if (!address) return "";
  const int port = std::stoi(address->substr(address->rfind(':') + 1));
  const auto client = make_http_client(loop.loop(), {"127.0.0.1", port, {}, client_tls()});
  const auto answer = fetch(*client, get("/"), 10s);
  server.stop(0ms);
  return answer ? std::to_string(answer->code) : answer.error().message;
}

TEST(HttpServer, OneWhoseCertificateHasExpiredIsNotYetValidOrForAnotherUseIsRefusedByClients) {
  EXPECT_EQ(said_of(good_from(0, false)), "200");
  for (const auto& [own, why] :
       {std::pair(good_from(kExpired, false), "expired"), std::pair(good_from(kNotYet, false), "not yet valid"),
        std::pair(good_from(0, true), "purpose")})
    EXPECT_NE(said_of(own).find(why), std::string::npos) << why << ": " << said_of(own);
}

TEST(HttpServer, AnotherCertificateIsShownFromOneConnectionToTheNext) {
  TestServer server(echo);
  LoopThread loop("client");
  // Whoever trusts the other authority alone can say which certificate was shown.
  CertificateRequest request;
  request.common_name = "apiserver";
  request.server_auth = true;
  request.ip_addresses = {"127.0.0.1"};
  const KeyPair& other = TestCertificates::get().other_authority;
  const KeyPair renewed = make_certificate(request, &other).value();
  const auto trusting = [&](const KeyPair& authority) {
    return make_http_client(loop.loop(), server.tls_endpoint(TlsContext::client({.ca_pem = authority.certificate_pem,
                                                                                 .certificate_pem = {},
                                                                                 .key_pem = {},
                                                                                 .server_name = {}})
                                                                 .value()));
  };
  const auto standing = trusting(TestCertificates::get().authority);
  ASSERT_TRUE(fetch(*standing, get("/"), 10s));
  EXPECT_FALSE(fetch(*trusting(other), get("/"), 10s));
  server.server().use_tls(TlsContext::server({.certificate_pem = renewed.certificate_pem,
                                              .key_pem = renewed.key_pem,
                                              .client_ca_pem = TestCertificates::get().authority.certificate_pem})
                              .value());
  EXPECT_TRUE(fetch(*trusting(other), get("/"), 10s));
  EXPECT_FALSE(fetch(*trusting(TestCertificates::get().authority), get("/"), 10s));
  EXPECT_TRUE(fetch(*standing, get("/again"), 10s)) << "what stands goes on";
}

TEST(HttpServer, ThePeersThatAreMeantAreCutOffInTheMidstOfAnAnswer) {
  HttpServerLimits limits;
  limits.loops_max = 3;
  std::vector<std::shared_ptr<ResponseSink>> answers;  // under way
  Mutex mutex;
  TestServer server(
      [&](const Request& request, const std::shared_ptr<ResponseSink>& sink) {
        sink->start(200, {});
        sink->write(shared(request.peer.sha256.substr(0, 8)));
        const MutexLock lock(mutex);
        answers.push_back(sink);
      },
      limits);
  LoopThread loop("client");
  const KeyPair& revoked = TestCertificates::get().client;
  CertificateRequest request;
  request.common_name = "bob";
  request.client_auth = true;
  const KeyPair bob = make_certificate(request, &TestCertificates::get().authority).value();
  struct Watch {
    std::shared_ptr<Transport> transport;
    std::shared_ptr<Recorder> heard = std::make_shared<Recorder>();
    std::unique_ptr<Exchange> exchange;
  };
  std::vector<Watch> watches(6);  // on all loops
  for (std::size_t i = 0; i < watches.size(); ++i) {
    auto& watch = watches[i];
    watch.transport = make_http_client(loop.loop(), server.tls_endpoint(client_tls(i % 2 == 0 ? revoked : bob)));
    watch.exchange = watch.transport->start(get("/watch"), watch.heard, 0ms);
    ASSERT_TRUE(watch.heard->wait_for_body(8));
  }
  const std::string digest = certificate_sha256(revoked.certificate_pem);
  EXPECT_EQ(watches[0].heard->body(), digest.substr(0, 8));
  server.server().close_peers([digest](const PeerIdentity& peer) { return peer.sha256 == digest; });
  for (std::size_t i = 0; i < watches.size(); i += 2) EXPECT_TRUE(watches[i].heard->wait_for_end()) << i;
  EXPECT_TRUE(eventually([&] { return server.server().connections() == 3; }));
  for (std::size_t i = 1; i < watches.size(); i += 2) EXPECT_FALSE(watches[i].heard->ended()) << i;
}

TEST(HttpServer, UnixPeerIsKnownByItsUid) {
  TestServer server(echo);
  struct stat info {};
  ASSERT_EQ(::stat(server.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.unix_endpoint());
  const auto answer = fetch(*client, get("/x"), 10s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /x 0 uid=" + std::to_string(::getuid()));
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  std::vector<std::shared_ptr<ResponseSink>> held;
  Mutex mutex;
  TestServer server([&](Request request, std::shared_ptr<ResponseSink> sink) {
    if (request.target == "/slow") {
      const MutexLock lock(mutex);
      held.push_back(std::move(sink));
      return;
    }
    sink->respond(200, {}, request.target);
  });
  RawClient client(server.socket());
  client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  client.send("POST /third HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /fourth HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(eventually([&] {
    const MutexLock lock(mutex);
    return held.size() == 1;
  }));
  held[0]->respond(200, {}, "/first");
  for (const auto* expected : {"/first", "/second", "/third", "/fourth"})
    EXPECT_NE(client.read_until(expected).find("HTTP/1.1 200 OK"), std::string::npos) << expected;
}

TEST(HttpServer, ManyPipelinedRequestsInOneWrite) {
  TestServer server(echo);
  RawClient client(server.socket());
  std::string burst;
  constexpr int kCount = 3000;
  for (int i = 0; i < kCount; ++i) burst += "GET /n" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  std::thread writer([&] { client.send(burst); });
  for (int i = 0; i < kCount; ++i) {
    const auto text = client.read_until("/n" + std::to_string(i) + " 0 uid");
    ASSERT_NE(text.find("200 OK"), std::string::npos) << i;
  }
  writer.join();
}

TEST(HttpServer, ReadsBodiesByLengthAndByChunks) {
  TestServer server([](Request request, std::shared_ptr<ResponseSink> sink) { sink->respond(200, {}, request.body); });
  RawClient client(server.socket());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello ");
  client.send("world");
  EXPECT_NE(client.read_until("hello world").find("Content-Length: 11"), std::string::npos);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
  client.send("lo\r\n7;ext=1\r\n chunks\r\n0\r\nX-Trailer: ");
  client.send("1\r\n\r\n");
  EXPECT_NE(client.read_until("hello chunks").find("Content-Length: 12"), std::string::npos);
}

TEST(HttpServer, OneByteAtATime) {
  TestServer server(echo);
  RawClient client(server.socket());
  const std::string_view request =
      "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (const char& c : request) client.send({&c, 1});
  EXPECT_NE(client.read_until("POST /a 3").find("200 OK"), std::string::npos);
}

TEST(HttpServer, ContinuesWhenAskedTo) {
  TestServer server(echo);
  RawClient client(server.socket());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_NE(client.read_until("POST / 4").find("200 OK"), std::string::npos);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: miracles\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n").find("417"), std::string::npos);
}

TEST(HttpServer, HeadHasLengthButNoBody) {
  TestServer server(echo);
  RawClient client(server.socket());
  client.send("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\nGET /g HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: " + std::to_string(("HEAD /h 0 uid=" + std::to_string(::getuid())).size())),
            std::string::npos)
      << head;
  EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 200 OK\r\n");
}

TEST(HttpServer, ClosesWhenAskedToAndForOldClients) {
  TestServer server(echo);
  RawClient closing(server.socket());
  closing.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(closing.read_all().find("Connection: close\r\n"), std::string::npos);
  RawClient old(server.socket());
  old.send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_NE(old.read_all().find("GET /old 0"), std::string::npos);
  RawClient old_kept(server.socket());
  old_kept.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(old_kept.read_until("GET /1 0").find("Connection: keep-alive"), std::string::npos);
  old_kept.send("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_NE(old_kept.read_all().find("GET /2 0"), std::string::npos);
}

TEST(HttpServer, OldClientsGetStreamsWithoutChunks) {
  TestServer server([](Request, std::shared_ptr<ResponseSink> sink) {
    sink->start(200, {});
    sink->write(shared("one"));
    sink->write(shared("two"));
    sink->end();
  });
  RawClient old(server.socket());
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto text = old.read_all();
  EXPECT_NE(text.find("\r\n\r\nonetwo"), std::string::npos) << text;
  EXPECT_EQ(text.find("chunked"), std::string::npos);
}

TEST(HttpServer, HandlersCannotWriteFramingOrSplitHeaders) {
  TestServer server([](Request, std::shared_ptr<ResponseSink> sink) {
    sink->respond(200, {{"content-length", "99"}, {"Transfer-Encoding", "chunked"}, {"X", "a\r\nEvil: 1"}}, "ok");
  });
  RawClient client(server.socket());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 2\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("chunked"), std::string::npos);
  EXPECT_EQ(head.find("\r\nEvil"), std::string::npos);
}

TEST(HttpServer, StreamsInChunksFromAnotherThread) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient client(server.socket());
  client.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  sink->start(200, {{"Content-Type", "application/json"}});
  EXPECT_NE(client.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  sink->write(shared("hello"));
  EXPECT_EQ(client.read_until("hello\r\n"), "5\r\nhello\r\n");
  sink->write(shared(""));  // would end the message if it were framed
  sink->write(shared("again"));
  sink->end();
  sink->write(shared("late"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "5\r\nagain\r\n0\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return sink->closed(); }));
}

TEST(HttpServer, SlowReaderGathersBacklogAndOthersAreServed) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request request, std::shared_ptr<ResponseSink> sink) {
    if (request.target == "/watch") return box.put(std::move(sink));
    echo(std::move(request), std::move(sink));
  });
  RawClient slow(server.socket());
  slow.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  std::atomic<int> drained{0};
  sink->on_drain([&] { ++drained; });
  sink->start(200, {});
  const auto piece = shared(std::string(100'000, 'x'));
  std::size_t written = 0;
  for (int i = 0; i < 100; ++i, written += piece->size()) sink->write(piece);
  EXPECT_GT(sink->backlog(), 1'000'000u);
  RawClient other(server.socket());
  other.send("GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.read_until("/other 0").find("200 OK"), std::string::npos);
  const int drained_while_stuck = drained;  // early pieces may have drained one by one
  EXPECT_GT(sink->backlog(), 1'000'000u);
  sink->end();
  const auto text = slow.read_until("0\r\n\r\n");
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x')), written);
  EXPECT_TRUE(eventually([&] { return drained > drained_while_stuck && sink->backlog() == 0; }));
}

TEST(HttpServer, StalledReaderIsDroppedAfterItsTime) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); },
                    {.stalled_write_timeout = 100ms});
  RawClient slow(server.socket());
  slow.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  Box<bool> closed;
  sink->on_close([&] { closed.put(true); });
  sink->start(200, {});
  sink->write(shared(std::string(8'000'000, 'x')));
  EXPECT_TRUE(closed.wait().has_value());
  EXPECT_TRUE(sink->closed());
}

TEST(HttpServer, ASlowReaderIsNotAStalledOne) {
  constexpr std::size_t kBytes = 8'000'000, kPiece = 36'000;
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); },
                    {.stalled_write_timeout = 1500ms});
  RawClient slow(server.socket());
  slow.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  sink->start(200, {});
  sink->write(shared(std::string(kBytes, 'x')));
  std::size_t taken = 0;
  const auto take = [&](std::size_t size) {
    std::string piece(size, '\0');
    const auto got = ::recv(slow.fd(), piece.data(), size, MSG_WAITALL);
    taken += got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0;
  };
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(take(kPiece)) << i;
    std::this_thread::sleep_for(
        400ms);  // the reader's pace; three quarters of a full buffer take longer than the limit
  }
  EXPECT_FALSE(sink->closed());
  while (taken < kBytes) ASSERT_TRUE(take(std::min(kPiece, kBytes - taken))) << taken;
  sink->abort();
}

TEST(HttpServer, PeerThatGoesAwayClosesTheStream) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient client(server.socket());
  client.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  Box<bool> closed;
  sink->on_close([&] { closed.put(server.loop().in_loop_thread()); });
  sink->start(200, {});
  client.read_until("\r\n\r\n");
  client.close();
  EXPECT_EQ(closed.wait(), std::optional<bool>(true));
  EXPECT_TRUE(sink->closed());
  sink->write(shared("nobody hears"));
  sink->end();
  Box<bool> late;
  sink->on_close([&] { late.put(true); });  // already over: called all the same
  EXPECT_TRUE(late.wait().has_value());
  EXPECT_EQ(server.server().connections(), 0u);
}

TEST(HttpServer, AbortResetsTheConnection) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient client(server.socket());
  client.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  sink->start(200, {});
  sink->write(shared("part"));
  client.read_until("part\r\n");
  sink->abort();
  EXPECT_EQ(client.read_all().find("0\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return sink->closed(); }));
}

TEST(HttpServer, AnAnswerThatIsAllWrittenCanBeAbortedWhileNobodyReadsIt) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient client(server.socket());
  client.send("GET /whole HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  sink->respond(200, {}, std::string(8'000'000, 'x'));
  client.read_until("\r\n\r\n");
  EXPECT_FALSE(sink->closed());
  sink->abort();
  EXPECT_TRUE(eventually([&] { return sink->closed(); }));
}

TEST(HttpServer, HandlersThatThrowOrForgetAreAnsweredForThem) {
  TestServer server([](Request request, std::shared_ptr<ResponseSink> sink) {
    if (request.target == "/throw") throw std::runtime_error("broken");
    if (request.target == "/stream") sink->start(200, {});
  });
  RawClient client(server.socket());
  client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\nGET /forget HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.read_until("\"code\":500}\n").find("500 Internal"), std::string::npos);
  EXPECT_NE(client.read_until("\"code\":500}\n").find("500 Internal"), std::string::npos);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_all().find("0\r\n\r\n"), std::string::npos);  // broken off, not ended
}

// Limits --------------------------------------------------------------------------------------------------------------

TEST(HttpServer, LargeBodiesAndHeadsAreRefusedWithAStatus) {
  TestServer server(echo, {.header_bytes_max = 4096, .body_bytes_max = 1000});
  const auto said = [&](const std::string& request) {
    RawClient client(server.socket());
    client.send(request);
    return client.read_all();
  };
  const auto by_length = said("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'));
  EXPECT_EQ(by_length.rfind("HTTP/1.1 413", 0), 0u) << by_length;
  EXPECT_NE(by_length.find("\"reason\":\"RequestEntityTooLarge\",\"code\":413"), std::string::npos) << by_length;
  EXPECT_EQ(
      said("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n" + std::string(1000, 'x'))
          .rfind("HTTP/1.1 200", 0),
      0u);
  const auto by_chunks =
      said("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'));
  EXPECT_EQ(by_chunks.rfind("HTTP/1.1 413", 0), 0u) << by_chunks;
  const auto head = said("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(5000, 'x') + "\r\n\r\n");
  EXPECT_EQ(head.rfind("HTTP/1.1 431", 0), 0u) << head;
}

TEST(HttpServer, AnswerToAnEndlessBodyReachesAClientThatStillWrites) {
  TestServer server(echo, {.body_bytes_max = 1000});
  RawClient client(server.socket());
  std::thread writer([&] {
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n");
    for (int i = 0; i < 50; ++i) client.send(std::string(100'000, 'x'));
  });
  EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 413 Request Entity Too Large\r\n");
  writer.join();
}

// Closing with bytes unread would reset the connection, and the peer might lose the answer.
TEST(HttpServer, AnAnswerEndsInOrderAlthoughItsRequestWasNotReadToTheEnd) {
  TestServer server(echo, {.body_bytes_max = 1000});
  RawClient client(server.socket());
  // In one piece, of which the server reads less before it refuses.
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + std::string(60'000, 'x'));
  const std::string said = client.read_all();
  EXPECT_EQ(client.read_error(), 0);
  EXPECT_EQ(said.rfind("HTTP/1.1 413 ", 0), 0u) << said;
  EXPECT_TRUE(said.ends_with("\"code\":413}\n")) << said;
}

// One limit each: what the test itself does slowly must not meet another one.
TEST(HttpServer, SilentPeersAreClosed) {
  TestServer short_head(echo, {.header_timeout = 50ms});
  RawClient silent(short_head.socket());
  EXPECT_TRUE(silent.sees_end());
  RawClient half_head(short_head.socket());
  half_head.send("GET / HTTP/1.1\r\nHo");
  EXPECT_TRUE(half_head.sees_end());
  TestServer short_body(echo, {.body_timeout = 50ms});
  RawClient half_body(short_body.socket());
  half_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half_body.read_until("\r\n"), "HTTP/1.1 408 Request Timeout\r\n");
  TestServer short_idle(echo, {.idle_timeout = 50ms});
  RawClient kept(short_idle.socket());
  kept.send("GET /k HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(kept.read_all().find("/k 0"), std::string::npos);
  for (TestServer* one : {&short_head, &short_body, &short_idle})
    EXPECT_TRUE(eventually([&] { return one->server().connections() == 0; }));
}

TEST(HttpServer, RunningAnswersHaveNoTimeLimit) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); },
                    {.header_timeout = 100ms, .body_timeout = 100ms, .idle_timeout = 100ms});
  std::optional<RawClient> client;
  // On the server's own thread: the request is there when the server takes the connection, in time for any limit.
  server.loop().run_sync([&] {
    client.emplace(server.socket());
    client->send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  });
  const auto sink = box.wait().value();
  Box<bool> later;
  server.loop().after(400ms, [&] { later.put(true); });  // well behind every limit
  ASSERT_TRUE(later.wait());
  EXPECT_FALSE(sink->closed());
  sink->respond(200, {}, "still here");
  EXPECT_NE(client->read_until("still here").find("200 OK"), std::string::npos);
}

TEST(HttpServer, ConnectionsAboveTheLimitAreClosedAtOnce) {
  TestServer server(echo, {.connections_max = 2});
  RawClient first(server.socket()), second(server.socket());
  for (auto* client : {&first, &second}) {
    client->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client->read_until("GET / 0");
  }
  RawClient third(server.socket());
  EXPECT_TRUE(third.sees_end());
  first.close();
  ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
  RawClient fourth(server.socket());
  fourth.send("GET /4 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(fourth.read_until("/4 0").find("200 OK"), std::string::npos);
}

struct BadRequestCase {
  const char* name;
  std::string text;
};
class SmuggledRequests : public ::testing::TestWithParam<BadRequestCase> {};

TEST_P(SmuggledRequests, AreRefusedAndTheConnectionEnds) {
  std::atomic<int> handled{0};
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) {
    ++handled;
    sink->respond(200, {}, "");
  });
  RawClient client(server.socket());
  client.send(GetParam().text + "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto text = client.read_all();
  EXPECT_EQ(text.rfind("HTTP/1.1 400", 0), 0u) << text;
  EXPECT_EQ(text.find("HTTP/1.1", 8), std::string::npos) << text;
  EXPECT_EQ(handled, 0);
}

const BadRequestCase kBadRequests[] = {
    {"LengthAndChunks",
     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"ChunksAndLength",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"},
    {"TwoLengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"},
    {"SameLengthTwice", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"},
    {"ListedLength", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4, 4\r\n\r\nabcd"},
    {"SignedLength", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\nabcd"},
    {"HexLength", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x4\r\n\r\nabcd"},
    {"EmptyLength", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"},
    {"HugeLength", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"},
    {"OtherCoding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"},
    {"CodingList", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {"CodingTwice",
     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"CodingInOldVersion", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"FoldedLine", "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n"},
    {"FoldedFirstLine", "GET / HTTP/1.1\r\n Host: x\r\n\r\n"},
    {"NulInValue", std::string("GET / HTTP/1.1\r\nHost: x\r\nX: a") + '\0' + "b\r\n\r\n"},
    {"BareLineFeed", "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"},
    {"BareCarriageReturn", "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n"},
    {"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
    {"NoHost", "GET / HTTP/1.1\r\nX: y\r\n\r\n"},
    {"TwoHosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"},
    {"BadChunkSize", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"},
    {"NegativeChunkSize", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"},
    {"ChunkWithoutEnd", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n"},
    {"TargetIsNoPath", "GET pods HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"Asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"Version2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
    {"NoVersion", "GET /\r\nHost: x\r\n\r\n"},
    {"Garbage", "\x16\x03\x01\x02\r\n\r\n"},
};

INSTANTIATE_TEST_SUITE_P(HttpServer, SmuggledRequests, ::testing::ValuesIn(kBadRequests),
                         [](const auto& test) { return test.param.name; });

// Life ----------------------------------------------------------------------------------------------------------------

TEST(HttpServer, FurtherLoopsServeTlsConnectionsAndEndWhenIdle) {
  Mutex mutex;
  std::set<std::thread::id> threads;
  TestServer server(
      [&](Request request, std::shared_ptr<ResponseSink> sink) {
        {
          const MutexLock lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        echo(std::move(request), std::move(sink));
      },
      {.loops_max = 3, .idle_loop_time = 20ms});
  LoopThread loop("client");
  std::vector<std::shared_ptr<Transport>> clients;
  const auto connect = [&](Endpoint endpoint) {
    clients.push_back(make_http_client(loop.loop(), std::move(endpoint)));
    EXPECT_EQ(fetch(*clients.back(), get("/"), 60s)->code, 200);
  };
  for (int i = 0; i < 5; ++i) connect(server.unix_endpoint());  // as a syncer's
  connect(server.tls_endpoint(client_tls()));
  EXPECT_EQ(server.server().loops(), 1u);
  connect(server.tls_endpoint(client_tls()));
  EXPECT_EQ(server.server().loops(), 2u);
  for (int i = 0; i < 4; ++i) connect(server.tls_endpoint(client_tls()));
  EXPECT_EQ(server.server().loops(), 3u);
  for (int i = 0; i < 5; ++i) connect(server.unix_endpoint());
  for (const auto& client : clients) EXPECT_EQ(fetch(*client, get("/"), 60s)->code, 200);
  {
    const MutexLock lock(mutex);
    EXPECT_EQ(threads.size(), 3u);
  }
  EXPECT_EQ(server.server().connections(), 16u);
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server.server().loops() == 1; }));
  connect(server.tls_endpoint(client_tls()));  // and serves on
}

TEST(HttpServer, StopsWithSeveralLoopsInTheMiddleOfAnswers) {
  Box<std::shared_ptr<ResponseSink>> box;
  auto server = std::make_unique<TestServer>(
      [&](Request, std::shared_ptr<ResponseSink> sink) {
        sink->start(200, {});
        sink->write(shared("begun"));
        box.put(std::move(sink));
      },
      HttpServerLimits{.loops_max = 4});
  LoopThread loop("client");
  std::vector<std::shared_ptr<Transport>> clients;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::shared_ptr<Recorder>> heard;
  std::vector<std::shared_ptr<ResponseSink>> sinks;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(make_http_client(loop.loop(), server->tls_endpoint(client_tls())));
    heard.push_back(std::make_shared<Recorder>());
    exchanges.push_back(clients.back()->start(get("/"), heard.back(), 0ms));
    sinks.push_back(box.wait().value());
    EXPECT_TRUE(heard.back()->wait_for_body(5));
  }
  EXPECT_EQ(server->server().loops(), 4u);
  sinks[0]->end();  // finishes within the grace
  server->server().stop(50ms);
  for (std::size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i]->wait_for_end().value().has_value(), i == 0) << i;
  server.reset();
  for (const auto& sink : sinks) {
    EXPECT_TRUE(sink->closed());
    sink->write(shared("late"));
  }
}

TEST(HttpServer, StopLetsRunningAnswersFinish) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient idle(server.socket());
  RawClient busy(server.socket());
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  std::thread stopper([&] { server.server().stop(kPatience); });
  EXPECT_TRUE(idle.sees_end());
  sink->respond(200, {}, "done");
  const auto text = busy.read_all();
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("done"), std::string::npos);
  busy.close();
  stopper.join();
  EXPECT_EQ(server.server().connections(), 0u);
  EXPECT_NE(::access(server.socket().c_str(), F_OK), 0);
}

TEST(HttpServer, StopEndsWhatOutlastsTheGrace) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  RawClient client(server.socket());
  client.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto sink = box.wait().value();
  Box<bool> closed;
  sink->on_close([&] { closed.put(true); });
  sink->start(200, {});
  server.server().stop(30ms);
  EXPECT_TRUE(closed.wait());
  EXPECT_TRUE(sink->closed());
}

TEST(HttpServer, SinksMayOutliveServerAndLoop) {
  Box<std::shared_ptr<ResponseSink>> box;
  std::shared_ptr<ResponseSink> sink;
  std::optional<RawClient> client;
  {
    TestServer server([&](Request, std::shared_ptr<ResponseSink> given) { box.put(std::move(given)); });
    client.emplace(server.socket());
    client->send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    sink = box.wait().value();
    sink->start(200, {});
  }
  bool called = false;
  sink->write(shared("nobody"));
  sink->on_close([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_TRUE(sink->closed());
}

TEST(HttpServer, AHandlerThatOwnsSinksIsFreedAllTheSame) {
  std::weak_ptr<int> alive;
  {
    auto owned = std::make_shared<int>(1);
    alive = owned;
    auto held = std::make_shared<std::vector<std::shared_ptr<ResponseSink>>>();
    std::atomic<int> count{0};
    TestServer server([owned, held, &count](Request, std::shared_ptr<ResponseSink> sink) {
      held->push_back(std::move(sink));
      ++count;
    });
    owned.reset();
    RawClient client(server.socket());
    client.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return count == 1; }));
  }
  EXPECT_TRUE(alive.expired());
}

TEST(HttpServer, AHandlerMayStopTheServer) {
  HttpServer* self = nullptr;
  Box<bool> stopped;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) {
    self->stop(0ms);
    sink->respond(200, {}, "nobody hears");
    stopped.put(sink->closed());
  });
  self = &server.server();
  RawClient client(server.socket());
  client.send("GET /stop HTTP/1.1\r\nHost: x\r\n\r\nGET /behind HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(stopped.wait(), std::optional<bool>(true));
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, TakesOverAStaleSocketButNoOtherFile) {
  TempFolder folder;
  LoopThread loop("server");
  const auto path = folder.file("api.sock");
  {
    Descriptor stale(::socket(AF_UNIX, SOCK_STREAM, 0));
    const auto address = unix_address(path).value();
    ASSERT_EQ(::bind(stale.get(), address.get(), address.size), 0);
  }
  HttpServer server(loop.loop(), echo);
  ASSERT_TRUE(server.listen_unix(path));
  HttpServer rival(loop.loop(), echo);
  EXPECT_FALSE(rival.listen_unix(path)) << "a socket that is served must not be taken over";
  const auto file = folder.file("notes.txt");
  Descriptor(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_FALSE(rival.listen_unix(file));
  EXPECT_EQ(::access(file.c_str(), F_OK), 0);
  EXPECT_FALSE(rival.listen_tls("127.0.0.1", server_tls()));
  EXPECT_FALSE(rival.listen_unix(std::string(200, 'p')));
}

bool machine_has_ipv6() {
  const Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(HttpServer, LivesWithoutARunningLoop) {
  Loop loop;
  HttpServer server(loop, echo);
  ASSERT_TRUE(server.listen_tls("127.0.0.1:0", server_tls()));
  if (machine_has_ipv6()) {
    ASSERT_TRUE(server.listen_tls("[::1]:0", server_tls()));
  }
}

TEST(HttpServer, ManyWritersManyWatchers) {
  constexpr int kWatchers = 20, kWriters = 4, kEvents = 50;
  Mutex mutex;
  std::vector<std::shared_ptr<ResponseSink>> sinks;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) {
    sink->start(200, {});
    const MutexLock lock(mutex);
    sinks.push_back(std::move(sink));
  });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls(TestCertificates::get().client)));
  std::vector<std::shared_ptr<Recorder>> heard;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < kWatchers; ++i) {
    heard.push_back(std::make_shared<Recorder>());
    exchanges.push_back(client->start(get("/watch"), heard.back(), 0ms));
  }
  ASSERT_TRUE(eventually([&] {
    const MutexLock lock(mutex);
    return sinks.size() == kWatchers;
  }));
  std::vector<std::thread> writers;
  const auto event = shared(std::string(300, 'e'));
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&] {
      for (int i = 0; i < kEvents; ++i)
        for (const auto& sink : sinks) sink->write(event);
    });
  exchanges.front().reset();  // one leaves in the middle
  for (auto& writer : writers) writer.join();
  for (const auto& sink : sinks) sink->end();
  for (int i = 1; i < kWatchers; ++i) {
    ASSERT_TRUE(heard[static_cast<std::size_t>(i)]->wait_for_end());
    EXPECT_EQ(heard[static_cast<std::size_t>(i)]->body().size(), event->size() * kWriters * kEvents);
  }
}

}  // namespace
}  // namespace sublet::net
