#include "sublet/dns/name_server.h"

#include <gmock/gmock.h>
#include <poll.h>

#include "base/eventually_testing.h"
#include "dns/endpoint.h"
#include "dns/wire.h"
#include "sublet/apiserver/server.h"
#include "sublet/net/loop.h"
#include "sublet/store/memory_log.h"

namespace sublet::dns {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::eventually;

constexpr int kPatienceMs = 60'000;
constexpr int kManyPods = 200;
const kube::Resource kNamespaces{"", "v1", "namespaces"}, kServices{"", "v1", "services"},
    kSlices{"discovery.k8s.io", "v1", "endpointslices"};

std::string question(const std::string& name, Type type = Type::a, bool edns = false, std::uint16_t id = 7) {
  Query query;
  query.edns = edns;
  query.question.type = type;
  return write_query(query, id, name);
}

Code code_of(const std::string& answer) {
  return answer.size() < kHeaderBytes ? Code::bad_version : static_cast<Code>(answer[3] & 0xf);
}
bool is_cut(const std::string& answer) { return answer.size() > 2 && (answer[2] & 2) != 0; }

std::vector<std::string> addresses(const std::string& answer) {
  std::vector<std::string> all;
  const auto read = read_addresses(bytes_of(answer));
  if (!read) return {"unreadable"};
  for (const auto& record : read->answers)
    all.push_back(record.type == Type::cname ? record.target : record.address.text());
  return all;
}

/// A client of its own source address, so that limits of one do not touch another.
class Asker {
 public:
  explicit Asker(const std::string& server, const std::string& from = "127.0.0.1") : server_(*Endpoint::parse(server)) {
    from_ = *Endpoint::parse(from + ":0");
    udp_ = connected(SOCK_DGRAM);
  }
  void send(const std::string& message) { ::send(udp_.get(), message.data(), message.size(), 0); }
  std::string receive(int patience_ms = kPatienceMs) {
    pollfd ready{udp_.get(), POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) != 1) return {};
    std::string text(kTcpBytesMax, '\0');
    const auto size = ::recv(udp_.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  std::string ask(const std::string& message) {
    send(message);
    return receive();
  }
  std::string ask_by_tcp(const std::string& message) {
    const Descriptor stream = connected(SOCK_STREAM);
    const std::string framed = framed_of(message);
    // In two parts: a length may come alone.
    ::send(stream.get(), framed.data(), 1, MSG_NOSIGNAL);
    ::send(stream.get(), framed.data() + 1, framed.size() - 1, MSG_NOSIGNAL);
    std::string in;
    while (in.size() < 2 || in.size() < 2u + length_of(in)) {
      char buffer[4096];
      const auto size = ::recv(stream.get(), buffer, sizeof buffer, 0);
      if (size <= 0) return {};
      in.append(buffer, static_cast<std::size_t>(size));
    }
    return in.substr(2, length_of(in));
  }
  Descriptor connected(int type) {
    Descriptor fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    sockaddr_storage storage{};
    socklen_t size = from_.fill(storage);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size), 0);
    size = server_.fill(storage);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), size), 0);
    return fd;
  }
  static std::string framed_of(const std::string& message) {
    return std::string{static_cast<char>(message.size() >> 8), static_cast<char>(message.size() & 0xff)} + message;
  }

 private:
  static std::size_t length_of(const std::string& in) {
    return static_cast<std::size_t>(static_cast<unsigned char>(in[0])) << 8 | static_cast<unsigned char>(in[1]);
  }
  Endpoint server_, from_;
  Descriptor udp_;
};

