// The guarded way out: which addresses it takes, and what it makes of peers that are slow, large or somebody else.
#include "sublet/net/outbound.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "sublet/net/http_server.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

sockaddr_storage address_of(const std::string& text) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
    v4.sin_family = AF_INET;
  else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1)
    v6.sin6_family = AF_INET6;
  return storage;
}

std::string refusal(const AddressRules& rules, const std::string& text) {
  const sockaddr_storage storage = address_of(text);
  return std::string(rules.refusal(reinterpret_cast<const sockaddr&>(storage)));
}

TEST(AddressRules, RefuseWhatIsNoHostOutThere) {
  const AddressRules rules;
  EXPECT_THAT(refusal(rules, "127.0.0.1"), HasSubstr("loopback"));
  EXPECT_THAT(refusal(rules, "127.8.9.10"), HasSubstr("loopback"));
  EXPECT_THAT(refusal(rules, "::1"), HasSubstr("loopback"));
  EXPECT_THAT(refusal(rules, "::ffff:127.0.0.1"), HasSubstr("loopback"));
  EXPECT_THAT(refusal(rules, "169.254.169.254"), HasSubstr("metadata"));
  EXPECT_THAT(refusal(rules, "::ffff:169.254.169.254"), HasSubstr("metadata"));
  EXPECT_THAT(refusal(rules, "64:ff9b::a9fe:a9fe"), HasSubstr("disguise"));
  EXPECT_THAT(refusal(rules, "::169.254.169.254"), HasSubstr("disguise"));
  EXPECT_THAT(refusal(rules, "169.254.1.1"), HasSubstr("link-local"));
  EXPECT_THAT(refusal(rules, "fe80::1"), HasSubstr("link-local"));
  EXPECT_THAT(refusal(rules, "fd00:ec2::254"), HasSubstr("metadata"));
  EXPECT_THAT(refusal(rules, "100.100.100.200"), HasSubstr("metadata"));
  EXPECT_THAT(refusal(rules, "0.0.0.0"), HasSubstr("no address of a host"));
  EXPECT_THAT(refusal(rules, "::"), HasSubstr("no address of a host"));
  EXPECT_THAT(refusal(rules, "239.1.1.1"), HasSubstr("multicast"));
  EXPECT_THAT(refusal(rules, "ff02::1"), HasSubstr("multicast"));
  EXPECT_THAT(refusal(rules, "255.255.255.255"), HasSubstr("no address of a host"));
  EXPECT_THAT(refusal(rules, "nonsense"), HasSubstr("no Internet address"));
  EXPECT_THAT(refusal(rules, "203.0.113.7"), IsEmpty());
  EXPECT_THAT(refusal(rules, "2001:db8::7"), IsEmpty());
}

TEST(AddressRules, WhoStartsTheProcessAllowsAndDenies) {
  AddressRules rules;
  rules.allow(AddressRange::parse("127.0.0.0/8").value());
  rules.deny(AddressRange::parse("127.0.0.53").value());
  rules.deny(AddressRange::parse("203.0.112.0/22").value());
  EXPECT_THAT(refusal(rules, "127.0.0.1"), IsEmpty());
  EXPECT_THAT(refusal(rules, "127.0.0.53"), HasSubstr("--outbound-deny"));
  EXPECT_THAT(refusal(rules, "203.0.115.255"), HasSubstr("--outbound-deny"));
  EXPECT_THAT(refusal(rules, "203.0.116.0"), IsEmpty());
  for (const char* text : {"", "x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::1/129", "10.0.0.0/8x"})
    EXPECT_FALSE(AddressRange::parse(text)) << text;
}

/// An HTTPS server that answers by path.
class Peer {
 public:
  Peer() : loop_("peer") {
    CertificateRequest ca;
    ca.common_name = "ca";
    ca.is_ca = true;
    ca_ = make_certificate(ca, nullptr).value();
    CertificateRequest leaf;
    leaf.common_name = "peer";
    leaf.dns_names = {"peer.test.svc"};
    leaf.server_auth = true;
    const KeyPair pair = make_certificate(leaf, &ca_).value();
    server_ = std::make_unique<HttpServer>(loop_.loop(), [this](Request request, std::shared_ptr<ResponseSink> sink) {
      answer(request, std::move(sink));
    });
    TlsServerConfig tls;
    tls.certificate_pem = pair.certificate_pem;
    tls.key_pem = pair.key_pem;
    const std::string bound = server_->listen_tls("127.0.0.1:0", TlsContext::server(tls).value()).value();
    port_ = std::stoi(bound.substr(bound.rfind(':') + 1));
  }
  ~Peer() { server_->stop(std::chrono::milliseconds(0)); }

