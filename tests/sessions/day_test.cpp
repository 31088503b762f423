// A day of a log that is followed, a watch and an exec session, through all that lies between a client and a container:
// TLS, the tenant's API server, the tunnel, the gateway, TLS again, the host's API server and its kubelet. Every timer
// and every age in them goes by one clock, which the test moves: twenty-four hours take seconds. Meanwhile the client's
// token ends, the gateway's is renewed every hour, both servers show other certificates, and their histories are
// compacted. What is in the kernel (TCP's keepalive) stays in real time; an hour of that is tests/e2e/long_sessions.sh
// 3600.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/eventually_testing.h"
#include "net/loop/loop_clock.h"
#include "sublet/apiserver/server.h"
#include "sublet/apiserver/tunnel.h"
#include "sublet/base/mutex.h"
#include "sublet/base/sanitized.h"
#include "sublet/kube/account_token.h"
#include "sublet/net/duplex.h"
#include "sublet/net/http_client.h"
#include "sublet/net/http_server.h"
#include "sublet/net/tls_context.h"
#include "sublet/simhost/simhost.h"
#include "sublet/store/memory_log.h"
#include "sublet/syncer/host_gateway.h"
#include "sublet/syncer/translate.h"

namespace sublet {
namespace {

using namespace std::chrono_literals;
using schema::Document;
using testing_support::eventually;

constexpr std::chrono::hours kDay{kSanitized ? 2 : 24};
constexpr std::chrono::seconds kPiece{10};        // of time: shorter than whatever is given a limit here
constexpr std::chrono::minutes kBetweenLines{5};  // of the log
constexpr int kLines = static_cast<int>((kDay + 1h) / kBetweenLines);

const kube::Resource kPods{"", "v1", "pods"};
const kube::Resource kConfigMaps{"", "v1", "configmaps"};
const kube::Resource kAccounts{"", "v1", "serviceaccounts"};
const kube::Resource kNamespaces{"", "v1", "namespaces"};
const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles"};
const kube::Resource kBindings{"rbac.authorization.k8s.io", "v1", "rolebindings"};

Document parsed(const std::string& json) {
  auto document = Document::parse_json(json);
  EXPECT_TRUE(document) << json;
  return document ? std::move(*document) : Document::object();
}

/// An authority, and certificates of it for 127.0.0.1.
class Authority {
 public:
  std::shared_ptr<net::TlsContext> server() const {
    net::CertificateRequest request;
    request.common_name = "kube-apiserver";
    request.ip_addresses = {"127.0.0.1"};
    request.server_auth = true;
    const net::KeyPair own = net::make_certificate(request, &ca_).value();
    return net::TlsContext::server(
               {.certificate_pem = own.certificate_pem, .key_pem = own.key_pem, .client_ca_pem = ca_.certificate_pem})
        .value();
  }
  std::shared_ptr<net::TlsContext> client() const {
    net::TlsClientConfig config;
    config.ca_pem = ca_.certificate_pem;
    return net::TlsContext::client(config).value();
  }

 private:
  static net::KeyPair make() {
    net::CertificateRequest request;
    request.common_name = "authority";
    request.is_ca = true;
    return net::make_certificate(request, nullptr).value();
  }
  const net::KeyPair ca_ = make();
};

/// An API server at a port of 127.0.0.1. What is plugged into it is given before start().
class ApiServer {
 public:
  ApiServer(const char* name, ManualClock& clock) : clock_(clock), loop(name), tunnel(loop.loop(), clock) {
    store::StoreOptions kept;
    kept.clock = &clock;
    store_ = store::Store::open(store::make_memory_log(), kept).value();
    options.service_account_key_pem = net::make_key().value();
  }
  ~ApiServer() { stop(); }

