// Certificate signing requests (PKCS#10) as tenants send them. Each is read or refused with a reason. A signed
// certificate never belongs to an authority, has the request's public key, and ends with the authority.
// An input that begins with a dash is PEM; any other is DER, which libFuzzer mutates better.
#include <openssl/x509v3.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sublet/net/openssl_ptr.h"
#include "sublet/net/signing_request.h"

namespace {

using namespace sublet;
using namespace sublet::net;

const WallTime kStart{std::chrono::seconds(1'700'000'000)};

const KeyPair& authority() {
  static const KeyPair kMade = [] {
    CertificateRequest request;
    request.common_name = "fuzz";
    request.is_ca = true;
    request.lifetime = std::chrono::hours(100);
    return *make_certificate(request, nullptr, kStart);
  }();
  return kMade;
}

std::string pem_of_der(std::string_view der) {
  std::string base64(4 * ((der.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                   reinterpret_cast<const unsigned char*>(der.data()), static_cast<int>(der.size()));
  base64.resize(static_cast<std::size_t>(size));
  std::string pem = "-----BEGIN CERTIFICATE REQUEST-----\n";
  for (std::size_t at = 0; at < base64.size(); at += 64) pem += base64.substr(at, 64) + "\n";
  return pem + "-----END CERTIFICATE REQUEST-----\n";
}

void check(bool holds) {
  if (!holds) std::abort();
}

void check_certificate(const std::string& pem, const std::string& signed_pem) {
  const X509Ptr certificate(PEM_read_bio_X509(pem_reader(signed_pem).get(), nullptr, nullptr, nullptr));
  check(certificate != nullptr);
  check(X509_check_ca(certificate.get()) == 0);
  check(*certificate_not_after(signed_pem) <= *certificate_not_after(authority().certificate_pem));
  const OpensslPtr<X509_REQ, X509_REQ_free> request(
      PEM_read_bio_X509_REQ(pem_reader(pem).get(), nullptr, nullptr, nullptr));
  check(X509_NAME_cmp(X509_get_subject_name(certificate.get()), X509_REQ_get_subject_name(request.get())) == 0);
  check(EVP_PKEY_eq(X509_get0_pubkey(certificate.get()), X509_REQ_get0_pubkey(request.get())) == 1);
  ERR_clear_error();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string pem = input.starts_with('-') ? std::string(input) : pem_of_der(input);
  const auto read = read_signing_request(pem);
  check(read || !read.error().message.empty());
  const auto certificate =
      sign_request(pem, authority(), {{"client auth", "digital signature"}, kStart, kStart + std::chrono::hours(500)});
  check(certificate || !certificate.error().message.empty());
  check(read || !certificate);
  if (certificate) check_certificate(pem, *certificate);
  return 0;
}
