#include "apiserver/validation/pkcs10.h"

#include <openssl/asn1t.h>
#include <openssl/core_names.h>

#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {
namespace {

struct RequestKey {
  X509_ALGOR* algorithm;
  ASN1_BIT_STRING* bits;
};
struct CertificationRequestInfo {
  ASN1_ENCODING bytes;  // as they came: what is signed
  ASN1_INTEGER* version;
  X509_NAME* subject;
  RequestKey* key;
  STACK_OF(X509_ATTRIBUTE) * attributes;
};

}  // namespace

struct Pkcs10::Form {
  CertificationRequestInfo* info;
  X509_ALGOR* algorithm;
  ASN1_BIT_STRING* signature;
};

namespace {

using RequestForm = Pkcs10::Form;

// RFC 2986, 4.1 and 4.2. OpenSSL's macros make RequestKey_it() and its like.
// clang-format off
ASN1_SEQUENCE(RequestKey) = {
  ASN1_SIMPLE(RequestKey, algorithm, X509_ALGOR),
  ASN1_SIMPLE(RequestKey, bits, ASN1_BIT_STRING),
} static_ASN1_SEQUENCE_END(RequestKey)

ASN1_SEQUENCE_enc(CertificationRequestInfo, bytes, nullptr) = {
  ASN1_SIMPLE(CertificationRequestInfo, version, ASN1_INTEGER),
  ASN1_SIMPLE(CertificationRequestInfo, subject, X509_NAME),
  ASN1_SIMPLE(CertificationRequestInfo, key, RequestKey),
  ASN1_IMP_SET_OF_OPT(CertificationRequestInfo, attributes, X509_ATTRIBUTE, 0),
} static_ASN1_SEQUENCE_END_ref(CertificationRequestInfo, CertificationRequestInfo)

ASN1_SEQUENCE(RequestForm) = {
  ASN1_SIMPLE(RequestForm, info, CertificationRequestInfo),
  ASN1_SIMPLE(RequestForm, algorithm, X509_ALGOR),
  ASN1_SIMPLE(RequestForm, signature, ASN1_BIT_STRING),
} static_ASN1_SEQUENCE_END(RequestForm)
    // clang-format on

    using CurveContextPtr = net::OpensslPtr<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;

net::KeyPtr curve_key(const char* curve, const ASN1_BIT_STRING& point) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, const_cast<char*>(curve), 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data, static_cast<std::size_t>(point.length)),
      OSSL_PARAM_construct_end()};
  const CurveContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  if (context && EVP_PKEY_fromdata_init(context.get()) == 1)
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters);
  return net::KeyPtr(key);
}

/// Null: a key type or form that is not verified.
net::KeyPtr key_of_request(const RequestKey& key) {
  const ASN1_OBJECT* algorithm = nullptr;
  const void* parameter = nullptr;
  int type = 0;
  X509_ALGOR_get0(&algorithm, &type, &parameter, key.algorithm);
  const unsigned char* bytes = key.bits->data;
  switch (OBJ_obj2nid(algorithm)) {
    case NID_rsaEncryption:
      return net::KeyPtr(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &bytes, key.bits->length));
    case NID_X9_62_id_ecPublicKey:
      if (type != V_ASN1_OBJECT) return nullptr;
      return curve_key(OBJ_nid2sn(OBJ_obj2nid(static_cast<const ASN1_OBJECT*>(parameter))), *key.bits);
    case NID_ED25519:
      return net::KeyPtr(
          EVP_PKEY_new_raw_public_key(NID_ED25519, nullptr, bytes, static_cast<std::size_t>(key.bits->length)));
    default:
      return nullptr;
  }
}

}  // namespace

void Pkcs10::Free::operator()(Form* form) const {
  ASN1_item_free(reinterpret_cast<ASN1_VALUE*>(form), RequestForm_it());
}

std::optional<Pkcs10> Pkcs10::parse(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = bytes + der.size();
  auto* form = ASN1_item_d2i(nullptr, &bytes, static_cast<long>(der.size()), RequestForm_it());
  ERR_clear_error();
  if (!form) return std::nullopt;
  Pkcs10 request(reinterpret_cast<Form*>(form));
  if (bytes != end) return std::nullopt;
  return request;
}

bool Pkcs10::is_signed() const {
  const net::KeyPtr key = key_of_request(*form_->info->key);
  const bool fits = key && ASN1_item_verify(CertificationRequestInfo_it(), form_->algorithm, form_->signature,
                                            form_->info, key.get()) == 1;
  ERR_clear_error();
  return fits;
}

std::vector<std::string> Pkcs10::organizations() const {
  std::vector<std::string> names;
  const X509_NAME* subject = form_->info->subject;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;) {
    const auto* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, text);
    if (size < 0) continue;
    names.emplace_back(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
  }
  ERR_clear_error();
  return names;
}

}  // namespace sublet::apiserver
