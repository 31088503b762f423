#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_server.h"

namespace sublet::kube {
namespace {

/// Answers every request with what it was, as an object.
void echo(net::Request request, std::shared_ptr<net::ResponseSink> sink) {
  schema::Document out = schema::Document::object();
  out.root().put("target", request.target);
  out.root().put("authorization", request.headers.get("Authorization"));
  out.root().put("user", request.peer.common_name);
  sink->respond(200, {{"Content-Type", "application/json"}}, out.to_json());
}

net::KeyPair certificate(const std::string& name, const net::KeyPair* issuer) {
  net::CertificateRequest request;
  request.common_name = name;
  request.is_ca = issuer == nullptr;
  request.client_auth = request.server_auth = issuer != nullptr;
  if (issuer) request.ip_addresses = {"127.0.0.1"};
  return net::make_certificate(request, issuer).value();
}

class ConnectTest : public testing::Test {
 protected:
  ConnectTest() : loop_("connect-test") {}
  net::LoopThread loop_;
};

TEST_F(ConnectTest, SpeaksTlsWithAClientCertificateAndAPathPrefix) {
  const net::KeyPair ca = certificate("ca", nullptr), server = certificate("server", &ca),
                     user = certificate("jane", &ca);
  net::HttpServer http(loop_.loop(), echo);
  const auto tls = net::TlsContext::server({server.certificate_pem, server.key_pem, ca.certificate_pem, {"http/1.1"}});
  ASSERT_TRUE(tls);
  const auto address = http.listen_tls("127.0.0.1:0", *tls);
  ASSERT_TRUE(address) << address.error().message;

  ClusterAccess access;
  access.server = "https://" + *address + "/k8s/clusters/c-1/";
  access.ca_pem = ca.certificate_pem;
  access.client_certificate_pem = user.certificate_pem;
  access.client_key_pem = user.key_pem;
  const auto transport = connect(loop_.loop(), access);
  ASSERT_TRUE(transport) << transport.error().message;
  const Client client(*transport, {.bearer_token = "t"});
  const auto answer = client.get({"", "v1", "nodes"}, "", "n");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["target"].text(), "/k8s/clusters/c-1/api/v1/nodes/n");
  EXPECT_EQ((*answer)["user"].text(), "jane");
  EXPECT_EQ((*answer)["authorization"].text(), "Bearer t");

  access.ca_pem = certificate("other", nullptr).certificate_pem;
  const auto stranger = connect(loop_.loop(), access);
  ASSERT_TRUE(stranger);
  EXPECT_FALSE(Client(*stranger).get({"", "v1", "nodes"}, "", "n")) << "the server's certificate is not from this CA";
  http.stop(std::chrono::milliseconds(0));
}

// What may be wrong with a certificate of the right authority; the first is right.
struct Flaw {
  const char* name;
  std::chrono::hours made, lifetime;  // from now
  bool client, server;
};
constexpr std::chrono::hours kDay{24};
constexpr Flaw kFlaws[] = {{"none", std::chrono::hours(0), kDay, true, true},
                           {"expired", -3 * kDay, kDay, true, true},
                           {"not yet valid", 3 * kDay, kDay, true, true},
                           {"of no usage", std::chrono::hours(0), kDay, false, false}};

net::KeyPair flawed(const Flaw& flaw, const net::KeyPair& ca, bool for_client) {
  net::CertificateRequest request;
  request.common_name = "jane";
  request.ip_addresses = {"127.0.0.1"};
  // Of the wrong usage: the other side's.
  const bool right = flaw.client || flaw.server;
  request.client_auth = for_client == right;
  request.server_auth = for_client != right;
  request.lifetime = flaw.lifetime;
  return net::make_certificate(request, &ca, Clock::system().now() + flaw.made).value();
}

TEST_F(ConnectTest, ACertificateThatIsExpiredNotYetValidOrOfTheWrongUsageIsRefusedOnBothSides) {
  const net::KeyPair ca = certificate("ca", nullptr);
  for (const Flaw& of_server : kFlaws)
    for (const Flaw& of_client : kFlaws) {
      const net::KeyPair server = flawed(of_server, ca, false), user = flawed(of_client, ca, true);
      net::HttpServer http(loop_.loop(), echo);
      const auto tls =
          net::TlsContext::server({server.certificate_pem, server.key_pem, ca.certificate_pem, {"http/1.1"}});
      ASSERT_TRUE(tls);
      const auto address = http.listen_tls("127.0.0.1:0", *tls);
      ASSERT_TRUE(address) << address.error().message;
      ClusterAccess access;
      access.server = "https://" + *address;
      access.ca_pem = ca.certificate_pem;
      access.client_certificate_pem = user.certificate_pem;
      access.client_key_pem = user.key_pem;
      const auto transport = connect(loop_.loop(), access);
      ASSERT_TRUE(transport) << transport.error().message;
      const auto answer = Client(*transport).get({"", "v1", "nodes"}, "", "n");
      const bool flawless = &of_server == kFlaws && &of_client == kFlaws;
      EXPECT_EQ(answer.has_value(), flawless) << "server's " << of_server.name << ", client's " << of_client.name
                                              << (answer ? "" : ": " + answer.error().message);
      http.stop(std::chrono::milliseconds(0));
    }
}

TEST_F(ConnectTest, SpeaksThroughAUnixSocket) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("connect-" + std::to_string(::getpid()))).string();
  net::HttpServer http(loop_.loop(), echo);
  ASSERT_TRUE(http.listen_unix(path));
  ClusterAccess access;
  access.server = "unix://" + path;
  const auto answer = Client(connect(loop_.loop(), access).value()).get({"", "v1", "pods"}, "a", "b");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["target"].text(), "/api/v1/namespaces/a/pods/b");
  http.stop(std::chrono::milliseconds(0));
  std::filesystem::remove(path);
}

TEST_F(ConnectTest, RefusesWhatIsNoUrl) {
  for (const char* wrong : {"", "https://", "ftp://h", "https://h:0", "https://h:99999", "https://[::1", "unix://"}) {
    ClusterAccess access;
    access.server = wrong;
    EXPECT_FALSE(connect(loop_.loop(), access)) << wrong;
  }
}

}  // namespace
}  // namespace sublet::kube