/// A tenant's API server with names in it, and one name server of its own.
class Tenant {
 public:
  Tenant() : loop_("tenant"), store_(*store::Store::open(store::make_memory_log())) {
    apiserver::ServerOptions options;
    options.bootstrap_rights = false;
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), options);
    EXPECT_TRUE(server_->start());
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "tester";
    transport_ = net::make_in_process_transport(server_->handler(), identity);
    make(kNamespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  }
  ~Tenant() {
    name_server_.reset();
    server_->stop();
    store_->close();
  }
  kube::Client client() const { return kube::Client(transport_); }
  void make(const kube::Resource& resource, const std::string& where, const std::string& json) {
    const auto made = client().create(resource, where, schema::Document::parse_json(json)->root());
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
  }
  void make_service(const std::string& name, const std::string& spec) {
    make(kServices, "team",
         R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name + R"("},"spec":)" + spec + "}");
  }
  void make_slice(const std::string& service, int pods) {
    std::string endpoints;
    for (int i = 0; i < pods; ++i)
      endpoints += (i ? "," : "") + std::string(R"({"addresses":["10.1.0.)") + std::to_string(i) +
                   R"("],"hostname":"p-)" + std::to_string(i) + R"("})";
    make(kSlices, "team",
         R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4","metadata":{"name":")" +
             service + R"(","labels":{"kubernetes.io/service-name":")" + service + R"("}},"ports":[{"port":1}],)" +
             R"("endpoints":[)" + endpoints + "]}");
  }
  std::string serve(NameServerOptions options) {
    name_server_ = std::make_unique<NameServer>(dns_loop_.loop(), client(), std::move(options));
    const auto address = name_server_->listen("127.0.0.1:0");
    EXPECT_TRUE(address) << (address ? "" : address.error().message);
    name_server_->start();
    EXPECT_TRUE(name_server_->wait_ready(std::chrono::milliseconds(kPatienceMs)));
    return *address;
  }
  NameServer& name_server() { return *name_server_; }

 private:
  net::LoopThread loop_, dns_loop_{"dns"};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::shared_ptr<net::Transport> transport_;
  std::unique_ptr<NameServer> name_server_;
};

TEST(NameServer, AnswersWhatTheTenantHasAsItChanges) {
  Tenant tenant;
  tenant.make_service("db", R"({"clusterIP":"None","ports":[{"port":1}]})");
  const std::string address = tenant.serve({});
  Asker asker(address);
  EXPECT_THAT(addresses(asker.ask(question("db.team.svc.cluster.local"))), IsEmpty());
  tenant.make_slice("db", 1);
  EXPECT_TRUE(eventually([&] {
    return addresses(asker.ask(question("p-0.db.team.svc.cluster.local"))) == std::vector<std::string>{"10.1.0.0"};
  }));
  EXPECT_THAT(addresses(asker.ask_by_tcp(question("db.team.svc.cluster.local"))), ElementsAre("10.1.0.0"));
  ASSERT_TRUE(tenant.client().remove(kServices, "team", "db"));
  EXPECT_TRUE(
      eventually([&] { return code_of(asker.ask(question("db.team.svc.cluster.local"))) == Code::no_such_name; }));
}

TEST(NameServer, SaysThatItDoesNotKnowYet) {
  net::LoopThread loop("dns");
  const auto nobody = [](net::Request, std::shared_ptr<net::ResponseSink> sink) { sink->respond(503, {}, ""); };
  NameServer server(loop.loop(), kube::Client(net::make_in_process_transport(nobody, {})), {});
  const auto address = server.listen("127.0.0.1:0");
  ASSERT_TRUE(address);
  server.start();
  EXPECT_EQ(code_of(Asker(*address).ask(question("kubernetes.default.svc.cluster.local"))), Code::server_failure);
}

TEST(NameServer, WhatIsTooLongForUdpComesByTcp) {
  Tenant tenant;
  tenant.make_service("db", R"({"clusterIP":"None","ports":[{"port":1}]})");
  tenant.make_slice("db", kManyPods);
  Asker asker(tenant.serve({}));
  const std::string name = "db.team.svc.cluster.local";
  const std::string plain = asker.ask(question(name));
  EXPECT_TRUE(is_cut(plain));
  EXPECT_LE(plain.size(), kPlainUdpBytes);
  const std::string with_edns = asker.ask(question(name, Type::a, true));
  EXPECT_TRUE(is_cut(with_edns));
  EXPECT_GT(with_edns.size(), kPlainUdpBytes);
  EXPECT_THAT(addresses(asker.ask_by_tcp(question(name))), SizeIs(kManyPods));
  // Another one comes first each time.
  EXPECT_NE(addresses(asker.ask(question(name))), addresses(asker.ask(question(name))));
}

