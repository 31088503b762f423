// Pkcs10: a certificate request, taken apart. OpenSSL's own X509_REQ decodes the public key of each that it reads
// through its decoders, which takes longer than all else of a create; here the key is made when its signature is
// looked at, of the kinds that Go's x509 verifies: RSA, ECDSA on a named curve, Ed25519.
//
// Immutable. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::apiserver {

class Pkcs10 {
 public:
  /// Nothing: it is no request, or more than one.
  static std::optional<Pkcs10> parse(std::string_view der);

  /// Its signature is by its own key.
  bool is_signed() const;
  /// The organizations (groups) of its subject.
  std::vector<std::string> organizations() const;

  struct Form;

 private:
  struct Free {
    void operator()(Form* form) const;
  };
  explicit Pkcs10(Form* form) : form_(form) {}

  std::unique_ptr<Form, Free> form_;
};

}  // namespace sublet::apiserver
