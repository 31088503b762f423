// Certificate requests as OpenSSL makes them, of each kind of key, and what becomes of them on the way.
#include "apiserver/validation/pkcs10.h"

#include <gtest/gtest.h>

#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {
namespace {

using RequestPtr = net::OpensslPtr<X509_REQ, X509_REQ_free>;

/// For `asked`, signed by `signer`.
std::string signing_request_der(EVP_PKEY* asked, EVP_PKEY* signer, const EVP_MD* digest) {
  const RequestPtr request(X509_REQ_new());
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  for (const char* organization : {"system:masters", "caf\xc3\xa9"})
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(organization), -1,
                               -1, 0);
  X509_REQ_set_pubkey(request.get(), asked);
  EXPECT_GT(X509_REQ_sign(request.get(), signer, digest), 0);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

/// The curve's parameters written out, as nobody verifies them.
net::KeyPtr without_named_curve() {
  net::KeyPtr key(EVP_EC_gen("P-256"));
  EVP_PKEY_set_utf8_string_param(key.get(), "encoding", "explicit");
  return key;
}

struct Make {
  const char* name;
  net::KeyPtr (*key)();
  const EVP_MD* (*digest)();
  bool verified;
};
const Make kMakes[] = {
    {"RSA", [] { return net::KeyPtr(EVP_RSA_gen(1024)); }, EVP_sha1, true},
    {"P-256", [] { return net::KeyPtr(EVP_EC_gen("P-256")); }, EVP_sha256, true},
    {"P-521", [] { return net::KeyPtr(EVP_EC_gen("P-521")); }, EVP_sha512, true},
    {"Ed25519", [] { return net::KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }, EVP_md_null, true},
    {"Ed448", [] { return net::KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448")); }, EVP_md_null, false},
    {"a curve without a name", without_named_curve, EVP_sha256, false},
};

TEST(Pkcs10, IsSignedByItsOwnKey) {
  for (const auto& make : kMakes) {
    SCOPED_TRACE(make.name);
    const auto key = make.key(), other = make.key();
    const EVP_MD* digest = make.digest == EVP_md_null ? nullptr : make.digest();
    const auto own = Pkcs10::parse(signing_request_der(key.get(), key.get(), digest));
    ASSERT_TRUE(own);
    EXPECT_EQ(own->is_signed(), make.verified);
    EXPECT_EQ(own->organizations(), (std::vector<std::string>{"system:masters", "caf\xc3\xa9"}));
    const auto forged = Pkcs10::parse(signing_request_der(key.get(), other.get(), digest));
    ASSERT_TRUE(forged);
    EXPECT_FALSE(forged->is_signed());
  }
}

TEST(Pkcs10, IsWholeAndNothingMore) {
  const auto key = kMakes[1].key();
  const std::string der = signing_request_der(key.get(), key.get(), EVP_sha256());
  EXPECT_FALSE(Pkcs10::parse(""));
  EXPECT_FALSE(Pkcs10::parse(der + '\0'));
  for (std::size_t size = 1; size < der.size(); ++size) EXPECT_FALSE(Pkcs10::parse(der.substr(0, size))) << size;
  for (std::size_t at = 0; at < der.size(); ++at) {
    std::string changed = der;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto request = Pkcs10::parse(changed);
    EXPECT_FALSE(request && request->is_signed()) << at;
  }
}

}  // namespace
}  // namespace sublet::apiserver
