#include "sublet/syncer/host_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "base/eventually_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/body_source.h"
#include "sublet/net/http_server.h"
#include "sublet/net/tls_context.h"
#include "sublet/schema/document.h"
#include "syncer/gateway/host_pod_testing.h"

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

std::string job(const std::string& id, const std::string& query = "") {
  return R"({"id":")" + id + R"(","namespace":"default","pod":"web","uid":"pod-uid","query":")" + query + "\"}";
}

/// The tenant's end of the tunnel: jobs that the test gives, and pieces that are taken when it says so.
class TunnelEnd {
 public:
  net::Handler handler() {
    return [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) { serve(request, std::move(sink)); };
  }
  void give(std::string job) {
    std::shared_ptr<net::ResponseSink> poll;
    {
      const MutexLock lock(mutex_);
      if (parked_)
        poll = std::exchange(parked_, nullptr);
      else
        jobs_.push_back(job);
    }
    if (poll) poll->respond(200, {}, std::move(job));
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
  void forget() {
    const MutexLock lock(mutex_);
    body_ = end_ = code_ = "";
    parked_ = nullptr;  // of a gateway that is no more
  }
  int pieces() {
    const MutexLock lock(mutex_);
    return pieces_;
  }
  std::string end() {
    const MutexLock lock(mutex_);
    return end_;
  }
  std::string code() {
    const MutexLock lock(mutex_);
    return code_;
  }
  std::size_t longest() {
    const MutexLock lock(mutex_);
    return longest_;
  }

 private:
  void serve(const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
    const MutexLock lock(mutex_);
    if (request.method == "GET") {
      if (jobs_.empty()) {
        parked_ = std::move(sink);
        return;
      }
      sink->respond(200, {}, std::move(jobs_.front()));
      jobs_.pop_front();
      return;
    }
    ++pieces_;
    body_ += request.body;
    longest_ = std::max(longest_, request.body.size());
    for (const auto& [key, value] : net::parse_query(request.query())) {
      if (key == "end") end_ = value;
      if (key == "code") code_ = value;
    }
    if (takes_) return sink->respond(200, {}, "");
    held_ = std::move(sink);
  }

  Mutex mutex_;
  bool takes_ SUBLET_GUARDED_BY(mutex_) = false;
  std::deque<std::string> jobs_ SUBLET_GUARDED_BY(mutex_);
  std::shared_ptr<net::ResponseSink> parked_ SUBLET_GUARDED_BY(mutex_), held_ SUBLET_GUARDED_BY(mutex_);
  std::string body_ SUBLET_GUARDED_BY(mutex_), end_ SUBLET_GUARDED_BY(mutex_), code_ SUBLET_GUARDED_BY(mutex_);
  std::size_t longest_ SUBLET_GUARDED_BY(mutex_) = 0;
  int pieces_ SUBLET_GUARDED_BY(mutex_) = 0;
};

/// The host: one pod of that metadata, whose log says nothing and goes on, unless `log` answers for it.
class HostEnd {
 public:
  explicit HostEnd(std::string_view pod) : pod_(pod) {}
  net::Handler handler() {
    return [this](const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
      if (!request.path().ends_with("/log")) return sink->respond(200, {}, pod_);
      if (log) return log(std::move(sink));
      const MutexLock lock(mutex_);
      targets_.push_back(request.target);
      sink->on_close([this] { ++closed; });
      sink->start(200, {{"Content-Type", "text/plain"}});
      streams_.push_back(std::move(sink));
    };
  }
  std::vector<std::string> targets() {
    const MutexLock lock(mutex_);
    return targets_;
  }

  std::function<void(std::shared_ptr<net::ResponseSink>)> log;
  std::atomic<int> closed{0};

 private:
  const std::string pod_;
  Mutex mutex_;
  std::vector<std::string> targets_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<net::ResponseSink>> streams_ SUBLET_GUARDED_BY(mutex_);
};

class HostGatewayTest : public testing::Test {
 protected:
  void begin(std::size_t streams_max = kGatewayStreamsMax) {
    HostGatewayOptions options;
    options.virtual_cluster_uid = "vc-uid";
    options.host_namespace = "host";
    options.host_name = [](const std::string&, const std::string& pod) { return pod + "-x"; };
    options.streams_max = streams_max;
    options.call_rules = rules_;
    gateway_ = std::make_unique<HostGateway>(
        loop_.loop(), net::make_in_process_transport(tunnel_.handler(), {}, &loop_.loop()),
        net::make_in_process_transport(host_->handler(), {}, &loop_.loop()), std::move(options));
    gateway_->start();
  }

