#include "apiserver/authn/test_key_testing.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace sublet::apiserver {

const std::string& test_key_pem() {
  static const std::string pem = [] {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    auto size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free_all(bio);
    EVP_PKEY_free(key);
    return text;
  }();
  return pem;
}

}  // namespace sublet::apiserver