  void start() {
    server_ = std::make_unique<apiserver::Server>(*store_, loop.loop(), options, clock_);
    ASSERT_TRUE(server_->start());
    http_ = std::make_unique<net::HttpServer>(loop.loop(), tunnel.wrap(server_->handler()));
    const auto address = http_->listen_tls("127.0.0.1:0", authority_.server());
    ASSERT_TRUE(address);
    port_ = std::stoi(address->substr(address->rfind(':') + 1));
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "administrator";
    administrator = std::make_unique<kube::Client>(net::make_in_process_transport(server_->handler(), identity));
  }
  void stop() {
    if (http_) http_->stop(0ms);
    administrator.reset();
    if (server_) server_->stop();
    store_->close();
  }
  Outcome listen_unix(const std::string& path) { return http_->listen_unix(path); }
  std::shared_ptr<net::Transport> connect(net::Loop& of_client) const {
    return net::make_http_client(of_client, {"127.0.0.1", port_, {}, authority_.client()});
  }
  void renew_certificate() { http_->use_tls(authority_.server()); }
  store::Revision compacted() const { return store_->stats().compacted; }
  void create(const kube::Resource& resource, const std::string& space, const std::string& json) {
    const auto made = administrator->create(resource, space, parsed(json).root());
    EXPECT_TRUE(made || made.error().is(Reason::already_exists)) << json << ": " << made.error().message;
  }
  /// An account that may do this with pods and what they have; and ask for tokens of its own.
  void create_account(const std::string& space, const std::string& name) {
    create(kAccounts, space, R"({"metadata":{"name":")" + name + "\"}}");
    create(kRoles, space, R"({"metadata":{"name":")" + name + R"("},"rules":[
        {"apiGroups":[""],"resources":["pods","pods/log","configmaps"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["pods/exec","serviceaccounts/token"],"verbs":["get","create"]}]})");
    create(kBindings, space,
           R"({"metadata":{"name":")" + name +
               R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":")" + name +
               R"("},"subjects":[{"kind":"ServiceAccount","name":")" + name + "\"}]}");
  }

 private:
  ManualClock& clock_;
  const Authority authority_;

 public:
  net::LoopThread loop;
  apiserver::ServerOptions options;
  apiserver::Tunnel tunnel;
  std::unique_ptr<kube::Client> administrator;

 private:
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<net::HttpServer> http_;
  int port_ = 0;
};

/// What a client hears of one request.
class Ear final : public net::UpgradeObserver, public net::Duplex::Observer {
 public:
  void on_head(int code, const net::Headers&) override { put("", code); }
  void on_body(std::string_view chunk) override { put(chunk); }
  void on_end(Outcome outcome) override {
    const MutexLock lock(mutex_);
    ended_ = outcome ? "ended" : outcome.error().message;
  }
  void on_upgrade(std::shared_ptr<net::Duplex> made) override {
    const MutexLock lock(mutex_);
    connection_ = std::move(made);
  }
  void on_bytes(std::string_view bytes) override { put(bytes); }
  void on_drain() override {}
  void on_end() override { on_end(Outcome()); }
  void on_over() override {}

  bool heard(const std::string& text) const {
    const MutexLock lock(mutex_);
    return text_.find(text) != std::string::npos;
  }
  /// How often, in this order: "a 1", "a 2" ...
  int counted(const std::string& before) const {
    const MutexLock lock(mutex_);
    int number = 0;
    for (std::size_t at = 0; (at = text_.find(before + std::to_string(number + 1) + "\n", at)) != std::string::npos;)
      ++number;
    return number;
  }
  std::size_t times(const std::string& part) const {
    const MutexLock lock(mutex_);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text_.find(part, at)) != std::string::npos; at += part.size()) ++count;
    return count;
  }
  std::string text() const {
    const MutexLock lock(mutex_);
    return std::to_string(code_) + " " + text_.substr(0, 500);
  }
  /// "": it goes on.
  std::string ended() const {
    const MutexLock lock(mutex_);
    return ended_;
  }
  std::shared_ptr<net::Duplex> connection() const {
    const MutexLock lock(mutex_);
    return connection_;
  }

 private:
  void put(std::string_view text, int code = 0) {
    const MutexLock lock(mutex_);
    text_ += text;
    if (code != 0) code_ = code;
  }
  mutable Mutex mutex_;
  int code_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::string text_ SUBLET_GUARDED_BY(mutex_), ended_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<net::Duplex> connection_ SUBLET_GUARDED_BY(mutex_);
};

/// A client's message of standard input; short.
std::string typed(const std::string& text) {
  const std::string payload = std::string(1, '\0') + text, unmasked(4, '\0');
  return std::string("\x82") + static_cast<char>(0x80 | payload.size()) + unmasked + payload;
}

