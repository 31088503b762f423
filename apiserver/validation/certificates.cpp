#include "apiserver/validation/certificates.h"

#include "apiserver/validation/names.h"
#include "apiserver/validation/pkcs10.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kRequestType = "CERTIFICATE REQUEST", kCertificateType = "CERTIFICATE";
constexpr std::size_t kSignerDomainMax = 253, kSignerMax = 571;

struct PemBlock {
  std::string type, headers, der;
};

/// The next block of the text; its type is empty when there is none. What a broken block leaves in OpenSSL's queue of
/// errors is not shown.
PemBlock next_block(BIO* from) {
  char *type = nullptr, *headers = nullptr;
  unsigned char* der = nullptr;
  long size = 0;
  PemBlock block;
  if (PEM_read_bio(from, &type, &headers, &der, &size) == 1) {
    block = {type, headers, std::string(reinterpret_cast<char*>(der), static_cast<std::size_t>(size))};
    OPENSSL_free(type);
    OPENSSL_free(headers);
    OPENSSL_free(der);
  }
  ERR_clear_error();
  return block;
}

bool is_certificate(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = bytes + der.size();
  const net::X509Ptr certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  ERR_clear_error();
  return certificate && bytes == end;
}

/// Every part between dots, up to the first that is wrong.
void validate_parts(Causes& causes, const std::string& path, std::string_view segment,
                    Messages (*check)(std::string_view)) {
  for (auto rest = segment;;) {
    const auto dot = rest.find('.');
    const auto label = rest.substr(0, dot);
    const auto messages = check(label);
    for (const auto& message : messages)
      invalid(causes, path, segment, "validating label \"" + std::string(label) + "\": " + message);
    if (!messages.empty() || dot == std::string_view::npos) return;
    rest.remove_prefix(dot + 1);
  }
}

struct FoundBlock {
  std::string der;                   // of the first block that was looked for; empty: none
  std::vector<std::string> skipped;  // types of the blocks before it
};

FoundBlock find_block(std::string_view pem, bool (*wanted)(std::string_view type)) {
  const auto reader = net::pem_reader(pem);
  FoundBlock found;
  while (true) {
    auto block = next_block(reader.get());
    if (block.type.empty()) return found;
    if (wanted(block.type)) {
      found.der = std::move(block.der);
      return found;
    }
    found.skipped.push_back(std::move(block.type));
  }
}

bool is_key_type(std::string_view type) { return type.ends_with("PRIVATE KEY"); }

std::string list_of(const std::vector<std::string>& types) {
  std::string list = "[";
  for (const auto& type : types) list += (list.size() > 1 ? " " : "") + type;
  return list + "]";
}

std::string no_certificate(const std::vector<std::string>& skipped) {
  if (skipped.empty()) return "tls: failed to find any PEM data in certificate input";
  if (skipped.size() == 1 && is_key_type(skipped[0]))
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
           "have been switched";
  return "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the "
         "following "
         "types: " +
         list_of(skipped);
}

std::string no_key(const std::vector<std::string>& skipped) {
  if (skipped.empty()) return "tls: failed to find any PEM data in key input";
  if (skipped.size() == 1 && skipped[0] == kCertificateType)
    return "tls: found a certificate rather than a key in the PEM for the private key";
  return "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of "
         "the following types: " +
         list_of(skipped);
}

}  // namespace

std::string check_certificate_request(std::string_view pem) {
  const auto reader = net::pem_reader(pem);
  const auto block = next_block(reader.get());
  if (block.type != kRequestType) return "PEM block type must be CERTIFICATE REQUEST";
  const auto request = Pkcs10::parse(block.der);
  if (!request) return "the PEM block holds no PKCS#10 certificate request";
  return request->is_signed() ? "" : "the signature does not fit the request's public key";
}

std::vector<std::string> request_organizations(std::string_view pem) {
  const auto reader = net::pem_reader(pem);
  const auto request = Pkcs10::parse(next_block(reader.get()).der);
  return request ? request->organizations() : std::vector<std::string>();
}

std::string check_certificate_chain(std::string_view pem) {
  if (pem.empty()) return {};
  const auto reader = net::pem_reader(pem);
  int blocks = 0;
  for (auto block = next_block(reader.get()); !block.type.empty(); block = next_block(reader.get()), ++blocks) {
    if (block.type != kCertificateType) return "only CERTIFICATE PEM blocks are allowed, found \"" + block.type + "\"";
    if (!block.headers.empty()) return "no PEM block headers are permitted";
    if (!is_certificate(block.der)) return "the PEM block holds no X.509 certificate";
  }
  return blocks > 0 ? "" : "must contain at least one CERTIFICATE PEM block";
}

std::string check_key_pair(std::string_view certificate_pem, std::string_view key_pem) {
  const auto certificate_block =
      find_block(certificate_pem, [](std::string_view type) { return type == kCertificateType; });
  if (certificate_block.der.empty()) return no_certificate(certificate_block.skipped);
  const auto key_block = find_block(key_pem, is_key_type);
  if (key_block.der.empty()) return no_key(key_block.skipped);
  const auto* bytes = reinterpret_cast<const unsigned char*>(certificate_block.der.data());
  const net::X509Ptr certificate(d2i_X509(nullptr, &bytes, static_cast<long>(certificate_block.der.size())));
  bytes = reinterpret_cast<const unsigned char*>(key_block.der.data());
  const net::KeyPtr key(d2i_AutoPrivateKey(nullptr, &bytes, static_cast<long>(key_block.der.size())));
  ERR_clear_error();
  if (!certificate) return "x509: malformed certificate";
  if (!key) return "tls: failed to parse private key";
  const EVP_PKEY* const held = X509_get0_pubkey(certificate.get());
  if (!held || EVP_PKEY_get_base_id(held) != EVP_PKEY_get_base_id(key.get()))
    return "tls: private key type does not match public key type";
  const bool fits = EVP_PKEY_eq(held, key.get()) == 1;
  ERR_clear_error();
  return fits ? "" : "tls: private key does not match public key";
}

void validate_signer_name(Causes& causes, const std::string& path, std::string_view name) {
  if (name.empty()) return required(causes, path);
  const auto slash = name.find('/');
  if (slash == std::string_view::npos || name.find('/', slash + 1) != std::string_view::npos)
    return invalid(causes, path, name,
                   "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  const auto domain = name.substr(0, slash), rest = name.substr(slash + 1);
  if (domain.size() > kSignerDomainMax) too_long(causes, path, kSignerDomainMax);
  validate_parts(causes, path, domain, dns1123_label);
  if (domain.find('.') == std::string_view::npos)
    invalid(causes, path, domain, "should be a domain with at least two segments separated by dots");
  validate_parts(causes, path, rest, dns1123_subdomain);
  if (name.size() > kSignerMax) too_long(causes, path, kSignerMax);
}

}  // namespace sublet::apiserver
