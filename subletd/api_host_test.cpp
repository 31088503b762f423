// An API server as a process has it: what open() makes, what it refuses, and that everything is there the next time.
#include "subletd/api_host.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>

#include "base/eventually_testing.h"
#include "sublet/cluster/certificates.h"
#include "sublet/kube/client.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_client.h"
#include "sublet/schema/document.h"
#include "sublet/syncer/border_facts.h"

namespace sublet::subletd {
namespace {

using schema::Document;
using testing::HasSubstr;

class ApiHostTest : public testing::Test {
 protected:
  ApiHostTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sublet-host-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    config_.data_dir = folder_ + "/data";
    config_.listen = "127.0.0.1:0";
    config_.admin_kubeconfig = folder_ + "/admin.kubeconfig";
  }
  ~ApiHostTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ApiHost> open() {
    auto host = ApiHost::open(config_);
    EXPECT_TRUE(host) << host.error().message;
    return host ? std::move(*host) : nullptr;
  }
  std::string refusal() {
    const auto host = ApiHost::open(config_);
    return host ? "opened" : host.error().message;
  }
  static int code(const ApiHost& host, const std::string& method, const std::string& path,
                  const std::string& body = {}) {
    const kube::Client client(host.in_process_transport("system:admin"), {.user_agent = "test"});
    const auto answer = client.raw(method, path, body);
    EXPECT_TRUE(answer);
    return answer ? answer->code : 0;
  }
  static std::string config_map(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("}})";
  }

  std::string folder_;
  ApiHostConfig config_;
};

const std::string kConfigMaps = "/api/v1/namespaces/default/configmaps";

TEST_F(ApiHostTest, ServesOverTlsWithTheKubeconfigThatItWrites) {
  const auto host = open();
  ASSERT_TRUE(host);
  struct stat status {};
  ASSERT_EQ(::stat(config_.admin_kubeconfig.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(config_.data_dir.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  const auto access = kube::load_kubeconfig(config_.admin_kubeconfig);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://" + host->address());
  net::LoopThread loop("client");
  const auto transport = kube::connect(loop.loop(), *access);
  ASSERT_TRUE(transport) << transport.error().message;
  const auto answer = kube::Client(*transport, {}).raw("GET", "/readyz");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->code, 200);
}

TEST_F(ApiHostTest, PodsHaveAnAddressOfTheirOwnToIt) {
  config_.pod_listen = "127.0.0.2";
  config_.advertise_address = "192.0.2.7";
  config_.service_address = "10.96.3.4";
  config_.dns_kubeconfig = config_.data_dir + "/dns/dns.kubeconfig";
  config_.unix_socket = folder_ + "/api.sock";
  config_.server.component_rights.push_back(
      {kDnsUser, R"([{"apiGroups":[""],"resources":["services"],"verbs":["list","watch"]}])"});
  const auto host = open();
  ASSERT_TRUE(host);
  const auto get = [&](const std::string& path) {
    const kube::Client client(host->in_process_transport("system:admin"), {.user_agent = "test"});
    return client.raw("GET", path)->body;
  };
  const auto services = "/api/v1/namespaces/default/services/kubernetes";
  EXPECT_THAT(get(services), HasSubstr(R"("clusterIP":"10.96.3.4")"));
  EXPECT_THAT(get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"), HasSubstr("192.0.2.7"));

  // By the second address, under each of the names; and the DNS server's user may read what it needs, and no more.
  auto access = kube::load_kubeconfig(config_.dns_kubeconfig);
  ASSERT_TRUE(access) << access.error().message;
  const std::string port = host->address().substr(host->address().rfind(':'));
  net::LoopThread loop("client");
  for (const char* name : {"10.96.3.4", "192.0.2.7", "127.0.0.2", "kubernetes.default.svc"}) {
    access->server = "https://127.0.0.2" + port;
    access->tls_server_name = name;
    const auto transport = kube::connect(loop.loop(), *access);
    ASSERT_TRUE(transport) << transport.error().message;
    const kube::Client client(*transport, {});
    const auto listed = client.raw("GET", "/api/v1/services");
    ASSERT_TRUE(listed) << name << ": " << listed.error().message;
    EXPECT_EQ(listed->code, 200);
    EXPECT_EQ(client.raw("GET", "/api/v1/secrets")->code, 403);
    EXPECT_EQ(client.raw("DELETE", services)->code, 403);
  }

  // The DNS server's certificate is made anew while this runs; one that nobody touched stays.
  net::Endpoint endpoint;
  endpoint.unix_path = config_.unix_socket;
  const kube::Client socket(net::make_http_client(loop.loop(), endpoint), {});
  const auto shown = [&] { return kube::load_kubeconfig(config_.dns_kubeconfig)->client_certificate_pem; };
  const std::string first = shown();
  EXPECT_EQ(socket.raw("POST", std::string(cluster::kRereadCertificates))->code, 200);
  EXPECT_EQ(shown(), first);
  ASSERT_TRUE(cluster::forget_certificates(config_.data_dir));
  EXPECT_EQ(socket.raw("POST", std::string(cluster::kRereadCertificates))->code, 200);
  EXPECT_NE(shown(), first);
}

TEST_F(ApiHostTest, WithoutServicesOnTheHostItGivesNoAddressesBesideItsOwn) {
  config_.service_address = "10.96.3.4";
  const auto host = open();
  ASSERT_TRUE(host);
  const kube::Client client(host->in_process_transport("system:admin"), {.user_agent = "test"});
  const auto made = [&](const std::string& name, const std::string& more) {
    const std::string body = R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":80}])" + more + "}}";
    return client.raw("POST", "/api/v1/namespaces/default/services", body, "application/json");
  };
  const auto refused = made("web", "");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, 422);
  EXPECT_THAT(refused->body, HasSubstr("spec.clusterIP: Required value: no Service of this virtual cluster crosses"));
  EXPECT_EQ(made("headless", R"(,"clusterIP":"None")")->code, 201);
  EXPECT_EQ(made("named", R"(,"type":"ExternalName","externalName":"a.example")")->code, 201);
}

TEST_F(ApiHostTest, TheServiceKubernetesFollowsItsAddress) {
  const auto address = [](const ApiHost& host) {
    const kube::Client client(host.in_process_transport("system:admin"), {.user_agent = "test"});
    const auto service = client.get({"", "v1", "services"}, "default", "kubernetes");
    return service ? service->root()["spec"]["clusterIP"].string() : service.error().message;
  };
  for (const char* wanted : {"10.96.0.1", "10.43.3.4", "10.43.7.7"}) {
    const auto host = open();
    ASSERT_TRUE(host);
    EXPECT_TRUE(testing_support::eventually([&] { return address(*host) == wanted; })) << address(*host);
    config_.service_address = config_.service_address.empty() ? "10.43.3.4" : "10.43.7.7";
  }
}

TEST_F(ApiHostTest, HasTheNextTimeWhatItHad) {
  std::string ca;
  {
    const auto host = open();
    ASSERT_TRUE(host);
    ca = host->pki().ca.certificate_pem;
    EXPECT_EQ(code(*host, "POST", kConfigMaps, config_map("kept")), 201);
    host->stop();
    host->stop();
  }
  const auto host = open();
  ASSERT_TRUE(host);
  EXPECT_EQ(host->pki().ca.certificate_pem, ca);
  EXPECT_EQ(code(*host, "GET", kConfigMaps + "/kept"), 200);
}

// Who has a copy of the administrator's kubeconfig: one connection with a watch on it, others anew each time.
class Administrator {
 public:
  explicit Administrator(const std::string& kubeconfig) : access_(kube::load_kubeconfig(kubeconfig).value()) {
    transport_ = kube::connect(loop_.loop(), access_).value();
  }
  int code(bool anew) {
    const auto transport = anew ? kube::connect(loop_.loop(), access_).value() : transport_;
    const auto answer = kube::Client(transport, {}).raw("GET", kConfigMaps);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? answer->code : 0;
  }
  void watch() {
    watching_ = kube::Client(transport_, {}).watch({"", "v1", "configmaps"}, "default", {}, watch_);
    EXPECT_TRUE(testing_support::eventually([&] { return watch_->events > 0; }));
  }
  bool is_cut_off() {
    return testing_support::eventually([&] { return watch_->ended.load(); });
  }
  const kube::ClusterAccess& access() const { return access_; }

 private:
  struct Watch final : kube::WatchObserver {
    void on_event(kube::WatchEventType, std::string_view) override { ++events; }
    void on_end(Outcome) override { ended = true; }
    std::atomic<int> events{0};
    std::atomic<bool> ended{false};
  };
  const kube::ClusterAccess access_;
  net::LoopThread loop_{"administrator"};
  std::shared_ptr<net::Transport> transport_;
  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  std::unique_ptr<net::Exchange> watching_;
};

TEST_F(ApiHostTest, WhatIsTakenAwayIsMadeAnewAndTheOldIsRefusedWithoutARestart) {
  config_.unix_socket = folder_ + "/api.sock";
  const auto host = open();
  ASSERT_TRUE(host);
  EXPECT_EQ(code(*host, "POST", kConfigMaps, config_map("seen")), 201);
  Administrator before(config_.admin_kubeconfig);
  EXPECT_EQ(before.code(true), 200);
  before.watch();
  const std::string shown = host->pki().server.certificate_pem;

  // Nothing has changed: nobody is bothered.
  net::LoopThread loop("socket");
  const kube::Client socket(net::make_http_client(loop.loop(), {{}, 0, config_.unix_socket, nullptr}), {});
  const std::string reread(cluster::kRereadCertificates);
  EXPECT_EQ(socket.raw("POST", reread)->code, 200);
  EXPECT_EQ(before.code(false), 200);
  EXPECT_EQ(host->pki().server.certificate_pem, shown);

  ASSERT_TRUE(cluster::forget_certificates(config_.data_dir));
  EXPECT_EQ(socket.raw("POST", reread)->code, 200);
  EXPECT_NE(host->pki().server.certificate_pem, shown);
  Administrator after(config_.admin_kubeconfig);
  EXPECT_EQ(after.code(true), 200);
  EXPECT_TRUE(before.is_cut_off());
  EXPECT_EQ(before.code(false), 401);
  EXPECT_EQ(before.code(true), 401);
  EXPECT_NE(before.access().client_certificate_pem, after.access().client_certificate_pem);

  // Only the socket's peers may ask for it; for others it is a path that is not there.
  const auto remote = kube::Client(kube::connect(loop.loop(), after.access()).value(), {}).raw("POST", reread);
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote->code, 404);
}

TEST_F(ApiHostTest, AnAdministratorThatTheAuthoritySignedElsewhereIsRefused) {
  const auto host = open();
  ASSERT_TRUE(host);
  auto access = kube::load_kubeconfig(config_.admin_kubeconfig).value();
  net::LoopThread loop("client");
  const auto code_as = [&](const std::string& group) {
    net::CertificateRequest request;
    request.common_name = "mallory";
    request.organizations = {group};
    request.client_auth = true;
    const auto ca = host->pki().ca;
    const auto made = net::make_certificate(request, &ca).value();
    access.client_certificate_pem = made.certificate_pem;
    access.client_key_pem = made.key_pem;
    const auto answer = kube::Client(kube::connect(loop.loop(), access).value(), {}).raw("GET", kConfigMaps);
    return answer ? answer->code : 0;
  };
  EXPECT_EQ(code_as("system:masters"), 401);
  EXPECT_EQ(code_as("team"), 403) << "known, without rights";
}

TEST_F(ApiHostTest, OneFolderHasOneServer) {
  const auto host = open();
  ASSERT_TRUE(host);
  EXPECT_THAT(refusal(), HasSubstr("is locked by another process"));
  EXPECT_EQ(code(*host, "GET", "/readyz"), 200);
}

TEST_F(ApiHostTest, FlagsThatMakeNoSenseAreNamed) {
  const ApiHostConfig good = config_;
  const auto with = [&](auto member, auto value) {
    config_ = good;
    config_.*member = value;
    return refusal();
  };
  EXPECT_THAT(with(&ApiHostConfig::data_dir, ""), HasSubstr("--data is required"));
  for (const char* address : {"nowhere", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:-1"})
    EXPECT_THAT(with(&ApiHostConfig::listen, address), HasSubstr(std::string("--listen ") + address));
  for (const int objects : {-1, 60, 199})
    EXPECT_THAT(with(&ApiHostConfig::quota_objects, objects), HasSubstr("--quota-objects " + std::to_string(objects)));
  for (const char* bytes : {"", "lots", "-1", "1.5"})
    EXPECT_THAT(with(&ApiHostConfig::quota_bytes, bytes), HasSubstr(std::string("--quota-bytes ") + bytes));
}

TEST_F(ApiHostTest, TheQuotaIsTheStores) {
  config_.quota_objects = 200;
  const auto host = open();
  ASSERT_TRUE(host);
  int made = 0, last = 201;
  while (last == 201 && made < 250) last = code(*host, "POST", kConfigMaps, config_map("c" + std::to_string(made++)));
  EXPECT_EQ(last, 403);
  EXPECT_EQ(host->store().usage().objects, 200u);
  EXPECT_EQ(host->store().usage().quota.bytes, std::size_t{2} << 30) << "the default";
}

// --- what a template says of it (cluster/keys_test.cpp has the other keys) -------------------------------------------

class OfATemplate : public ApiHostTest {
 protected:
  void open_with(const std::string& text) {
    const auto loaded = patches::Template::load(text, "t.yaml", syncer::border_facts());
    ASSERT_TRUE(loaded) << loaded.error().message;
    take_template(config_, loaded->resolve({}, "rag", "team").value()->config());
    host_ = open();
    ASSERT_TRUE(host_);
  }
  /// Connections that say nothing.
  void connect(const char* from, int count) {
    const std::string& to = host_->address();
    sockaddr_in peer{}, own{};
    peer.sin_family = own.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1))));
    ::inet_pton(AF_INET, "127.0.0.1", &peer.sin_addr);
    ::inet_pton(AF_INET, from, &own.sin_addr);
    for (int i = 0; i < count; ++i) {
      strangers_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int fd = strangers_.back().get();
      ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
      ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer), 0);
    }
  }
  /// Nothing is ever said to them: what there is to read is the end.
  int turned_away() const {
    int count = 0;
    for (const Descriptor& stranger : strangers_) {
      pollfd one{stranger.get(), POLLIN, 0};
      count += ::poll(&one, 1, 0);
    }
    return count;
  }
  bool comes_to(int count) const {
    return testing_support::eventually([&] { return turned_away() >= count; }) && turned_away() == count;
  }
  /// Whether a stranger whose request has so long a line is answered at all.
  bool answers(std::size_t bytes) const {
    auto access = kube::load_kubeconfig(config_.admin_kubeconfig).value();
    access.client_certificate_pem = access.client_key_pem = "";
    net::LoopThread loop("client");
    const kube::Client client(kube::connect(loop.loop(), access).value(), {});
    return client.raw("GET", "/version?" + std::string(bytes, 'a')).has_value();
  }

  std::unique_ptr<ApiHost> host_;
  std::vector<Descriptor> strangers_;
};

