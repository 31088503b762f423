// exec and its like, from a client of the tenant's API server through tunnel and gateway to a host: real sockets, as
// only those can be upgraded.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <vector>

#include "base/eventually_testing.h"
#include "sublet/apiserver/tunnel.h"
#include "sublet/base/mutex.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/net/duplex.h"
#include "sublet/net/http_client.h"
#include "sublet/net/http_server.h"
#include "sublet/syncer/host_gateway.h"
#include "sublet/syncer/node_names.h"
#include "syncer/gateway/host_pod_testing.h"

namespace sublet::syncer {
namespace {

using namespace std::chrono_literals;
using testing_support::eventually;

/// Sends back what it hears, in capitals.
class Shouter final : public net::Duplex::Observer {
 public:
  Shouter(std::shared_ptr<net::Duplex> connection, std::atomic<int>& over)
      : connection_(std::move(connection)), over_(over) {}
  void on_bytes(std::string_view bytes) override {
    std::string text(bytes);
    for (char& c : text) c = static_cast<char>(std::toupper(c));
    connection_->write(text);
  }
  void on_drain() override {}
  void on_end() override { connection_->end(); }
  void on_over() override { ++over_; }

 private:
  const std::shared_ptr<net::Duplex> connection_;
  std::atomic<int>& over_;
};

class Client final : public net::UpgradeObserver, public net::Duplex::Observer {
 public:
  void on_head(int code, const net::Headers& headers) override {
    code_ = code;
    protocol_ = headers.get("Sec-WebSocket-Protocol");
    cookie_ = headers.get("Set-Cookie");
  }
  void on_body(std::string_view chunk) override { append(chunk); }
  void on_end(Outcome) override { over = true; }
  void on_upgrade(std::shared_ptr<net::Duplex> made) override {
    {
      const MutexLock lock(mutex_);
      connection_ = made;
    }
    connected = true;
  }
  void on_bytes(std::string_view bytes) override { append(bytes); }
  void on_drain() override {}
  void on_end() override { over = true; }
  void on_over() override { over = true; }
  std::shared_ptr<net::Duplex> connection() const {
    const MutexLock lock(mutex_);
    return connection_;
  }
  void leave() const { connection()->close(); }
  std::string text() const {
    const MutexLock lock(mutex_);
    return text_;
  }
  std::atomic<bool> connected{false}, over{false};
  std::atomic<int> code_{0};
  std::string protocol_, cookie_;