  net::AddressRules rules_;
  TunnelEnd tunnel_;
  std::unique_ptr<HostEnd> host_ = std::make_unique<HostEnd>(kOwnHostPod);
  net::LoopThread loop_{"gateway"};
  std::unique_ptr<HostGateway> gateway_;
};

// user-pain, demand 20: a log is whole, however slowly somebody reads it.
TEST_F(HostGatewayTest, ASlowReaderHoldsTheHostBackAndLosesNothing) {
  constexpr int kLines = 1'000'000;  // more than 24 MB
  std::atomic<std::size_t> given{0};
  host_->log = [&](std::shared_ptr<net::ResponseSink> sink) {
    net::answer_in_steps(std::move(sink), 200, {{"Content-Type", "text/plain"}}, std::make_unique<Lines>(kLines, given),
                         [](const Status&) {});
  };
  begin();
  tunnel_.give(job("1"));
  ASSERT_TRUE(eventually([&] { return tunnel_.pieces() > 0; }));
  std::size_t before = 0;
  for (int still = 0; still < 100; ++still) {  // the reader takes nothing: the host comes to rest
    if (std::exchange(before, given.load()) != given) still = 0;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(given, 4'000'000u);
  tunnel_.take_all();
  ASSERT_TRUE(eventually([&] { return !tunnel_.end().empty(); }));
  EXPECT_EQ(tunnel_.end(), "1");
  std::string expected;
  for (int i = 0; i < kLines; ++i) expected += Lines::line(i);
  EXPECT_TRUE(tunnel_.body() == expected) << tunnel_.body().size() << " of " << expected.size();
  EXPECT_LT(tunnel_.longest(), 1'000'000u);
  gateway_.reset();
}

TEST_F(HostGatewayTest, OnlyTheOptionsOfALogCross) {
  begin();
  tunnel_.give(job("1", "follow=true&insecureSkipTLSVerifyBackend=true&container=a%2Fb&x=y&tailLines=3"));
  ASSERT_TRUE(eventually([&] { return !host_->targets().empty(); }));
  EXPECT_EQ(host_->targets().at(0), "/api/v1/namespaces/host/pods/web-x/log?follow=true&container=a%2Fb&tailLines=3");
  // The container that was judged, and not none or another: those are the host's, whose names are nobody's business.
  tunnel_.give(job("2", "container=&container=a&container=injected&tailLines=3&tailLines=9"));
  ASSERT_TRUE(eventually([&] { return host_->targets().size() == 2; }));
  EXPECT_EQ(host_->targets().at(1), "/api/v1/namespaces/host/pods/web-x/log?container=a&tailLines=3");
}

TEST_F(HostGatewayTest, AForeignPodOfTheNameIsNotRead) {
  for (
      const std::string_view foreign :
      {R"({"metadata":{"name":"web-x"}})",
       R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"other"},"annotations":{"sublet.dev/tenant-uid":"pod-uid"}}})",
       R"({"metadata":{"labels":{"sublet.dev/virtual-cluster-uid":"vc-uid"},"annotations":{"sublet.dev/tenant-uid":"earlier"}}})"}) {
    TunnelEnd tunnel;
    tunnel.take_all();
    HostEnd host(foreign);
    HostGatewayOptions options{"vc-uid", "host", "",
                               [](const std::string&, const std::string& pod) { return pod + "-x"; }};
    HostGateway gateway(loop_.loop(), net::make_in_process_transport(tunnel.handler(), {}, &loop_.loop()),
                        net::make_in_process_transport(host.handler(), {}, &loop_.loop()), std::move(options));
    gateway.start();
    tunnel.give(job("1"));
    ASSERT_TRUE(eventually([&] { return !tunnel.end().empty(); }));
    EXPECT_EQ(tunnel.code(), "404") << foreign;
    EXPECT_NE(tunnel.body().find("another object has its name"), std::string::npos) << tunnel.body();
    EXPECT_TRUE(host.targets().empty()) << foreign;
  }
}

