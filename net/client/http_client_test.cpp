#include "sublet/net/http_client.h"

#include <netinet/in.h>

#include <deque>
#include <fstream>
#include <sstream>

#include "net/net_testing.h"
#include "sublet/base/mutex.h"

namespace sublet::net {
namespace {

/// A server that says exactly what a test scripts: one list of answers per connection, in order of acceptance.
class ScriptedServer {
 public:
  struct Step {
    std::string answer;          // sent when a whole request head has come
    bool close_after = false;    // then the connection ends
    bool close_at_once = false;  // read the request, say nothing
  };
  explicit ScriptedServer(std::vector<std::vector<Step>> connections) : script_(std::move(connections)) {
    path_ = folder_.file("scripted.sock");
    const auto address = unix_address(path_).value();
    listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), address.get(), address.size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (auto& thread : connections_) thread.join();
  }
  Endpoint endpoint() const { return {{}, 0, path_, nullptr}; }
  std::vector<std::string> requests() {
    const MutexLock lock(mutex_);
    return requests_;
  }
  std::size_t accepted() const { return accepted_; }
  std::size_t closed_by_client() const { return closed_by_client_; }

 private:
  void serve() {
    for (auto& steps : script_) {
      Descriptor fd(::accept(listener_.get(), nullptr, nullptr));
      if (!fd) return;
      ++accepted_;
      connections_.emplace_back(
          [this, steps, shared_fd = std::make_shared<Descriptor>(std::move(fd))] { converse(*shared_fd, steps); });
    }
  }
  void converse(Descriptor& fd, const std::vector<Step>& steps) {
    std::string in;
    for (const auto& step : steps) {
      std::size_t end;
      while ((end = in.find("\r\n\r\n")) == std::string::npos) {
        char buffer[4096];
        const auto got = ::recv(fd.get(), buffer, sizeof(buffer), 0);
        if (got <= 0) {
          ++closed_by_client_;
          return;
        }
        in.append(buffer, static_cast<std::size_t>(got));
      }
      {
        const MutexLock lock(mutex_);
        requests_.push_back(in.substr(0, end));
      }
      in.clear();
      if (step.close_at_once) return;
      EXPECT_EQ(::send(fd.get(), step.answer.data(), step.answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(step.answer.size()));
      if (step.close_after) return;
    }
    char byte;
    while (::recv(fd.get(), &byte, 1, 0) > 0) {
    }
    ++closed_by_client_;
  }

  TempFolder folder_;
  std::string path_;
  std::vector<std::vector<Step>> script_;
  Descriptor listener_;
  std::atomic<std::size_t> accepted_{0}, closed_by_client_{0};
  Mutex mutex_;
  std::vector<std::string> requests_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::thread> connections_;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpClient, ReusesOneConnectionForCallsInTurn) {
  ScriptedServer server({{{ok("one")}, {ok("two")}, {ok("three")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  for (const auto* expected : {"one", "two", "three"}) EXPECT_EQ(fetch(*client, get("/"), 10s)->body, expected);
  EXPECT_EQ(server.accepted(), 1u);
}

TEST(HttpClient, UnderstandsEveryFraming) {
  ScriptedServer server(
      {{{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\n" + ok("interim")},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: 1\r\n\r\n"},
        {"HTTP/1.1 204 No Content\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end", true}},
       {{"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold"}},
       {{ok("fresh")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_EQ(fetch(*client, get("/1"), 10s)->body, "interim");
  EXPECT_EQ(fetch(*client, get("/2"), 10s)->body, "abcde");
  EXPECT_EQ(fetch(*client, get("/3"), 10s)->code, 204);
  EXPECT_EQ(fetch(*client, get("/4"), 10s)->body, "");
  EXPECT_EQ(fetch(*client, get("/5"), 10s)->body, "until the end");
  EXPECT_EQ(fetch(*client, get("/6"), 10s)->body, "old");
  EXPECT_EQ(fetch(*client, get("/7"), 10s)->body, "fresh");
  EXPECT_EQ(server.accepted(), 3u);
}

TEST(HttpClient, HeadHasNoBody) {
  ScriptedServer server({{{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}, {ok("next")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  const auto head = fetch(*client, {"HEAD", "/", {}, {}, {}}, 10s);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.get("content-length"), "5");
  EXPECT_EQ(fetch(*client, get("/"), 10s)->body, "next");
}

TEST(HttpClient, SendsLengthAndHostOnce) {
  ScriptedServer server({{{ok("")}, {ok("")}, {ok("")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  auto request = post("/create", "{}");
  request.headers.add("content-length", "77");
  request.headers.add("Transfer-Encoding", "chunked");
  ASSERT_TRUE(fetch(*client, request, 10s));
  ASSERT_TRUE(fetch(*client, get("/x"), 10s));
  ASSERT_TRUE(fetch(*client, post("/empty", ""), 10s));
  const auto seen = server.requests();
  EXPECT_EQ(seen[0], "POST /create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2");
  EXPECT_EQ(seen[1], "GET /x HTTP/1.1\r\nHost: localhost");
  EXPECT_NE(seen[2].find("Content-Length: 0"), std::string::npos);
}

TEST(HttpClient, RetriesOnceWhenAnIdleConnectionWasClosed) {
  // The server answers, then takes the next request on that connection and closes without a word: an idle race.
  ScriptedServer server({{{ok("first")}, {"", false, true}}, {{ok("second")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_EQ(fetch(*client, get("/1"), 10s)->body, "first");
  const auto second = fetch(*client, get("/2"), 10s);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "second");
  EXPECT_EQ(server.accepted(), 2u);
}

TEST(HttpClient, DoesNotRetryWhatMayHaveHadAnEffect) {
  ScriptedServer server({{{ok("first")}, {"", false, true}}, {{ok("never")}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_EQ(fetch(*client, get("/1"), 10s)->body, "first");
  const auto second = fetch(*client, post("/2", "{}"), 10s);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, Reason::service_unavailable);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_TRUE(fetch(*client, get("/3"), 10s));  // lets the scripted server finish
}

TEST(HttpClient, DoesNotRetryANewConnectionOrABegunAnswer) {
  ScriptedServer server({{{"", false, true}}, {{ok("x")}, {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart", true}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_FALSE(fetch(*client, get("/1"), 10s));
  EXPECT_TRUE(fetch(*client, get("/2"), 10s));
  const auto broken = fetch(*client, get("/3"), 10s);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("mid-answer"), std::string::npos) << broken.error().message;
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(HttpClient, MalformedAnswersAreFailures) {
  const std::string bad[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      "SSH-2.0-OpenSSH_9.2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  };
  for (const auto& answer : bad) {
    ScriptedServer server({{{answer}}});
    LoopThread loop("client");
    const auto client = make_http_client(loop.loop(), server.endpoint());
    const auto outcome = fetch(*client, get("/"), 10s);
    ASSERT_FALSE(outcome) << answer;
    EXPECT_NE(outcome.error().message.find("malformed"), std::string::npos) << answer << outcome.error().message;
  }
}

TEST(HttpClient, FoldedAnswerLinesAreNamed) {
  ScriptedServer server({{{"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"}}});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_NE(fetch(*client, get("/"), 10s).error().message.find("folded"), std::string::npos);
}

TEST(HttpClient, UnusableRequestsNeverLeave) {
  ScriptedServer server({});
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.endpoint());
  EXPECT_EQ(fetch(*client, get("/a b"), 10s).error().reason, Reason::bad_request);
  EXPECT_EQ(fetch(*client, get("a"), 10s).error().reason, Reason::bad_request);
  EXPECT_EQ(fetch(*client, {"GET", "/", {{"X", "a\r\nEvil: 1"}}, {}, {}}, 10s).error().reason, Reason::bad_request);
  EXPECT_EQ(fetch(*client, {"G T", "/", {}, {}, {}}, 10s).error().reason, Reason::bad_request);
}

TEST(HttpClient, TimesOutAndGoesOn) {
  TestServer server([held = std::make_shared<std::vector<std::shared_ptr<ResponseSink>>>()](
                        Request request, std::shared_ptr<ResponseSink> sink) {
    if (request.target == "/slow") return held->push_back(std::move(sink));
    echo(std::move(request), std::move(sink));
  });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.unix_endpoint(), {.connections_max = 1});
  const auto slow = fetch(*client, get("/slow"), 30ms);
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().reason, Reason::timeout);
  EXPECT_TRUE(fetch(*client, get("/fast"), 10s));
}

TEST(HttpClient, RefusedAndUnreachablePeersFail) {
  LoopThread loop("client");
  const auto nobody = make_http_client(loop.loop(), {{}, 0, "/nonexistent/x.sock", nullptr});
  const auto answer = fetch(*nobody, get("/"), 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::service_unavailable);
  EXPECT_NE(answer.error().message.find("/nonexistent/x.sock"), std::string::npos);
  const auto unnamed = make_http_client(loop.loop(), {"no-such-host.invalid", 443, {}, client_tls()});
  EXPECT_EQ(fetch(*unnamed, get("/"), 15s).error().reason, Reason::service_unavailable);
}

TEST(HttpClient, ConnectTimeLimitCoversTheHandshake) {
  TempFolder folder;
  Descriptor silent(::socket(AF_INET, SOCK_STREAM, 0));  // takes connections into its backlog and never speaks TLS
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent.get(), 4), 0);
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size);
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), {"127.0.0.1", ntohs(address.sin_port), {}, client_tls()},
                                       {.connect_timeout = 50ms});
  const auto answer = fetch(*client, get("/"), 0ms);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("time limit"), std::string::npos) << answer.error().message;
}

TEST(HttpClient, VerifiesTheServer) {
  TestServer server(echo);
  LoopThread loop("client");
  const auto ask = [&](std::shared_ptr<TlsContext> tls, std::string host = "127.0.0.1") {
    const auto client = make_http_client(loop.loop(), {std::move(host), server.port(), {}, std::move(tls)});
    return fetch(*client, get("/"), 10s);
  };
  const auto with = [](const std::string& ca, const std::string& name, bool skip) {
    return TlsContext::client(
               {.ca_pem = ca, .certificate_pem = {}, .key_pem = {}, .server_name = name, .insecure_skip_verify = skip})
        .value();
  };
  const auto& all = TestCertificates::get();
  EXPECT_TRUE(ask(client_tls()));
  EXPECT_TRUE(ask(client_tls(), "localhost"));
  EXPECT_TRUE(ask(with(all.authority.certificate_pem, "kubernetes.default.svc", false)));
  const auto wrong_name = ask(with(all.authority.certificate_pem, "elsewhere.example", false));
  ASSERT_FALSE(wrong_name);
  EXPECT_NE(wrong_name.error().message.find("ostname mismatch"), std::string::npos) << wrong_name.error().message;
  EXPECT_FALSE(ask(with(all.authority.certificate_pem, "127.0.0.2", false)));
  EXPECT_FALSE(ask(with(all.other_authority.certificate_pem, "", false)));
  EXPECT_TRUE(ask(with("", "", true)));
}

TEST(HttpClient, StreamsAndCancels) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls()));
  const auto heard = std::make_shared<Recorder>();
  auto exchange = client->start(get("/watch"), heard, 0ms);
  const auto sink = box.wait().value();
  Box<bool> closed;
  sink->on_close([&] { closed.put(true); });
  sink->start(200, {});
  sink->write(shared("event 1\n"));
  ASSERT_TRUE(heard->wait_for_body(8));
  sink->write(shared(std::string(200'000, 'y')));
  ASSERT_TRUE(heard->wait_for_body(200'008));
  exchange.reset();
  EXPECT_TRUE(closed.wait());
  EXPECT_FALSE(heard->ended());
}

TEST(HttpClient, CallsBeyondTheLimitWaitInLine) {
  std::atomic<int> running{0}, most{0};
  Mutex mutex;
  std::deque<std::shared_ptr<ResponseSink>> held;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) {
    most = std::max<int>(most, ++running);
    const MutexLock lock(mutex);
    held.push_back(std::move(sink));
  });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.unix_endpoint(), {.connections_max = 3});
  std::vector<std::shared_ptr<Recorder>> heard;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < 10; ++i) {
    heard.push_back(std::make_shared<Recorder>());
    exchanges.push_back(client->start(get("/"), heard.back(), 0ms));
  }
  exchanges[5].reset();  // leaves the line
  for (int answered = 0; answered < 9; ++answered) {
    std::shared_ptr<ResponseSink> sink;
    ASSERT_TRUE(eventually([&] {
      const MutexLock lock(mutex);
      if (held.empty()) return false;
      sink = std::move(held.front());
      held.pop_front();
      return true;
    }));
    --running;
    sink->respond(200, {}, "x");
  }
  for (std::size_t i = 0; i < heard.size(); ++i) {
    if (i == 5) continue;
    EXPECT_TRUE(heard[i]->wait_for_end()) << i;
  }
  EXPECT_LE(most, 3);
  EXPECT_FALSE(heard[5]->ended());
}

TEST(HttpClient, IdleConnectionsAreFewAndDoNotLast) {
  TestServer server([held = std::make_shared<std::vector<std::shared_ptr<ResponseSink>>>()](
                        Request, std::shared_ptr<ResponseSink> sink) {
    held->push_back(std::move(sink));
    if (held->size() < 8) return;
    for (const auto& each : *held) each->respond(200, {}, "");
    held->clear();
  });
  LoopThread loop("client");
  const auto client =
      make_http_client(loop.loop(), server.unix_endpoint(), {.idle_connections_max = 2, .idle_timeout = 100ms});
  std::vector<std::shared_ptr<Recorder>> heard;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < 8; ++i) {
    heard.push_back(std::make_shared<Recorder>());
    exchanges.push_back(client->start(get("/"), heard.back(), 0ms));
  }
  for (const auto& each : heard) ASSERT_TRUE(each->wait_for_end());
  EXPECT_TRUE(eventually([&] { return server.server().connections() <= 2; }));
  EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

TEST(HttpClient, DroppingTheTransportClosesIdleConnectionsOnly) {
  Box<std::shared_ptr<ResponseSink>> box;
  TestServer server([&](Request, std::shared_ptr<ResponseSink> sink) { box.put(std::move(sink)); });
  LoopThread loop("client");
  auto client = make_http_client(loop.loop(), server.unix_endpoint());
  const auto heard = std::make_shared<Recorder>();
  const auto exchange = client->start(get("/"), heard, 0ms);
  const auto sink = box.wait().value();
  client.reset();
  sink->respond(200, {}, "still");
  ASSERT_TRUE(heard->wait_for_end());
  EXPECT_EQ(heard->body(), "still");
  EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

TEST(HttpClient, SurvivesARestartOfTheServer) {
  LoopThread client_loop("client"), server_loop("server");
  TempFolder folder;
  const auto path = folder.file("api.sock");
  const auto client = make_http_client(client_loop.loop(), {{}, 0, path, nullptr});
  for (int round = 0; round < 5; ++round) {
    HttpServer server(server_loop.loop(), echo);
    ASSERT_TRUE(server.listen_unix(path));
    for (int i = 0; i < 3; ++i) {
      const auto answer = fetch(*client, post("/r", "x"), 10s);
      ASSERT_TRUE(answer) << round << ": " << answer.error().message;
    }
  }
}

// The kernel's socket addresses hold 107 bytes; a namespace's and a cluster's names alone may be as long.
TEST(HttpClient, ReachesAServerBehindALongPath) {
  LoopThread client_loop("client"), server_loop("server");
  TempFolder folder;
  std::string path = folder.file(std::string(63, 'n'));
  ASSERT_TRUE(std::filesystem::create_directories(path += "/" + std::string(63, 'c')));
  path += "/api.sock";
  HttpServer server(server_loop.loop(), echo);
  ASSERT_TRUE(server.listen_unix(path));
  HttpServer rival(server_loop.loop(), echo);
  EXPECT_FALSE(rival.listen_unix(path));
  const auto client = make_http_client(client_loop.loop(), {{}, 0, path, nullptr});
  const auto answer = fetch(*client, post("/r", "x"), 10s);
  ASSERT_TRUE(answer) << answer.error().message;
}

TEST(HttpClient, ObserverMayCancelItselfFromWithin) {
  TestServer server([](Request, std::shared_ptr<ResponseSink> sink) {
    sink->start(200, {});
    sink->write(shared("one"));
    sink->write(shared("two"));
    sink->end();
  });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.unix_endpoint());
  struct Quitter final : ResponseObserver {
    Mutex mutex;
    std::unique_ptr<Exchange> exchange;
    Box<bool> quit;
    std::atomic<int> after{0};
    void on_head(int, const Headers&) override {
      const MutexLock lock(mutex);
      exchange.reset();
      quit.put(true);
    }
    void on_body(std::string_view) override { ++after; }
    void on_end(Outcome) override { ++after; }
  };
  const auto quitter = std::make_shared<Quitter>();
  {
    const MutexLock lock(quitter->mutex);
    quitter->exchange = client->start(get("/"), quitter, 0ms);
  }
  EXPECT_TRUE(quitter->quit.wait());
  EXPECT_TRUE(fetch(*client, get("/"), 10s));  // behind it on the same loop
  EXPECT_EQ(quitter->after, 0);
}

TEST(HttpClient, LargeBodiesBothWays) {
  TestServer server([](Request request, std::shared_ptr<ResponseSink> sink) { sink->respond(200, {}, request.body); });
  LoopThread loop("client");
  const auto client = make_http_client(loop.loop(), server.tls_endpoint(client_tls()));
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i) + ",";
  const auto answer = fetch(*client, post("/", body), 30s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == body);
}

TEST(HttpClient, CurlIsAnsweredToo) {
  if (std::system("curl --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no curl here";
  TestServer server(echo);
  TempFolder folder;
  const auto& all = TestCertificates::get();
  std::ofstream(folder.file("ca.pem")) << all.authority.certificate_pem;
  std::ofstream(folder.file("client.pem")) << all.client.certificate_pem;
  std::ofstream(folder.file("client.key")) << all.client.key_pem;
  const auto url = "https://127.0.0.1:" + std::to_string(server.port());
  const auto run = [&](const std::string& arguments) {
    const auto out = folder.file("out.txt");
    const auto command = "curl -sS --cacert " + folder.file("ca.pem") + " " + arguments + " >" + out + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::stringstream text;
    text << std::ifstream(out).rdbuf();
    return text.str();
  };
  const auto identity = "--cert " + folder.file("client.pem") + " --key " + folder.file("client.key") + " ";
  EXPECT_EQ(run(identity + url + "/curl"), "GET /curl 0 cn=admin o=system:masters o=team-legal");
  EXPECT_EQ(run(url + "/a " + url + "/b"), "GET /a 0 anonymousGET /b 0 anonymous");
  EXPECT_EQ(run("-X POST -H 'Expect: 100-continue' -d 12345 " + url + "/p"), "POST /p 5 anonymous");
  EXPECT_EQ(run("-X PUT -H 'Transfer-Encoding: chunked' -d 123456 " + url + "/c"), "PUT /c 6 anonymous");
  EXPECT_NE(run("-I " + url + "/head").find("HTTP/1.1 200 OK"), std::string::npos);
  EXPECT_EQ(run("--tls-max 1.2 " + identity + url + "/12"), "GET /12 0 cn=admin o=system:masters o=team-legal");
  EXPECT_EQ(run("--http2 " + url + "/h2"), "GET /h2 0 anonymous");  // ALPN falls back
  EXPECT_EQ(run("--unix-socket " + server.socket() + " http://x/u"), "GET /u 0 uid=" + std::to_string(::getuid()));
}

}  // namespace
}  // namespace sublet::net