 private:
  void append(std::string_view bytes) {
    const MutexLock lock(mutex_);
    text_ += bytes;
  }
  mutable Mutex mutex_;
  std::shared_ptr<net::Duplex> connection_ SUBLET_GUARDED_BY(mutex_);
  std::string text_ SUBLET_GUARDED_BY(mutex_);
};

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/sublet-sessions-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class PodSessionsTest : public testing::Test {
 protected:
  PodSessionsTest() {
    EXPECT_TRUE(tenant_.listen_unix(folder_.file("tenant")));
    EXPECT_TRUE(host_.listen_unix(folder_.file("host")));
  }
  ~PodSessionsTest() override {
    gateway_.reset();
    // On their loop: an observer holds its connection until that is over.
    loop_.loop().run_sync([this] {
      for (const auto& client : all_)
        if (client->connected) client->leave();
    });
    tenant_.stop(0ms);
    host_.stop(0ms);
  }
  std::shared_ptr<net::Transport> to(const std::string& name) {
    net::Endpoint endpoint;
    endpoint.unix_path = folder_.file(name);
    return net::make_http_client(loop_.loop(), endpoint);
  }
  void begin(std::size_t streams_max = kGatewayStreamsMax) {
    HostGatewayOptions options;
    options.virtual_cluster_uid = "vc-uid";
    options.host_namespace = "host";
    options.host_bearer_token = "hosts-token";
    options.host_name = [](const std::string&, const std::string& pod) { return pod + "-x"; };
    options.streams_max = streams_max;
    options.node_names = node_names_;
    gateway_ = std::make_unique<HostGateway>(loop_.loop(), to("tenant"), to("host"), std::move(options));
    gateway_->start();
  }
  /// As kubectl asks, but for what does not cross.
  std::shared_ptr<Client> ask(const std::string& subresource = "exec") {
    subresource_ = subresource;
    auto client = std::make_shared<Client>();
    all_.push_back(client);
    net::Request request{"GET",
                         "/session",
                         {{"Connection", "Upgrade"},
                          {"Upgrade", "websocket"},
                          {"Authorization", "Bearer tenants-token"},
                          {"Sec-WebSocket-Key", "k"},
                          {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}},
                         {},
                         {}};
    exchanges_.push_back(clients_->start(std::move(request), client, 0ms));
    return client;
  }
  std::shared_ptr<Client> joined() {
    auto client = ask();
    EXPECT_TRUE(eventually([&] { return client->connected || client->over; }));
    EXPECT_EQ(client->code_, 101) << client->text();
    if (client->connected) client->connection()->start(client);
    return client;
  }
  /// As the tenant's API server would pass it on, but that nothing is cut.
  kube::PodProxyRequest proxied(const net::Request& request) const {
    kube::PodProxyRequest out;
    out.namespace_name = "default";
    out.pod_name = "web";
    out.pod_uid = "pod-uid";
    out.subresource = kube::kProxySubresource;
    out.method = request.method;
    out.query = request.query();
    out.headers = request.headers;
    out.scheme = proxy_scheme_;
    out.port = "8443";
    out.path = proxy_path_.empty() ? std::string(request.path()) : proxy_path_;
    out.prefix = "/api/v1/namespaces/default/services/front/proxy";
    out.body = request.body;
    return out;
  }
  net::Response fetch_of_pod(const std::string& method, const std::string& target, std::string body = {},
                             net::Headers headers = {}) {
    subresource_ = "proxy";
    const auto answer = net::fetch(*clients_, {method, target, std::move(headers), std::move(body), {}}, 60s);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : net::Response{};
  }
  void serve_host(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
    if (request.path().ends_with("/web-x")) return sink->respond(200, {}, std::string(pod_));
    if (subresource_ == "proxy" && !kube::asks_for_upgrade(request.headers)) {
      {
        const MutexLock lock(mutex_);
        asked_ = request;
      }
      ++sessions_;
      return sink->respond(proxy_answer_.code, proxy_answer_.headers, proxy_answer_.body);
    }
    {
      const MutexLock lock(mutex_);
      asked_ = request;
    }
    ++sessions_;
    if (refusal_ != 0) return sink->respond(refusal_, {{"Content-Type", "text/plain"}}, refusal_text_);
    net::upgradable(*sink)->upgrade({{"Connection", "Upgrade"},
                                     {"Upgrade", "websocket"},
                                     {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"},
                                     {"Set-Cookie", "the-hosts"}},
                                    [this](const std::shared_ptr<net::Duplex>& made) {
                                      made->start(std::make_shared<Shouter>(made, hosts_over_));
                                      if (!greeting_.empty()) made->write(greeting_);
                                    });
  }
  net::Request asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }

  std::string_view pod_ = kOwnHostPod;
  int refusal_ = 0;
  std::string refusal_text_ = "pod web-x says no", greeting_;
  std::shared_ptr<NodeNames> node_names_;
  std::string subresource_ = "exec", proxy_scheme_ = "https", proxy_path_;
  net::Response proxy_answer_{200, {{"Content-Type", "text/plain"}}, "hello"};
  std::atomic<int> sessions_{0}, hosts_over_{0};
  Folder folder_;
  Mutex mutex_;
  net::Request asked_ SUBLET_GUARDED_BY(mutex_);
  std::weak_ptr<net::ResponseSink> last_client_ SUBLET_GUARDED_BY(mutex_);
  net::LoopThread loop_{"gateway"}, tenant_loop_{"tenant"}, host_loop_{"host"};
  apiserver::Tunnel tunnel_{tenant_loop_.loop()};
  net::HttpServer host_{host_loop_.loop(),
                        [this](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
                          serve_host(request, sink);
                        }};
  /// What the syncer brings, counted.
  net::Handler counted(net::Handler tunnel) {
    return [this, tunnel = std::move(tunnel)](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
      if (request.method == "POST" && request.path().starts_with("/sublet.dev/v1/tunnel/")) ++pieces_;
      tunnel(std::move(request), std::move(sink));
    };
  }
  std::atomic<int> pieces_{0};
  net::HttpServer tenant_{
      tenant_loop_.loop(),
      counted(tunnel_.wrap([this](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
        {
          const MutexLock lock(mutex_);
          last_client_ = sink;
        }
        if (subresource_ == "proxy") return tunnel_.pod_connections()(proxied(request), sink);
        tunnel_.pod_connections()({"default", "web", "pod-uid", subresource_, request.method,
                                   "command=sh&container=c&stdin=true&path=%2F", request.headers},
                                  sink);
      }))};
  std::shared_ptr<net::Transport> clients_ = to("tenant");
  std::vector<std::unique_ptr<net::Exchange>> exchanges_;
  std::vector<std::shared_ptr<Client>> all_;
  std::unique_ptr<HostGateway> gateway_;
};

TEST_F(PodSessionsTest, BytesGoThroughAndOnlyTheHandshakeCrosses) {
  begin();
  const auto client = joined();
  EXPECT_EQ(client->protocol_, "v5.channel.k8s.io");
  EXPECT_EQ(client->cookie_, "");
  EXPECT_EQ(asked().target, "/api/v1/namespaces/host/pods/web-x/exec?command=sh&container=c&stdin=true");
  EXPECT_EQ(asked().headers.get("Authorization"), "Bearer hosts-token");
  EXPECT_EQ(asked().headers.get("Sec-WebSocket-Key"), "k");
  const std::string large(4'000'000, 'a');
  client->connection()->write(large + "end");
  EXPECT_TRUE(eventually([&] { return client->text().size() == large.size() + 3; }));
  EXPECT_EQ(client->text().substr(large.size()), "END");
  client->connection()->end();
  EXPECT_TRUE(eventually([&] { return client->over && hosts_over_ == 1; }));
}

TEST_F(PodSessionsTest, TheHostsRefusalIsTheAnswerWithTheTenantsName) {
  refusal_ = 403;
  begin();
  const auto client = ask();
  EXPECT_TRUE(eventually([&] { return client->over.load(); }));
  EXPECT_EQ(client->code_, 403);
  EXPECT_EQ(client->text(), "pod web says no");
}

TEST_F(PodSessionsTest, WhatKeepsTheHostFromItsNodeNamesNeitherItNorThePodThere) {
  node_names_ = std::make_shared<NodeNames>("key");
  node_names_->know({"gpu-1", "", {"10.0.0.1"}});
  const std::string node = node_names_->to_tenant("gpu-1");
  const auto error = [](const std::string& message) {
    const std::string payload = "\x03{\"metadata\":{},\"status\":\"Failure\",\"message\":\"" + message + "\"}";
    EXPECT_GT(payload.size(), 125u);
    return std::string("\x82\x7e", 2) + static_cast<char>(payload.size() >> 8) +
           static_cast<char>(payload.size() & 0xff) + payload;
  };
  // Once the host has answered 101, as its API server does before it has dialled.
  greeting_ = error("Post https://gpu-1:10250/exec/host/web-x/c: dial tcp 10.0.0.1:10250: connect: connection refused");
  begin();
  const auto client = joined();
  const std::string told = error("Post https://" + node + ":10250/exec/default/web/c: dial tcp " + node +
                                 ":10250: connect: connection refused");
  EXPECT_TRUE(eventually([&] { return client->text().size() >= told.size(); }));
  EXPECT_EQ(client->text(), told);
  // And where it refuses at once, whatever form that has.
  refusal_ = 500;
  refusal_text_ = "error dialing backend: dial tcp 10.0.0.1:10250 (gpu-1)";
  const auto refused = ask();
  EXPECT_TRUE(eventually([&] { return refused->over.load(); }));
  EXPECT_EQ(refused->text(), "error dialing backend: dial tcp " + node + ":10250 (" + node + ")");
}

TEST_F(PodSessionsTest, AnotherPodOfTheNameIsNotEntered) {
  pod_ =
      R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"x"}}})";
  begin();
  const auto client = ask();
  EXPECT_TRUE(eventually([&] { return client->over.load(); }));
  EXPECT_EQ(client->code_, 404);
  EXPECT_EQ(sessions_, 0);
}

