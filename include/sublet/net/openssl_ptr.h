// Owners for OpenSSL's objects, and its error queue as text. Only .cpp files that include OpenSSL include this;
// the one contract that needs another library's headers, so that there is one such wrapper.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace sublet::net {

template <class T, void (*Free)(T*)>
struct OpensslDeleter {
  void operator()(T* object) const { Free(object); }
};
template <class T, void (*Free)(T*)>
using OpensslPtr = std::unique_ptr<T, OpensslDeleter<T, Free>>;

using X509Ptr = OpensslPtr<X509, X509_free>;
using KeyPtr = OpensslPtr<EVP_PKEY, EVP_PKEY_free>;
using SslPtr = OpensslPtr<SSL, SSL_free>;
using BioPtr = OpensslPtr<BIO, BIO_free_all>;
using ExtensionPtr = OpensslPtr<X509_EXTENSION, X509_EXTENSION_free>;
using BignumPtr = OpensslPtr<BIGNUM, BN_free>;

/// The oldest entry of the thread's error queue as text; empties the queue.
inline std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  if (code == 0) return "unknown TLS error";
  char text[256];
  ERR_error_string_n(code, text, sizeof(text));
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason ? std::string(reason) : std::string(text);
}

/// Reads PEM from memory without copying it.
inline BioPtr pem_reader(std::string_view pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// A private key from PEM. An encrypted one is refused; without this callback OpenSSL would ask the terminal.
inline KeyPtr read_private_key(std::string_view pem) {
  const auto no_password = [](char*, int, int, void*) { return -1; };
  return KeyPtr(PEM_read_bio_PrivateKey(pem_reader(pem).get(), nullptr, no_password, nullptr));
}

}  // namespace sublet::net