TEST_F(HostGatewayTest, OfWhatCanBeNoNameTheHostIsAskedNothing) {
  for (const std::string name : {"a/../b", "a/log", "a%2fb", "a?b", "a b", "A"}) {
    TunnelEnd tunnel;
    tunnel.take_all();
    HostEnd host(R"({"metadata":{}})");
    HostGatewayOptions options{"vc-uid", "host", "",
                               [](const std::string& space, const std::string& pod) { return pod + "-x-" + space; }};
    HostGateway gateway(loop_.loop(), net::make_in_process_transport(tunnel.handler(), {}, &loop_.loop()),
                        net::make_in_process_transport(host.handler(), {}, &loop_.loop()), std::move(options));
    gateway.start();
    tunnel.give(R"({"id":"1","namespace":")" + name + R"(","pod":"web","uid":"pod-uid","query":""})");
    ASSERT_TRUE(eventually([&] { return !tunnel.end().empty(); }));
    EXPECT_EQ(tunnel.code(), "400") << name;
    EXPECT_NE(tunnel.body().find("no pod can have this name"), std::string::npos) << tunnel.body();
    EXPECT_TRUE(host.targets().empty()) << name;
  }
}

TEST_F(HostGatewayTest, WhatTheHostRefusesNamesNeitherItsAccountsNorItsNamespace) {
  tunnel_.take_all();
  host_->log = [](std::shared_ptr<net::ResponseSink> sink) {
    sink->respond(
        403, {{"Content-Type", "application/json"}},
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"web-x\" is forbidden: User )"
        R"(\"system:serviceaccount:host:sublet-syncer-rag\" cannot get resource \"pods/log\" in API group \"\" in the )"
        R"(namespace \"host\"","reason":"Forbidden","details":{"name":"web-x","kind":"pods"},"code":403})");
  };
  begin();
  tunnel_.give(job("1"));
  ASSERT_TRUE(eventually([&] { return !tunnel_.end().empty(); }));
  EXPECT_EQ(tunnel_.code(), "403");
  EXPECT_EQ(tunnel_.body(),
            R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"web\" is forbidden: User )"
            R"(\"(not yours)\" cannot get resource \"pods/log\" in API group \"\" in the )"
            R"(namespace \"default\"","reason":"Forbidden","details":{"name":"web","kind":"pods"},"code":403})");
}