TEST_F(PodSessionsTest, NothingElseOfThePodIsReached) {
  begin();
  for (const char* subresource : {"eviction", "../../../../api/v1/secrets", "exec/../eviction", ""}) {
    const auto client = ask(subresource);
    EXPECT_TRUE(eventually([&] { return client->over.load(); }));
    EXPECT_EQ(client->code_, 404) << subresource;
  }
  EXPECT_EQ(sessions_, 0);
}

TEST_F(PodSessionsTest, WhenTheClientLeavesTheHostsSideEndsWithinASecond) {
  begin();
  const auto client = joined();
  client->connection()->write("hello");
  EXPECT_TRUE(eventually([&] { return client->text() == "HELLO"; }));
  const auto left = std::chrono::steady_clock::now();
  client->leave();
  EXPECT_TRUE(eventually([&] { return hosts_over_ == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - left, 5s);  // one second, on a machine that has time
}

TEST_F(PodSessionsTest, ARevokedRightEndsBothSides) {
  begin();
  const auto client = joined();
  std::shared_ptr<net::ResponseSink> sink;
  {
    const MutexLock lock(mutex_);
    sink = last_client_.lock();
  }
  ASSERT_TRUE(sink) << "whoever is to abort it must still find it";
  sink->abort();
  EXPECT_TRUE(eventually([&] { return client->over && hosts_over_ == 1; }));
}

TEST_F(PodSessionsTest, MoreThanAllowedAreRefusedUntilOneLeaves) {
  begin(2);
  const auto first = joined(), second = joined();
  const auto third = ask();
  EXPECT_TRUE(eventually([&] { return third->over.load(); }));
  EXPECT_EQ(third->code_, 429);
  first->leave();
  EXPECT_TRUE(eventually([&] { return hosts_over_ == 1; }));
  EXPECT_TRUE(eventually([&] {
    const auto again = ask();
    eventually([&] { return again->connected || again->over; });
    return again->code_ == 101;
  }));
}

TEST_F(PodSessionsTest, TheGatewaysEndEndsItsSessions) {
  begin();
  const auto client = joined();
  gateway_.reset();
  EXPECT_TRUE(eventually([&] { return client->over && hosts_over_ == 1; }));
}

constexpr const char* kHostPlace = "/api/v1/namespaces/host/pods/https:web-x:8443/proxy";

TEST_F(PodSessionsTest, ARequestToThePodsServerGoesToTheHostsProxyOfThatPod) {
  begin();
  proxy_answer_ = {207,
                   {{"Content-Type", "text/csv"}, {"Set-Cookie", "a=b"}, {"X-App", "1"}, {"Audit-Id", "the host's"}},
                   std::string("b\0dy", 4)};
  const std::string body("\0\xff not text", 11);
  const auto answer = fetch_of_pod("PATCH", "/a/b/?x=%2F&y", body,
                                   {{"Authorization", "Bearer tenants-token"},
                                    {"Impersonate-User", "admin"},
                                    {"X-Remote-User", "admin"},
                                    {"Content-Type", "app/x"},
                                    {"X-Mine", "2"}});
  EXPECT_EQ(answer.code, 207);
  EXPECT_EQ(answer.body, std::string("b\0dy", 4));
  EXPECT_EQ(answer.headers.get("Content-Type"), "text/csv");
  EXPECT_EQ(answer.headers.get("Set-Cookie"), "a=b");
  EXPECT_EQ(answer.headers.get("X-App"), "1");
  EXPECT_FALSE(answer.headers.has("Audit-Id"));
  EXPECT_EQ(asked().method, "PATCH");
  EXPECT_EQ(asked().target, std::string(kHostPlace) + "/a/b/?x=%2F&y");
  EXPECT_EQ(asked().body, body);
  EXPECT_EQ(asked().headers.get("Authorization"), "Bearer hosts-token");
  EXPECT_FALSE(asked().headers.has("Impersonate-User"));
  EXPECT_FALSE(asked().headers.has("X-Remote-User"));
  EXPECT_EQ(asked().headers.get("Content-Type"), "app/x");
  EXPECT_EQ(asked().headers.get("X-Mine"), "2");
}

// Head, body and end together: Go's reverse proxies (kubectl proxy) were seen to give up between a head and its body.
TEST_F(PodSessionsTest, AnAnswerThatComesAtOnceGoesOnAtOnce) {
  begin();
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) EXPECT_EQ(fetch_of_pod("PUT", "/", "x").body, "hello");
  EXPECT_LT(pieces_, kTimes + kTimes / 2);
  EXPECT_GE(pieces_, kTimes);
}

TEST_F(PodSessionsTest, LinksLeadToWhereTheClientHasThePod) {
  begin();
  const std::string ours = "/api/v1/namespaces/default/services/front/proxy";
  proxy_answer_ = {302, {{"Location", std::string(kHostPlace) + "/next?a=b"}}, ""};
  EXPECT_EQ(fetch_of_pod("GET", "/").headers.get("Location"), ours + "/next?a=b");
  proxy_answer_ = {302, {{"Location", "https://elsewhere" + std::string(kHostPlace)}}, ""};
  EXPECT_EQ(fetch_of_pod("GET", "/").headers.get("Location"), "https://elsewhere" + std::string(kHostPlace));
  proxy_answer_ = {
      200, {{"Content-Type", "text/html; charset=utf-8"}}, "<a href=\"" + std::string(kHostPlace) + "/x\">"};
  EXPECT_EQ(fetch_of_pod("GET", "/").body, "<a href=\"" + ours + "/x\">");
  proxy_answer_.headers.set("Content-Type", "text/plain");
  EXPECT_EQ(fetch_of_pod("GET", "/").body, "<a href=\"" + std::string(kHostPlace) + "/x\">") << "no page";
}

TEST_F(PodSessionsTest, NoPathSchemeOrPortLeadsBesideThePod) {
  begin();
  for (const char* path : {"/../../../secrets", "/%2e%2e/x", "/a b", "/a\r\nX: y", "relative", "//x"}) {
    proxy_path_ = path;
    EXPECT_EQ(fetch_of_pod("GET", "/").code, 400) << path;
  }
  proxy_path_.clear();
  for (const char* scheme : {"ftp", "https:other", "../x"}) {
    proxy_scheme_ = scheme;
    EXPECT_EQ(fetch_of_pod("GET", "/").code, 400) << scheme;
  }
  EXPECT_EQ(sessions_, 0);
}

TEST_F(PodSessionsTest, AnotherPodsServerIsNotAsked) {
  pod_ =
      R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"x"}}})";
  begin();
  const auto answer = fetch_of_pod("GET", "/");
  EXPECT_EQ(answer.code, 404);
  EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(sessions_, 0);
}

