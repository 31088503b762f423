// SigningKey: an EC private key on P-256 with what tokens need of it. Internal to authn/.
// Immutable after load(); signing is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authn/jws_key.h"
#include "sublet/base/status.h"

namespace sublet::apiserver {

class SigningKey {
 public:
  /// Parses PEM, the first key of the text. Keys are kept per process by their text, so that a request does not parse
  /// again.
  static Result<std::shared_ptr<const SigningKey>> load(const std::string& pem);
  struct Set {
    std::vector<std::shared_ptr<const SigningKey>> keys;
    std::vector<std::shared_ptr<const JwsKey>> public_keys;
  };
  /// Every key of a text that holds several; kept in the same way.
  using All = std::shared_ptr<const Set>;
  static Result<All> load_all(const std::string& pem);
  ~SigningKey();
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  /// ES256 of `text`: r and s, 32 bytes each. "" when the library refuses.
  std::string sign(std::string_view text) const;
  /// What verifies what it signed. Its id names the key in tokens and key sets: base64url of SHA-256 over the public
  /// key's DER form.
  const std::shared_ptr<const JwsKey>& public_key() const { return public_; }
  const std::string& id() const { return public_->id(); }
  /// Affine coordinates of the public point, 32 bytes each.
  const std::string& x() const { return x_; }
  const std::string& y() const { return y_; }

 private:
  SigningKey() = default;
  bool read_public_parts();

  void* key_ = nullptr;  // EVP_PKEY: OpenSSL's headers stay in the source file
  std::shared_ptr<const JwsKey> public_;
  std::string x_, y_;
};

}  // namespace sublet::apiserver
