#include <cstdio>

#include "net/net_testing.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::net {
namespace {

TEST(Certificate, EndsWhenItsLifetimeDoes) {
  const auto now = WallTime(std::chrono::seconds(1'700'000'000));
  CertificateRequest request;
  request.common_name = "x";
  request.lifetime = std::chrono::hours(48);
  const auto made = make_certificate(request, nullptr, now);
  ASSERT_TRUE(made);
  EXPECT_EQ(certificate_not_after(made->certificate_pem), now + std::chrono::hours(48));
  EXPECT_EQ(certificate_not_after("no certificate"), std::nullopt);
}

TEST(Certificate, NamesThatWouldSmuggleAnEntryAreRefused) {
  CertificateRequest request;
  request.dns_names = {"good.example,IP:10.0.0.1"};
  EXPECT_FALSE(make_certificate(request, nullptr));
  request.dns_names = {""};
  EXPECT_FALSE(make_certificate(request, nullptr));
  request.dns_names = {};
  request.ip_addresses = {"not-an-address"};
  EXPECT_FALSE(make_certificate(request, nullptr));
}

TEST(Certificate, EveryOneHasItsOwnSerialAndKey) {
  CertificateRequest request;
  request.common_name = "x";
  const auto one = make_certificate(request, nullptr).value(), two = make_certificate(request, nullptr).value();
  EXPECT_NE(one.key_pem, two.key_pem);
  EXPECT_NE(one.certificate_pem, two.certificate_pem);
}

TEST(Certificate, KeysAreWrittenInSec1WhichJavaClientsRead) {
  CertificateRequest request;
  request.common_name = "x";
  for (const std::string& key : {make_certificate(request, nullptr).value().key_pem, make_key().value()}) {
    EXPECT_TRUE(key.starts_with("-----BEGIN EC PRIVATE KEY-----\n")) << key.substr(0, 40);
    EXPECT_TRUE(key.ends_with("-----END EC PRIVATE KEY-----\n"));
    EXPECT_NE(read_private_key(key), nullptr);
  }
}

TEST(Certificate, BadMaterialIsNamed) {
  const auto& all = TestCertificates::get();
  const auto bad_key =
      TlsContext::server({.certificate_pem = all.server.certificate_pem, .key_pem = "nonsense", .client_ca_pem = {}});
  ASSERT_FALSE(bad_key);
  EXPECT_NE(bad_key.error().message.find("private key"), std::string::npos) << bad_key.error().message;
  const auto mixed = TlsContext::server(
      {.certificate_pem = all.server.certificate_pem, .key_pem = all.client.key_pem, .client_ca_pem = {}});
  EXPECT_FALSE(mixed);
  EXPECT_FALSE(TlsContext::client({.ca_pem = "nonsense", .certificate_pem = {}, .key_pem = {}, .server_name = {}}));
  EXPECT_FALSE(TlsContext::server({.certificate_pem = "", .key_pem = "", .client_ca_pem = {}}));
}

TEST(Certificate, OpensslAcceptsChainPurposeAndNames) {
  TempFolder folder;
  const auto& all = TestCertificates::get();
  const auto save = [&](const std::string& name, const std::string& text) {
    const auto path = folder.file(name);
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
  };
  const auto ca = save("ca.pem", all.authority.certificate_pem);
  const auto server = save("server.pem", all.server.certificate_pem);
  const auto client = save("client.pem", all.client.certificate_pem);
  const auto verify = [&](const std::string& options, const std::string& leaf) {
    return std::system(("openssl verify -x509_strict " + options + " -CAfile " + ca + " " + leaf + " >/dev/null 2>&1")
                           .c_str()) == 0;
  };
  EXPECT_TRUE(verify("-purpose sslserver -verify_ip 127.0.0.1", server));
  EXPECT_TRUE(verify("-purpose sslserver -verify_hostname kubernetes.default.svc", server));
  EXPECT_FALSE(verify("-purpose sslserver -verify_hostname elsewhere", server));
  EXPECT_TRUE(verify("-purpose sslclient", client));
  EXPECT_FALSE(verify("-purpose sslserver", client));
}

}  // namespace
}  // namespace sublet::net