  OutboundPeer peer() const { return {"127.0.0.1", port_, "peer.test.svc", ca_.certificate_pem}; }
  std::size_t connections() const { return server_->connections(); }

 private:
  void answer(const Request& request, std::shared_ptr<ResponseSink> sink) {
    if (request.target == "/large") return sink->respond(200, {}, std::string(100'000, 'x'));
    if (request.target == "/hangs") return held_.push_back(std::move(sink));
    if (request.target == "/away") return sink->respond(302, {{"Location", "/elsewhere"}}, "");
    sink->respond(200, {}, "said " + request.body);
  }
  LoopThread loop_;
  KeyPair ca_;
  std::vector<std::shared_ptr<ResponseSink>> held_;  // the loop's thread
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

AddressRules allowing_this_machine() {
  AddressRules rules;
  rules.allow(AddressRange::parse("127.0.0.0/8").value());
  return rules;
}

class Outbound : public testing::Test {
 protected:
  Result<Response> ask(OutboundClient& client, const OutboundPeer& peer, const std::string& path,
                       std::chrono::milliseconds timeout = std::chrono::seconds(30), std::size_t bytes = 50'000) {
    OutboundRequest request;
    request.request.method = "POST";
    request.request.target = path;
    request.request.body = "hello";
    request.timeout = timeout;
    request.answer_bytes_max = bytes;
    std::promise<Result<Response>> promise;
    const auto call = client.call(peer, std::move(request),
                                  [&promise](Result<Response> response) { promise.set_value(std::move(response)); });
    return promise.get_future().get();
  }
  Peer peer_;
  LoopThread loop_{"outbound"};
};

TEST_F(Outbound, TalksAndKeepsTheConnection) {
  OutboundClient client(loop_.loop(), allowing_this_machine());
  for (int i = 0; i < 3; ++i) {
    const auto response = ask(client, peer_.peer(), "/");
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "said hello");
  }
  EXPECT_EQ(peer_.connections(), 1u);
}

TEST_F(Outbound, DoesNotConnectToWhatIsRefused) {
  OutboundClient client(loop_.loop(), AddressRules());
  const auto response = ask(client, peer_.peer(), "/");
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message, HasSubstr("127.0.0.1 is a loopback address"));
  OutboundPeer named = peer_.peer();
  named.host = "localhost";  // a name is looked at when it is resolved
  const auto by_name = ask(client, named, "/");
  ASSERT_FALSE(by_name);
  EXPECT_THAT(by_name.error().message, HasSubstr("is a loopback address"));
  EXPECT_EQ(peer_.connections(), 0u);
}

TEST_F(Outbound, VerifiesWhoAnswers) {
  OutboundClient client(loop_.loop(), allowing_this_machine());
  OutboundPeer other_name = peer_.peer();
  other_name.server_name = "other.test.svc";
  EXPECT_FALSE(ask(client, other_name, "/"));
  OutboundPeer other_ca = peer_.peer();
  CertificateRequest request;
  request.common_name = "x";
  request.is_ca = true;
  other_ca.ca_pem = make_certificate(request, nullptr)->certificate_pem;
  EXPECT_FALSE(ask(client, other_ca, "/"));
  OutboundPeer no_ca = peer_.peer();
  no_ca.ca_pem = "nonsense";
  EXPECT_FALSE(ask(client, no_ca, "/"));
}

TEST_F(Outbound, HasLimits) {
  OutboundClient client(loop_.loop(), allowing_this_machine());
  const auto large = ask(client, peer_.peer(), "/large");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().reason, Reason::request_entity_too_large);
  const auto late = ask(client, peer_.peer(), "/hangs", std::chrono::milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, Reason::timeout);
  const auto away = ask(client, peer_.peer(), "/away");  // not followed
  ASSERT_TRUE(away);
  EXPECT_EQ(away->code, 302);
}

TEST_F(Outbound, AHangingPeerIsNobodyElsesConcern) {
  OutboundClient client(loop_.loop(), allowing_this_machine());
  std::vector<OutboundClient::Call> held;
  for (int i = 0; i < 20; ++i) {
    OutboundRequest request;
    request.request.method = "POST";
    request.request.target = "/hangs";
    held.push_back(client.call(peer_.peer(), std::move(request), [](const Result<Response>&) {}));
  }
  EXPECT_TRUE(ask(client, peer_.peer(), "/"));
}

}  // namespace
}  // namespace sublet::net
