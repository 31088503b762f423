// Making keys and certificates: ECDSA P-256 with SHA-256, X.509 v3, extensions as kubectl and Go's verifier want them.
#include <ctime>

#include "net/tls/certificate_parts.h"
#include "sublet/net/openssl_ptr.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {
namespace {

constexpr std::chrono::minutes kClockSkew{5};  // a certificate is valid a little before it is made

KeyPtr new_key() { return KeyPtr(EVP_EC_gen("P-256")); }

template <class Write>
Result<std::string> to_pem(Write&& write) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (!out || write(out.get()) != 1) return internal_error("PEM: " + openssl_error());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

// SEC1 ("EC PRIVATE KEY"), as client-go and k3s write it: Java's Kubernetes clients read no PKCS#8 keys of this kind.
Result<std::string> key_pem(EVP_PKEY* key) {
  return to_pem(
      [&](BIO* out) { return PEM_write_bio_PrivateKey_traditional(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

void append(std::string& list, std::string_view entry) {
  if (!list.empty()) list += ",";
  list += entry;
}

struct ExtensionText {
  int nid;
  std::string value;  // in OpenSSL's configuration syntax; empty: left out
};

std::vector<ExtensionText> extensions_of(const CertificateRequest& request, bool has_issuer) {
  std::string usage =
      request.is_ca ? "critical,keyCertSign,cRLSign,digitalSignature" : "critical,digitalSignature,keyEncipherment";
  std::string extended, names;
  if (request.server_auth) append(extended, "serverAuth");
  if (request.client_auth) append(extended, "clientAuth");
  for (const auto& name : request.dns_names) append(names, "DNS:" + name);
  for (const auto& address : request.ip_addresses) append(names, "IP:" + address);
  return {{NID_basic_constraints, request.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE"},
          {NID_key_usage, std::move(usage)},
          {NID_ext_key_usage, std::move(extended)},
          {NID_subject_key_identifier, "hash"},
          {NID_authority_key_identifier, has_issuer ? "keyid" : ""},
          {NID_subject_alt_name, std::move(names)}};
}

/// A name with a comma would smuggle a second entry into OpenSSL's configuration syntax.
bool plain(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (name.empty() || name.find_first_of(", \t\r\n\\\"@") != std::string::npos) return false;
  return true;
}

bool fill_certificate(X509* certificate, const CertificateRequest& request, EVP_PKEY* key, X509* issuer, WallTime now) {
  const auto starts = std::chrono::system_clock::to_time_t(now - kClockSkew);
  const auto ends = std::chrono::system_clock::to_time_t(now + request.lifetime);
  X509_NAME* subject = X509_get_subject_name(certificate);
  bool good = put_serial(certificate) && X509_set_version(certificate, 2) == 1 &&
              ASN1_TIME_set(X509_getm_notBefore(certificate), starts) != nullptr &&
              ASN1_TIME_set(X509_getm_notAfter(certificate), ends) != nullptr && X509_set_pubkey(certificate, key) == 1;
  for (const auto& organization : request.organizations) good = good && add_name(subject, "O", organization);
  if (!request.common_name.empty()) good = good && add_name(subject, "CN", request.common_name);
  good = good && X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject) == 1;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, nullptr, nullptr, 0);
  for (const auto& extension : extensions_of(request, issuer != nullptr))
    good = good && add_extension(certificate, &context, extension.nid, extension.value);
  return good;
}

}  // namespace

Result<KeyPair> make_certificate(const CertificateRequest& request, const KeyPair* issuer, WallTime now) {
  if (!plain(request.dns_names) || !plain(request.ip_addresses))
    return bad_request("certificate: a DNS name or IP address is empty or holds a separator");
  X509Ptr issuer_certificate;
  KeyPtr issuer_key;
  if (issuer) {
    issuer_certificate.reset(PEM_read_bio_X509(pem_reader(issuer->certificate_pem).get(), nullptr, nullptr, nullptr));
    issuer_key = read_private_key(issuer->key_pem);
    if (!issuer_certificate || !issuer_key) return bad_request("issuer: " + openssl_error());
  }
  const KeyPtr key = new_key();
  const X509Ptr certificate(X509_new());
  if (!key || !certificate || !fill_certificate(certificate.get(), request, key.get(), issuer_certificate.get(), now) ||
      X509_sign(certificate.get(), issuer_key ? issuer_key.get() : key.get(), EVP_sha256()) == 0)
    return internal_error("certificate: " + openssl_error());
  auto certificate_text = to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
  if (!certificate_text) return fail(certificate_text.error());
  auto key_text = key_pem(key.get());
  if (!key_text) return fail(key_text.error());
  return KeyPair{std::move(*certificate_text), std::move(*key_text)};
}

Result<std::string> make_key() {
  const KeyPtr key = new_key();
  if (!key) return internal_error("key: " + openssl_error());
  return key_pem(key.get());
}

std::optional<WallTime> certificate_not_after(std::string_view pem) {
  const X509Ptr certificate(PEM_read_bio_X509(pem_reader(pem).get(), nullptr, nullptr, nullptr));
  std::tm fields{};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &fields) != 1) {
    ERR_clear_error();
    return std::nullopt;
  }
  return std::chrono::system_clock::from_time_t(::timegm(&fields));
}

std::string certificate_sha256(std::string_view pem) {
  const X509Ptr certificate(PEM_read_bio_X509(pem_reader(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate ? sha256_hex(certificate.get()) : std::string();
}

}  // namespace sublet::net