TEST_F(HostGatewayTest, ALogThatNobodyReadsAnyMoreEndsThoughItSaysNothing) {
  tunnel_.take_all();
  begin();
  tunnel_.give(job("1"));
  tunnel_.give(job("2"));
  ASSERT_TRUE(eventually([&] { return host_->targets().size() == 2; }));
  EXPECT_EQ(host_->closed, 0);
  tunnel_.give(R"({"closed":["1","7"]})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 1; }));
  tunnel_.give(R"({"closed":["2"]})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 2; }));
}

TEST_F(HostGatewayTest, MoreLogsThanAllowedAreRefusedUntilOneEnds) {
  tunnel_.take_all();
  begin(2);
  tunnel_.give(job("1"));
  tunnel_.give(job("2"));
  ASSERT_TRUE(eventually([&] { return host_->targets().size() == 2; }));
  tunnel_.give(job("3"));
  ASSERT_TRUE(eventually([&] { return tunnel_.code() == "429"; }));
  EXPECT_EQ(host_->targets().size(), 2u);
  tunnel_.give(R"({"closed":["2"]})");
  ASSERT_TRUE(eventually([&] { return host_->closed == 1; }));
  tunnel_.give(job("4"));
  EXPECT_TRUE(eventually([&] { return host_->targets().size() == 3; }));
}

TEST_F(HostGatewayTest, MetricsAreAskedOfTheHostAndSaidOfWhomTheTenantHas) {
  tunnel_.take_all();
  host_ = std::make_unique<HostEnd>(
      R"({"items":[{"metadata":{"name":"web-x","namespace":"host"},"containers":[]},{"metadata":{"name":"other","namespace":"host"}}]})");
  HostGatewayOptions options;
  options.host_namespace = "host";
  options.measured_pod = [](const std::string& pod) -> std::optional<MeasuredPod> {
    if (pod != "web-x") return std::nullopt;
    return MeasuredPod{"default", "web", schema::Document::object(), {}};
  };
  options.measured_node = [](const std::string&) { return std::nullopt; };
  HostGateway gateway(loop_.loop(), net::make_in_process_transport(tunnel_.handler(), {}, &loop_.loop()),
                      net::make_in_process_transport(host_->handler(), {}, &loop_.loop()), std::move(options));
  gateway.start();
  tunnel_.give(R"({"id":"1","metrics":{"about":"pods"}})");
  ASSERT_TRUE(eventually([&] { return !tunnel_.end().empty(); }));
  EXPECT_EQ(tunnel_.code(), "200");
  EXPECT_EQ(tunnel_.body(),
            R"({"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[)"
            R"({"metadata":{"name":"web","namespace":"default","creationTimestamp":""},"containers":[]}]})");
}

/// A pod that answers HTTPS, at this machine's loopback address.
class PodEnd {
 public:
  PodEnd() : loop_("pod") {
    net::CertificateRequest ca;
    ca.common_name = "ca";
    ca.is_ca = true;
    const net::KeyPair authority = net::make_certificate(ca, nullptr).value();
    ca_pem_ = authority.certificate_pem;
    net::CertificateRequest leaf;
    leaf.dns_names = {"hook.default.svc"};
    leaf.server_auth = true;
    const net::KeyPair pair = net::make_certificate(leaf, &authority).value();
    net::TlsServerConfig tls;
    tls.certificate_pem = pair.certificate_pem;
    tls.key_pem = pair.key_pem;
    server_ = std::make_unique<net::HttpServer>(
        loop_.loop(), [](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
          sink->respond(
              201, {{"Content-Type", "text/plain"}},
              request.method + " " + request.target + " " + std::string(request.headers.get("x")) + " " + request.body);
        });
    const auto bound = server_->listen_tls("127.0.0.1:0", net::TlsContext::server(tls).value()).value();
    port_ = bound.substr(bound.rfind(':') + 1);
  }
  ~PodEnd() { server_->stop(std::chrono::milliseconds(0)); }
  std::string job() const {
    auto document = schema::Document::parse_json(
        R"({"id":"1","namespace":"default","pod":"web","uid":"pod-uid","query":"","call":{"serverName":"hook.default.svc",)"
        R"("method":"POST","target":"/x?y=z","headers":[{"name":"x","value":"header"}],"body":"aGVsbG8=","timeout":30000}})");
    document->root()["call"].put("port", std::stoi(port_));
    document->root()["call"].put("ca", ca_pem_);
    return document->to_json();
  }

 private:
  net::LoopThread loop_;
  std::string ca_pem_, port_;
  std::unique_ptr<net::HttpServer> server_;
};

/// A host with an OpenAPI v3 of its own kinds and of somebody's.
class OpenApiTest : public HostGatewayTest {
 protected:
  std::string answer_to(const std::string& path) {
    TunnelEnd tunnel;
    tunnel.take_all();
    const auto host = [this](const net::Request& request, std::shared_ptr<net::ResponseSink> sink) {
      const MutexLock lock(mutex_);
      asked_.push_back(request.target);
      if (request.target == "/openapi/v3")
        return sink->respond(
            200, {},
            R"({"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=ab%2Bc"},"apis/secret.corp/v1":)"
            R"({"serverRelativeURL":"/openapi/v3/apis/secret.corp/v1?hash=x"},"apis/apps/v1":{"serverRelativeURL":"/x"}}})");
      if (request.target == "/openapi/v3/api/v1") return sink->respond(200, {}, R"({"components":{}})");
      sink->respond(403, {}, "forbidden");
    };
    HostGatewayOptions options{"vc-uid", "host", "", [](const std::string&, const std::string& pod) { return pod; }};
    HostGateway gateway(loop_.loop(), net::make_in_process_transport(tunnel.handler(), {}, &loop_.loop()),
                        net::make_in_process_transport(host, {}, &loop_.loop()), std::move(options));
    gateway.start();
    tunnel.give(R"({"id":"1","openapi":")" + path + "\"}");
    EXPECT_TRUE(eventually([&] { return !tunnel.end().empty(); }));
    return tunnel.code() + " " + tunnel.body();
  }
  std::vector<std::string> asked() {
    const MutexLock lock(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> asked_ SUBLET_GUARDED_BY(mutex_);
};

TEST_F(OpenApiTest, WhatIsKubernetesOwnIsPassedOn) {
  EXPECT_EQ(answer_to(""), R"(200 {"api/v1":"ab+c"})") << "not the name of another group";
  EXPECT_EQ(asked(), std::vector<std::string>{"/openapi/v3"});
  EXPECT_EQ(answer_to("api/v1"), R"(200 {"components":{}})");
  EXPECT_EQ(asked(), std::vector<std::string>{"/openapi/v3/api/v1"});
  EXPECT_EQ(answer_to("apis/apps/v1"), "403 forbidden");
  asked();
}

TEST_F(OpenApiTest, NothingElseIsAskedFor) {
  for (const char* path : {"apis/secret.corp/v1", "api/v1/../../../api/v1/secrets", "api/v1?x", "api/v2", "api/", "/",
                           "apis/apps/v1beta1", "v2", "apis//v1"})
    EXPECT_TRUE(answer_to(path).starts_with("404 ")) << path;
  EXPECT_TRUE(asked().empty());
}

class PodCallTest : public HostGatewayTest {
 protected:
  /// What comes back of a call to a pod that the host shows so.
  void call(const std::string& spec_and_status, bool allowed = true) {
    const std::string ours(kOwnHostPod);
    host_ = std::make_unique<HostEnd>(ours.substr(0, ours.size() - 1) + spec_and_status + "}");
    if (allowed) rules_.allow(net::AddressRange::parse("127.0.0.0/8").value());
    tunnel_.take_all();
    begin();
    tunnel_.give(pod_.job());
    ASSERT_TRUE(eventually([&] { return !tunnel_.end().empty(); }));
    gateway_.reset();
  }
  const PodEnd pod_;
};

TEST_F(PodCallTest, APodIsCalledAtTheAddressThatTheHostSays) {
  call(R"(,"status":{"podIP":"127.0.0.1"})");
  EXPECT_EQ(tunnel_.code(), "201");
  EXPECT_EQ(tunnel_.body(), "POST /x?y=z header hello");
}

TEST_F(PodCallTest, NothingOnTheNodesNetworkIsCalled) {
  call(R"(,"spec":{"hostNetwork":true},"status":{"podIP":"127.0.0.1"})");
  EXPECT_EQ(tunnel_.code(), "502");
  EXPECT_EQ(tunnel_.body(), "pod web is on the network of its node, where nothing of a virtual cluster is called");
}

TEST_F(PodCallTest, WhatHasTheAddressOfAPodThatHasEndedIsNotCalled) {
  for (const std::string phase : {"Succeeded", "Failed"}) {
    call(R"(,"status":{"podIP":"127.0.0.1","phase":")" + phase + "\"}");
    EXPECT_EQ(tunnel_.code(), "502");
    EXPECT_EQ(tunnel_.body(), "pod web has ended, and its address may be another's by now");
    tunnel_.forget();
  }
  call(R"(,"status":{"podIP":"127.0.0.1","phase":"Running"})");
  EXPECT_EQ(tunnel_.code(), "201");
}

TEST_F(PodCallTest, AddressesHaveRules) {
  call(R"(,"status":{"podIP":"127.0.0.1"})", false);
  EXPECT_EQ(tunnel_.code(), "502");
  EXPECT_NE(tunnel_.body().find("127.0.0.1 is a loopback address"), std::string::npos) << tunnel_.body();
}

TEST_F(PodCallTest, APodWithoutAnAddressIsNotCalled) {
  call(R"(,"status":{})");
  EXPECT_EQ(tunnel_.body(), "pod web has no address yet");
}

}  // namespace
}  // namespace sublet::syncer
