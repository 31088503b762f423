#include "sublet/net/signing_request.h"

#include "net/net_testing.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::net {
namespace {

using namespace std::chrono_literals;

/// A request as openssl makes it: two organizations, all sorts of names.
std::string request_pem(const std::string& names = "DNS:a.example,IP:10.0.0.1,email:x@y.example,URI:spiffe://z") {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const OpensslPtr<X509_REQ, X509_REQ_free> request(X509_REQ_new());
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  const auto add = [&](const char* field, const char* text) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text), -1, -1, 0);
  };
  add("O", "system:nodes");
  add("O", "others");
  add("CN", "system:node:n1");
  X509_REQ_set_pubkey(request.get(), key.get());
  if (!names.empty()) {
    STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
    sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()));
    sk_X509_EXTENSION_push(extensions,
                           X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
    X509_REQ_add_extensions(request.get(), extensions);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  }
  X509_REQ_sign(request.get(), key.get(), EVP_sha256());
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(out.get(), request.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

X509Ptr certificate_of(const std::string& pem) {
  return X509Ptr(PEM_read_bio_X509(pem_reader(pem).get(), nullptr, nullptr, nullptr));
}

std::string text_of(const X509Ptr& certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_print(out.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

KeyPair authority(WallTime now) {
  CertificateRequest request;
  request.common_name = "ca";
  request.is_ca = true;
  request.lifetime = std::chrono::hours(1000);
  return make_certificate(request, nullptr, now).value();
}

TEST(SigningRequest, IsReadWithAllItsNames) {
  const auto read = read_signing_request(request_pem());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->common_name, "system:node:n1");
  EXPECT_EQ(read->organizations, (std::vector<std::string>{"system:nodes", "others"}));
  EXPECT_EQ(read->dns_names, std::vector<std::string>{"a.example"});
  EXPECT_EQ(read->ip_addresses, 1u);
  EXPECT_EQ(read->email_addresses, 1u);
  EXPECT_EQ(read->uris, 1u);
  EXPECT_TRUE(read_signing_request(request_pem("")));
  EXPECT_FALSE(read_signing_request("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
}

TEST(SigningRequest, TheCertificateIsOfTheAuthorityAndForTheUsagesAlone) {
  const auto now = Clock::system().now();
  const auto ca = authority(now);
  const auto signed_pem = sign_request(
      request_pem(), ca, {{"digital signature", "signing", "client auth"}, now - 5min, now + std::chrono::hours(24)});
  ASSERT_TRUE(signed_pem) << signed_pem.error().message;
  const auto certificate = certificate_of(*signed_pem);
  ASSERT_TRUE(certificate);
  const auto issuer = certificate_of(ca.certificate_pem);
  EXPECT_EQ(X509_verify(certificate.get(), X509_get0_pubkey(issuer.get())), 1);
  const auto text = text_of(certificate);
  EXPECT_NE(text.find("CA:FALSE"), std::string::npos) << "what the request asks for itself is not heard\n" << text;
  EXPECT_EQ(text.find("CA:TRUE"), std::string::npos);
  EXPECT_NE(text.find("TLS Web Client Authentication"), std::string::npos);
  EXPECT_EQ(text.find("TLS Web Server Authentication"), std::string::npos);
  EXPECT_NE(text.find("DNS:a.example, IP Address:10.0.0.1, email:x@y.example, URI:spiffe://z"), std::string::npos);
  EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
}

TEST(SigningRequest, NothingOutlivesTheAuthority) {
  const auto now = Clock::system().now();
  const auto ca = authority(now);
  const auto made = sign_request(request_pem(), ca, {{"client auth"}, now, now + std::chrono::hours(99'999)});
  ASSERT_TRUE(made);
  EXPECT_EQ(certificate_not_after(*made), certificate_not_after(ca.certificate_pem));
  const auto late = now + std::chrono::hours(1001);
  EXPECT_FALSE(sign_request(request_pem(), ca, {{"client auth"}, late, late + 1h}));
  const auto odd = sign_request(request_pem(), ca, {{"client auth", "world rule"}, now, now + 1h});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message, "unrecognized usage value: \"world rule\"");
}

}  // namespace
}  // namespace sublet::net
