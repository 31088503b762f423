// OpensslKey: shared code over OpenSSL's API for the keys of tokens. Pure; threads: any.
#pragma once

#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include <string_view>

#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {

using DigestContextPtr = net::OpensslPtr<EVP_MD_CTX, EVP_MD_CTX_free>;
using EcdsaSignaturePtr = net::OpensslPtr<ECDSA_SIG, ECDSA_SIG_free>;

/// Returns the key behind the untyped pointer of a class whose header does without OpenSSL's.
inline EVP_PKEY* evp_key(void* key) { return static_cast<EVP_PKEY*>(key); }

/// Returns the bytes of `text` as OpenSSL takes them.
inline const unsigned char* openssl_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace sublet::apiserver