class ADay : public testing::Test {
 protected:
  ADay() {
    char name[] = "/tmp/sublet-day-XXXXXX";
    folder_ = ::mkdtemp(name);
    start_host();
    start_tenant();
    start_gateway();
  }
  ~ADay() override {
    for (const auto& ear : ears_)
      if (const auto connection = ear->connection()) connection->close();
    exchanges_.clear();
    client_.reset();
    gateway_.reset();
    keeper_.reset();
    std::unique_ptr<simhost::SimHost> ending;
    host_.loop.loop().run_sync([&] { ending = std::move(nodes_); });
    ending.reset();
    tenant_.stop();
    host_.stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void start_host() {
    host_.options.border = simhost::SimHost::admission();
    host_.options.pod_logs = [this](const apiserver::PodLogRequest& asked, std::shared_ptr<net::ResponseSink> sink) {
      nodes_->pod_logs()(asked, std::move(sink));
    };
    host_.options.pod_connections = [this](const kube::PodConnectRequest& asked,
                                           std::shared_ptr<net::ResponseSink> sink) {
      nodes_->pod_connections()(asked, std::move(sink));
    };
    host_.start();
    simhost::SimHostOptions shape;
    shape.gpu_nodes = 0;
    shape.lease_renewal = 600s;  // a day has so many
    nodes_ = std::make_unique<simhost::SimHost>(nodes_loop_.loop(), *host_.administrator, shape, clock_);
    ASSERT_TRUE(nodes_->start());
    host_.create(kNamespaces, "", R"({"metadata":{"name":"team"}})");
    host_.create_account("team", "default");
    host_.create_account("team", "syncer");
  }
  void start_tenant() {
    tenant_.options.pod_logs = tenant_.tunnel.pod_logs();
    tenant_.options.pod_connections = tenant_.tunnel.pod_connections();
    tenant_.start();
    ASSERT_TRUE(tenant_.listen_unix(folder_ + "/tenant"));
    tenant_.create_account("default", "default");
    tenant_.create_account("default", "alice");
  }
  void start_gateway() {
    const auto host = host_.connect(syncer_loop_.loop());
    const auto token = kube::request_account_token(*host_.administrator, "team", "syncer", clock_);
    ASSERT_TRUE(token) << token.error().message;
    keeper_ = std::make_unique<kube::TokenKeeper>(host, *token, folder_ + "/token", "team", "syncer", clock_);
    syncer::HostGatewayOptions options;
    options.virtual_cluster_uid = "vc-uid";
    options.host_namespace = "team";
    options.host_name = [](const std::string& space, const std::string& pod) {
      return syncer::host_name(pod, space, "rag");
    };
    net::Endpoint socket;
    socket.unix_path = folder_ + "/tenant";
    gateway_ =
        std::make_unique<syncer::HostGateway>(syncer_loop_.loop(), net::make_http_client(syncer_loop_.loop(), socket),
                                              keeper_->authorize(host), std::move(options));
    gateway_->start();
  }

  /// The pod on both sides, as a syncer would have them.
  void run_pod() {
    const std::string spec = R"({"automountServiceAccountToken":false,"restartPolicy":"Never","containers":[{"name":"c",
        "image":"busybox","command":["sh","-c","i=0; while [ $i -lt )" +
                             std::to_string(kLines) + R"( ]; do i=$((i+1)); echo line $i; sleep )" +
                             std::to_string(std::chrono::seconds(kBetweenLines).count()) + R"(; done"]}]})";
    tenant_.create(kPods, "default", R"({"metadata":{"name":"web"},"spec":)" + spec + "}");
    const std::string uid = tenant_.administrator->get(kPods, "default", "web")->root()["metadata"]["uid"].string();
    const std::string name = syncer::host_name("web", "default", "rag");
    host_.create(kPods, "team",
                 R"({"metadata":{"name":")" + name + R"(","labels":{")" + std::string(syncer::kLabelTenantUid) +
                     R"(":"vc-uid"},"annotations":{")" + std::string(syncer::kAnnotationTenantUid) + R"(":")" + uid +
                     R"("}},"spec":)" + spec + "}");
    ASSERT_TRUE(eventually([&] {
      const auto pod = host_.administrator->get(kPods, "team", name);
      return pod && pod->root()["status"]["phase"].text() == "Running";
    }));
    ASSERT_TRUE(tenant_.administrator->create(
        kPods, "default", parsed(R"({"metadata":{"name":"web"},"target":{"kind":"Node","name":"node-1"}})").root(),
        "web", "binding"));
    ASSERT_TRUE(tenant_.administrator->patch(kPods, "default", "web", kube::PatchType::merge,
                                             R"({"status":{"phase":"Running"}})", "status"));
  }

  std::shared_ptr<Ear> ask(const std::string& target, net::Headers headers = {}) {
    headers.set("Authorization", "Bearer " + token_);
    ears_.push_back(std::make_shared<Ear>());
    exchanges_.push_back(client_->start({"GET", target, std::move(headers), {}, {}}, ears_.back(), 0ms));
    return ears_.back();
  }

  /// Time passes, and all that comes due in it happens.
  void pass(std::chrono::seconds time) {
    for (std::chrono::seconds passed{0}; passed < time; passed += kPiece) {
      clock_.advance(kPiece);
      for (int turn = 0; turn < 2; ++turn)
        for (net::LoopThread* loop : {&host_.loop, &nodes_loop_, &syncer_loop_, &tenant_.loop, &client_loop_})
          loop->loop().run_sync([] {});
    }
  }

  std::string folder_;
  ManualClock clock_{Clock::system().now()};
  const net::LoopClock by_it_{clock_};
  net::LoopThread nodes_loop_{"nodes"}, syncer_loop_{"syncer"}, client_loop_{"client"};
  ApiServer host_{"host", clock_}, tenant_{"tenant", clock_};
  std::unique_ptr<simhost::SimHost> nodes_;
  std::unique_ptr<kube::TokenKeeper> keeper_;
  std::unique_ptr<syncer::HostGateway> gateway_;
  std::shared_ptr<net::Transport> client_ = nullptr;
  std::string token_;
  std::vector<std::shared_ptr<Ear>> ears_;
  std::vector<std::unique_ptr<net::Exchange>> exchanges_;
};

