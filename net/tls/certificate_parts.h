// Certificate parts: what all kinds of certificates share. Private to net/. Threads: any.
#pragma once

#include <openssl/rand.h>

#include <string>

#include "sublet/net/digest.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::net {

/// A random number of 127 bits.
inline bool put_serial(X509* certificate) {
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof(serial)) != 1) return false;
  serial[0] &= 0x7f;  // positive
  const BignumPtr number(BN_bin2bn(serial, sizeof(serial), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

/// `value` in OpenSSL's configuration syntax; empty: the certificate does without.
inline bool add_extension(X509* certificate, X509V3_CTX* context, int nid, const std::string& value) {
  if (value.empty()) return true;
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Returns "" when the text cannot be had.
inline std::string utf8_text(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string copy(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return copy;
}

/// Hex; "" when it cannot be had.
inline std::string sha256_hex(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return {};
  return hex({digest, size});
}

}  // namespace sublet::net
