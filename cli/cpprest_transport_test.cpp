#include "cli/cpprest_transport.h"

#include <gtest/gtest.h>

#include <future>
#include <set>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/net/http_server.h"
#include "sublet/net/loop.h"
#include "sublet/net/tls_context.h"

namespace sublet::cli {
namespace {

using std::chrono::seconds;

// A TLS server for one name, that notes who connected.
class Server {
 public:
  explicit Server(const std::string& dns_name) : loop_("server") {
    net::CertificateRequest ca_request;
    ca_request.common_name = "ca";
    ca_request.is_ca = true;
    ca_request.lifetime = std::chrono::hours(1);
    const auto ca = net::make_certificate(ca_request, nullptr, Clock::system().now()).value();
    net::CertificateRequest request;
    request.common_name = "server";
    request.server_auth = true;
    request.lifetime = std::chrono::hours(1);
    request.dns_names = {dns_name};
    const auto pair = net::make_certificate(request, &ca, Clock::system().now()).value();
    net::TlsServerConfig tls;
    tls.certificate_pem = pair.certificate_pem;
    tls.key_pem = pair.key_pem;
    http_ = std::make_unique<net::HttpServer>(
        loop_.loop(), [this](const net::Request& seen, std::shared_ptr<net::ResponseSink> sink) {
          const MutexLock lock(mutex_);
          peers_.insert(seen.peer.address);
          if (seen.target == "/held")
            held_.push_back(std::move(sink));
          else
            sink->respond(200, {}, seen.method + " " + seen.body);
        });
    address = http_->listen_tls("127.0.0.1:0", net::TlsContext::server(tls).value()).value();
    access.server = "https://" + address;
    access.ca_pem = ca.certificate_pem;
    access.tls_server_name = dns_name;
  }
  ~Server() { http_->stop(std::chrono::milliseconds(0)); }
  std::size_t connections() {
    const MutexLock lock(mutex_);
    return peers_.size();
  }
  bool holds_one() {
    const MutexLock lock(mutex_);
    return !held_.empty();
  }
  void answer_held() {
    const MutexLock lock(mutex_);
    for (const auto& sink : held_) sink->respond(200, {}, "late");
    held_.clear();
  }

  std::string address;
  kube::ClusterAccess access;

 private:
  net::LoopThread loop_;
  Mutex mutex_;
  std::set<std::string> peers_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<net::ResponseSink>> held_ SUBLET_GUARDED_BY(mutex_);
  std::unique_ptr<net::HttpServer> http_;
};

net::Request request_for(const std::string& method, const std::string& target, const std::string& body = {}) {
  net::Request request;
  request.method = method;
  request.target = target;
  request.body = body;
  return request;
}

TEST(CpprestTransport, ConnectionsAreUsedAgain) {
  Server server("localhost");
  const auto transport = make_cpprest_transport(server.access).value();
  for (int i = 0; i < 20; ++i) {
    const auto answer = net::fetch(*transport, request_for("DELETE", "/x", "body"), seconds(20));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "DELETE body");
  }
  // cpprest takes a connection back a moment after it has told the answer: the next request may miss it.
  EXPECT_LE(server.connections(), 10u);
}

TEST(CpprestTransport, TheServersNameMayBeAnotherThanItsAddress) {
  Server server("kubernetes.internal");
  const auto good = net::fetch(*make_cpprest_transport(server.access).value(), request_for("GET", "/"), seconds(20));
  EXPECT_TRUE(good) << good.error().message;
  server.access.tls_server_name = "somebody.else";
  EXPECT_FALSE(net::fetch(*make_cpprest_transport(server.access).value(), request_for("GET", "/"), seconds(20)));
  server.access.tls_server_name.clear();  // then 127.0.0.1 must be in the certificate
  EXPECT_FALSE(net::fetch(*make_cpprest_transport(server.access).value(), request_for("GET", "/"), seconds(20)));
}

TEST(CpprestTransport, WhoeverLeavesHearsNoMore) {
  struct Listener final : net::ResponseObserver {
    std::atomic<int> calls = 0;
    void on_head(int, const net::Headers&) override { ++calls; }
    void on_body(std::string_view) override { ++calls; }
    void on_end(Outcome) override { ++calls; }
  };
  Server server("localhost");
  const auto transport = make_cpprest_transport(server.access).value();
  const auto listener = std::make_shared<Listener>();
  auto exchange = transport->start(request_for("GET", "/held"), listener, seconds(20));
  while (!server.holds_one()) std::this_thread::yield();
  exchange.reset();
  server.answer_held();
  ASSERT_TRUE(net::fetch(*transport, request_for("GET", "/"), seconds(20)));
  EXPECT_EQ(listener->calls, 0);
}

}  // namespace
}  // namespace sublet::cli