TEST_F(ADay, OfALogAWatchAndASessionCutsNone) {
  run_pod();
  tenant_.create(kConfigMaps, "default", R"({"metadata":{"name":"clock"},"data":{"hour":"0"}})");
  token_ = kube::request_account_token(*tenant_.administrator, "default", "alice", clock_)->token;
  client_ = tenant_.connect(client_loop_.loop());

  const auto log = ask("/api/v1/namespaces/default/pods/web/log?follow=true");
  const auto watch =
      ask("/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=clock&allowWatchBookmarks=true"
          "&timeoutSeconds=" +
          std::to_string(std::chrono::seconds(kDay + 2h).count()));
  const auto session = ask("/api/v1/namespaces/default/pods/web/exec?command=sh&stdin=true&stdout=true",
                           {{"Connection", "Upgrade"},
                            {"Upgrade", "websocket"},
                            {"Sec-WebSocket-Version", "13"},
                            {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                            {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}});
  ASSERT_TRUE(eventually([&] { return session->connection() != nullptr || !session->ended().empty(); }));
  ASSERT_TRUE(session->connection()) << session->text();
  session->connection()->start(session);
  ASSERT_TRUE(eventually([&] { return log->heard("line 1\n") && watch->heard(R"("hour":"0")"); }))
      << log->text() << watch->text();

  const std::string first_token = keeper_->token().token;
  for (int hour = 1; hour <= kDay / 1h; ++hour) {
    for (int minutes = 0; minutes < 60; minutes += 5) {
      pass(5min);
      EXPECT_TRUE(keeper_->look());  // what its thread does, which goes by real time
    }
    const std::string now = std::to_string(hour);
    session->connection()->write(typed("echo hour " + now + "\n"));
    ASSERT_TRUE(tenant_.administrator->patch(kConfigMaps, "default", "clock", kube::PatchType::merge,
                                             R"({"data":{"hour":")" + now + "\"}}"));
    ASSERT_TRUE(eventually([&] { return session->heard("hour " + now + "\n") || !session->ended().empty(); }));
    ASSERT_TRUE(eventually([&] { return watch->heard(R"("hour":")" + now + "\"") || !watch->ended().empty(); }));
    ASSERT_EQ(session->ended(), "") << "the session, in hour " << hour;
    ASSERT_EQ(watch->ended(), "") << "the watch, in hour " << hour;
    ASSERT_EQ(log->ended(), "") << "the log, in hour " << hour;
    if (hour % 2 == 0) {
      host_.renew_certificate();
      tenant_.renew_certificate();
    }
  }
  // They end with the container, and by then everybody was told everything once.
  pass(1h + 1min);
  ASSERT_TRUE(eventually([&] { return !log->ended().empty(); }));
  EXPECT_EQ(log->ended(), "ended");
  EXPECT_EQ(log->counted("line "), kLines);
  EXPECT_EQ(log->times("line "), static_cast<std::size_t>(kLines));
  EXPECT_EQ(session->times("hour "), static_cast<std::size_t>(kDay / 1h));
  EXPECT_EQ(watch->times(R"("type":"MODIFIED")"), static_cast<std::size_t>(kDay / 1h));
  EXPECT_GT(watch->times(R"("type":"BOOKMARK")"), 50u) << "a minute each";

  // What was to happen meanwhile did.
  EXPECT_NE(keeper_->token().token, first_token);
  EXPECT_GT(tenant_.compacted(), 1);
  EXPECT_GT(host_.compacted(), 1);
  const auto later = ask("/api/v1/namespaces/default/pods/web");
  ASSERT_TRUE(eventually([&] { return !later->ended().empty(); }));
  EXPECT_EQ(later->text().substr(0, 4), "401 ") << "the client's token has long ended";
  std::printf("%d hours, %d lines of the log\n", static_cast<int>(kDay / 1h), log->counted("line "));
}

}  // namespace
}  // namespace sublet
