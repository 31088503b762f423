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
