// JwsKey: a public key that signatures of tokens are checked with: RSA, or EC on P-256, P-384 and P-521. Internal to
// authn/. Immutable; verifying is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

class JwsKey {
 public:
  /// `key` is an EVP_PKEY, which stays the caller's. Null: a kind that no algorithm here is for. `algorithm`: the only
  /// one that it is for; "": all that fit.
  static std::shared_ptr<const JwsKey> of(void* key, std::string id, std::string algorithm);
  /// An entry of a JSON Web Key Set; null: it is for something else, or no key that can be used.
  static std::shared_ptr<const JwsKey> of_jwk(const schema::Value& jwk);
  ~JwsKey();
  JwsKey(const JwsKey&) = delete;
  JwsKey& operator=(const JwsKey&) = delete;

  /// RS, PS and ES with 256, 384 and 512 bits.
  static bool knows(std::string_view algorithm);
  bool verify(std::string_view algorithm, std::string_view text, std::string_view signature) const;
  const std::string& id() const { return id_; }                    // "kid"; may be empty
  const std::string& fingerprint() const { return fingerprint_; }  // of the key itself

 private:
  JwsKey() = default;

  void* key_ = nullptr;  // EVP_PKEY: OpenSSL's headers stay in the source file
  std::string id_, algorithm_, fingerprint_;
};

}  // namespace sublet::apiserver