class Forwarding : public testing::Test {
 protected:
  // The host's resolver: a name server of another domain.
  std::string start(NameServerOptions options = {}) {
    host_.make_service("api", R"({"clusterIP":"None","ports":[{"port":1}]})");
    host_.make_slice("api", kManyPods);
    host_.make_service("alias", R"({"type":"ExternalName","externalName":"p-1.api.team.svc.example.com"})");
    NameServerOptions of_host;
    of_host.domain = "example.com";
    upstream_ = host_.serve(of_host);
    tenant_.make_service("far", R"({"type":"ExternalName","externalName":"alias.team.svc.example.com"})");
    tenant_.make_service("many", R"({"type":"ExternalName","externalName":"api.team.svc.example.com"})");
    options.upstreams = {"127.0.0.1:1", upstream_};  // the first refuses
    return tenant_.serve(options);
  }
  Tenant host_, tenant_;
  std::string upstream_;
};

TEST_F(Forwarding, AsksTheHostForWhatIsNotItsOwn) {
  const std::string address = start();
  Asker asker(address);
  const std::string answer = asker.ask(question("p-7.api.team.svc.example.com", Type::a, false, 0x1234));
  EXPECT_THAT(addresses(answer), ElementsAre("10.1.0.7"));
  EXPECT_EQ(answer.substr(0, 2), "\x12\x34");
  EXPECT_EQ(code_of(asker.ask(question("x.example.com"))), Code::no_such_name);
  EXPECT_THAT(addresses(asker.ask_by_tcp(question("api.team.svc.example.com"))), SizeIs(kManyPods));
  EXPECT_TRUE(is_cut(asker.ask(question("api.team.svc.example.com"))));
  std::string not_wanted = question("p-7.api.team.svc.example.com");
  not_wanted[2] = 0;
  EXPECT_EQ(code_of(asker.ask(not_wanted)), Code::refused);
}

TEST_F(Forwarding, FollowsExternalNames) {
  Asker asker(start());
  EXPECT_THAT(addresses(asker.ask(question("far.team.svc.cluster.local"))),
              ElementsAre("alias.team.svc.example.com", "p-1.api.team.svc.example.com", "10.1.0.1"));
  // The host's answer is cut, the tenant's is whole.
  EXPECT_THAT(addresses(asker.ask_by_tcp(question("many.team.svc.cluster.local"))), SizeIs(kManyPods + 1));
  EXPECT_TRUE(is_cut(asker.ask(question("many.team.svc.cluster.local"))));
}

TEST_F(Forwarding, WhatIsTheHostsIsNotThere) {
  NameServerOptions options;
  options.hidden = {"example.com"};
  Asker asker(start(options));
  EXPECT_EQ(code_of(asker.ask(question("p-7.api.team.svc.example.com"))), Code::no_such_name);
  const std::string alias = asker.ask(question("far.team.svc.cluster.local"));
  EXPECT_EQ(code_of(alias), Code::no_such_name);
  EXPECT_THAT(addresses(alias), ElementsAre("alias.team.svc.example.com"));
  for (const char* reverse : {"1.0.1.10.in-addr.arpa", "1.10.in-addr.arpa", "5.4.20.172.in-addr.arpa",
                              "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa"})
    EXPECT_EQ(code_of(asker.ask(question(reverse, Type::ptr))), Code::no_such_name) << reverse;
  EXPECT_EQ(tenant_.name_server().stats().forwarded, 0u);
}

