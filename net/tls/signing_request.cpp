#include "sublet/net/signing_request.h"

#include <algorithm>

#include "net/tls/certificate_parts.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::net {
namespace {

using RequestPtr = OpensslPtr<X509_REQ, X509_REQ_free>;

void free_names(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }
void free_extensions(STACK_OF(X509_EXTENSION) * extensions) {
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
}
using NamesPtr = OpensslPtr<GENERAL_NAMES, free_names>;
using ExtensionsPtr = OpensslPtr<STACK_OF(X509_EXTENSION), free_extensions>;

RequestPtr parse(std::string_view pem) {
  RequestPtr request(PEM_read_bio_X509_REQ(pem_reader(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return request;
}

std::vector<std::string> entries_of(const X509_REQ* request, int nid) {
  const X509_NAME* subject = X509_REQ_get_subject_name(request);
  std::vector<std::string> entries;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;)
    entries.push_back(utf8_text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  return entries;
}

/// The names beside the subject's; null when it has none.
NamesPtr alternative_names(X509_REQ* request) {
  const ExtensionsPtr extensions(X509_REQ_get_extensions(request));
  if (!extensions) return nullptr;
  return NamesPtr(
      static_cast<GENERAL_NAMES*>(X509V3_get_d2i(extensions.get(), NID_subject_alt_name, nullptr, nullptr)));
}

/// A usage in the API's words and in OpenSSL's; several words may mean the same.
struct Usage {
  std::string_view word, openssl;
  bool extended;
};
constexpr Usage kUsages[] = {{"signing", "digitalSignature", false},
                             {"digital signature", "digitalSignature", false},
                             {"content commitment", "nonRepudiation", false},
                             {"key encipherment", "keyEncipherment", false},
                             {"key agreement", "keyAgreement", false},
                             {"data encipherment", "dataEncipherment", false},
                             {"cert sign", "keyCertSign", false},
                             {"crl sign", "cRLSign", false},
                             {"encipher only", "encipherOnly", false},
                             {"decipher only", "decipherOnly", false},
                             {"any", "anyExtendedKeyUsage", true},
                             {"server auth", "serverAuth", true},
                             {"client auth", "clientAuth", true},
                             {"code signing", "codeSigning", true},
                             {"email protection", "emailProtection", true},
                             {"s/mime", "emailProtection", true},
                             {"ipsec end system", "ipsecEndSystem", true},
                             {"ipsec tunnel", "ipsecTunnel", true},
                             {"ipsec user", "ipsecUser", true},
                             {"timestamping", "timeStamping", true},
                             {"ocsp signing", "OCSPSigning", true},
                             {"microsoft sgc", "msSGC", true},
                             {"netscape sgc", "nsSGC", true}};

struct UsageText {
  std::string plain, extended;  // OpenSSL's configuration syntax
};

void add_once(std::string& list, std::string_view word) {
  if (("," + list + ",").find("," + std::string(word) + ",") != std::string::npos) return;
  if (!list.empty()) list += ",";
  list += word;
}

Result<UsageText> usage_text(const std::vector<std::string>& usages) {
  UsageText text;
  for (const auto& wanted : usages) {
    const auto* known =
        std::find_if(std::begin(kUsages), std::end(kUsages), [&](const Usage& usage) { return usage.word == wanted; });
    if (known == std::end(kUsages)) return bad_request("unrecognized usage value: \"" + wanted + "\"");
    add_once(known->extended ? text.extended : text.plain, known->openssl);
  }
  return text;
}

bool put_times(X509* certificate, const SigningTerms& terms, WallTime authority_ends) {
  const auto seconds = [](WallTime time) { return std::chrono::system_clock::to_time_t(time); };
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(terms.not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(std::min(terms.not_after, authority_ends))) != nullptr;
}

/// Copies the names as they are; critical when there is no subject, as RFC 5280 has it.
bool put_names(X509* certificate, X509_REQ* request) {
  const auto names = alternative_names(request);
  if (!names) return true;
  const bool anonymous = X509_NAME_entry_count(X509_REQ_get_subject_name(request)) == 0;
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), anonymous ? 1 : 0, X509V3_ADD_APPEND) == 1;
}

bool fill_client_certificate(X509* certificate, X509_REQ* request, X509* authority, const UsageText& usages) {
  bool good = X509_set_version(certificate, 2) == 1 && put_serial(certificate) &&
              X509_set_subject_name(certificate, X509_REQ_get_subject_name(request)) == 1 &&
              X509_set_issuer_name(certificate, X509_get_subject_name(authority)) == 1 &&
              X509_set_pubkey(certificate, X509_REQ_get0_pubkey(request)) == 1;
  X509V3_CTX context;
  X509V3_set_ctx(&context, authority, certificate, nullptr, nullptr, 0);
  good = good && add_extension(certificate, &context, NID_key_usage,
                               usages.plain.empty() ? std::string() : "critical," + usages.plain);
  good = good && add_extension(certificate, &context, NID_ext_key_usage, usages.extended);
  good = good && add_extension(certificate, &context, NID_basic_constraints, "critical,CA:FALSE");
  good = good && add_extension(certificate, &context, NID_authority_key_identifier, "keyid");
  return good && put_names(certificate, request);
}

Result<std::string> pem_of(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate) != 1) return internal_error("PEM: " + openssl_error());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace

Result<SigningRequest> read_signing_request(std::string_view pem) {
  const auto request = parse(pem);
  if (!request) return bad_request("PEM block type must be CERTIFICATE REQUEST");
  SigningRequest read;
  read.organizations = entries_of(request.get(), NID_organizationName);
  const auto names = entries_of(request.get(), NID_commonName);
  if (!names.empty()) read.common_name = names.back();
  const auto alternative = alternative_names(request.get());
  for (int i = 0; alternative && i < sk_GENERAL_NAME_num(alternative.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternative.get(), i);
    if (name->type == GEN_DNS) read.dns_names.push_back(utf8_text(name->d.dNSName));
    read.ip_addresses += name->type == GEN_IPADD ? 1 : 0;
    read.email_addresses += name->type == GEN_EMAIL ? 1 : 0;
    read.uris += name->type == GEN_URI ? 1 : 0;
  }
  ERR_clear_error();
  return read;
}

Result<std::string> sign_request(std::string_view pem, const KeyPair& authority, const SigningTerms& terms) {
  const auto request = parse(pem);
  if (!request) return bad_request("PEM block type must be CERTIFICATE REQUEST");
  const X509Ptr issuer(PEM_read_bio_X509(pem_reader(authority.certificate_pem).get(), nullptr, nullptr, nullptr));
  const auto key = read_private_key(authority.key_pem);
  const auto ends = certificate_not_after(authority.certificate_pem);
  if (!issuer || !key || !ends) return internal_error("authority: " + openssl_error());
  if (terms.not_before >= *ends) return bad_request("the signer has expired: NotAfter=" + format_time(*ends));
  const auto usages = usage_text(terms.usages);
  if (!usages) return fail(usages.error());
  const X509Ptr certificate(X509_new());
  if (!certificate || !put_times(certificate.get(), terms, *ends) ||
      !fill_client_certificate(certificate.get(), request.get(), issuer.get(), *usages) ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return internal_error("certificate: " + openssl_error());
  return pem_of(certificate.get());
}

}  // namespace sublet::net