TEST_F(PodSessionsTest, TheServerOfAPodThatHasEndedIsNotAskedForItsAddressIsAnothers) {
  const std::string ours(kOwnHostPod);
  const auto ended = ours.substr(0, ours.size() - 1) + R"(,"status":{"phase":"Succeeded","podIP":"10.1.2.3"}})";
  pod_ = ended;
  begin();
  EXPECT_EQ(fetch_of_pod("GET", "/").code, 503);
  EXPECT_EQ(sessions_, 0);
  pod_ = kOwnHostPod;
  EXPECT_EQ(fetch_of_pod("GET", "/").code, 200);
}

TEST_F(PodSessionsTest, AnUpgradeToThePodsServerIsBytesToo) {
  begin();
  const auto client = ask("proxy");
  EXPECT_TRUE(eventually([&] { return client->connected || client->over; }));
  ASSERT_EQ(client->code_, 101) << client->text();
  EXPECT_EQ(client->cookie_, "the-hosts") << "it is the pod's";
  client->connection()->start(client);
  EXPECT_EQ(asked().target, std::string(kHostPlace) + "/session");
  EXPECT_EQ(asked().headers.get("Authorization"), "Bearer hosts-token");
  client->connection()->write("hello");
  EXPECT_TRUE(eventually([&] { return client->text() == "HELLO"; }));
  client->connection()->end();
  EXPECT_TRUE(eventually([&] { return client->over && hosts_over_ == 1; }));
}

}  // namespace
}  // namespace sublet::syncer