// user-pain, demand 22: the names of all are served from one place, and no tenant pays for another's flood.
TEST_F(Forwarding, AFloodOfOneClientHurtsNoOther) {
  NameServerOptions options;
  options.limits.client_queries_per_second = 50;
  options.limits.client_forwards_per_second = 5;
  const std::string address = start(options);
  Asker loud(address, "127.0.0.2"), quiet(address, "127.0.0.3");
  for (int i = 0; i < 1000; ++i) loud.send(question("kubernetes.default.svc.cluster.local"));
  EXPECT_TRUE(eventually([&] { return tenant_.name_server().stats().dropped >= 500; }));
  EXPECT_EQ(code_of(quiet.ask(question("a.cluster.local"))), Code::no_such_name);
  int refused = 0;
  for (int i = 0; i < 20; ++i)
    refused += code_of(quiet.ask(question("p-7.api.team.svc.example.com"))) == Code::refused ? 1 : 0;
  EXPECT_GT(refused, 0) << "the host's resolver is asked less";
  EXPECT_THAT(addresses(Asker(address, "127.0.0.4").ask(question("p-7.api.team.svc.example.com"))),
              ElementsAre("10.1.0.7"));
}

TEST(NameServer, AFloodIsReadNoFasterThanItsRate) {
  Tenant tenant;
  NameServerOptions options;
  options.limits.queries_per_second = 100;
  const std::string address = tenant.serve(options);
  Asker asker(address);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 60; ++i) {
    asker.send(question("a.cluster.local"));
    EXPECT_FALSE(asker.receive().empty());
  }
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(400)) << "60 at 100/s, a burst of 10";
}

TEST(NameServer, ConnectionsAreBoundedAndWhatTheySayIsToo) {
  Tenant tenant;
  NameServerOptions options;
  options.limits.client_connections_max = 2;
  options.limits.idle_timeout = std::chrono::milliseconds(50);
  const std::string address = tenant.serve(options);
  Asker asker(address, "127.0.0.2"), other(address, "127.0.0.3");
  const Descriptor first = asker.connected(SOCK_STREAM), second = asker.connected(SOCK_STREAM);
  EXPECT_FALSE(other.ask_by_tcp(question("a.cluster.local")).empty());
  // Idle ones are closed and make room.
  EXPECT_TRUE(eventually([&] { return !asker.ask_by_tcp(question("a.cluster.local")).empty(); }));
  // Many at once on a connection, and then rubbish.
  const Descriptor stream = asker.connected(SOCK_STREAM);
  std::string out;
  for (std::uint16_t i = 0; i < 40; ++i) out += Asker::framed_of(question("a.cluster.local", Type::a, false, i));
  out += Asker::framed_of("rubbish");
  ASSERT_EQ(::send(stream.get(), out.data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
  std::size_t received = 0;
  char buffer[4096];
  for (;;) {
    const auto size = ::recv(stream.get(), buffer, sizeof buffer, 0);
    if (size <= 0) break;
    received += static_cast<std::size_t>(size);
  }
  EXPECT_GT(received, 40u * question("a.cluster.local").size());
}

TEST(NameServer, ListensWhereItCanAnswerFrom) {
  net::LoopThread loop("dns");
  const auto nobody = [](net::Request, std::shared_ptr<net::ResponseSink> sink) { sink->respond(503, {}, ""); };
  NameServer server(loop.loop(), kube::Client(net::make_in_process_transport(nobody, {})), {});
  for (const char* bad : {"0.0.0.0:0", "[::]:0", "localhost:53", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"})
    EXPECT_FALSE(server.listen(bad)) << bad;
}

TEST(ResolvConf, ServersAndTheHostsDomain) {
  const auto found = parse_resolv_conf(
      "# a comment\nsearch team.svc.host.example svc.host.example host.example corp.example\n"
      "nameserver 10.0.0.10\nnameserver fd00::a\noptions ndots:5\nnameserver\nnameserver 1.1.1.1\nnameserver "
      "9.9.9.9\n");
  EXPECT_THAT(found.servers, ElementsAre("10.0.0.10:53", "[fd00::a]:53", "1.1.1.1:53"));
  EXPECT_THAT(found.cluster_domains, ElementsAre("host.example"));
}

}  // namespace
}  // namespace sublet::dns
