#include "sublet/net/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace sublet::net {

std::array<unsigned char, 32> sha256(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return digest;
}

std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
       bytes.size(), digest.data(), &size);
  return digest;
}

std::string hex(std::span<const unsigned char> bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes, std::size_t chars) { return hex(sha256(bytes)).substr(0, chars); }

}  // namespace sublet::net