TEST_F(OfATemplate, StrangersHaveTheConnectionsThatItSays) {
  open_with("unauthenticated: {connections: 3}");
  connect("127.0.0.1", 3);
  connect("127.0.0.2", 2);
  EXPECT_TRUE(comes_to(2)) << turned_away() << " of 5 by unauthenticated.connections";
}

TEST_F(OfATemplate, AnAddressHasTheConnectionsThatItSays) {
  open_with("unauthenticated: {connectionsPerAddress: 3}");
  connect("127.0.0.1", 5);
  EXPECT_TRUE(comes_to(2)) << turned_away() << " of 5 by unauthenticated.connectionsPerAddress";
  connect("127.0.0.2", 5);
  EXPECT_TRUE(comes_to(4)) << turned_away() << " of 10: another address has as many of its own";
}

TEST_F(OfATemplate, StrangersHaveTheBytesThatItSays) {
  open_with("unauthenticated: {kib: 16}");
  EXPECT_TRUE(answers(1'000));
  EXPECT_FALSE(answers(30'000)) << "more is kept than by unauthenticated.kib";
}

TEST_F(OfATemplate, ThatSaysNothingStrangersHaveMore) {
  open_with("{}");
  connect("127.0.0.1", 20);
  EXPECT_TRUE(answers(30'000));
  EXPECT_EQ(turned_away(), 0);
}

TEST_F(OfATemplate, WithoutControllersNobodyRunsWorkloads) {
  const std::string apps = "/apis/apps/v1/namespaces/default/",
                    kubernetes = "/api/v1/namespaces/default/services/kubernetes";
  const auto replica_sets = [&] {
    const kube::Client client(host_->in_process_transport("system:admin"), {.user_agent = "test"});
    return Document::parse_json(client.raw("GET", apps + "replicasets")->body)->root()["items"].size();
  };
  open_with("controllers: none");
  const auto made = code(*host_, "POST", apps + "deployments",
                         R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":)"
                         R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
                         R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made, 201);
  EXPECT_EQ(code(*host_, "DELETE", kubernetes), 200);
  EXPECT_TRUE(testing_support::eventually([&] { return code(*host_, "GET", kubernetes) == 200; }))
      << "that one is the API server's own";
  EXPECT_EQ(replica_sets(), 0u);
  host_.reset();
  open_with("controllers: builtin");
  EXPECT_TRUE(testing_support::eventually([&] { return replica_sets() == 1; }));
}

}  // namespace
}  // namespace sublet::subletd
