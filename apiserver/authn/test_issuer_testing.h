// TestIssuer: an OpenID Connect provider of the test's own: an HTTPS server with a discovery document, a key set and
// private keys that sign tokens. Test code only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "apiserver/tls_server_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {

class TestIssuer {
 public:
  TestIssuer();
  ~TestIssuer();
  TestIssuer(const TestIssuer&) = delete;
  TestIssuer& operator=(const TestIssuer&) = delete;

  std::string url() const { return server_.url(); }
  const std::string& ca_pem() const { return server_.ca_pem(); }
  /// A new key, which signs from now on; in the key set only if `shown`. Algorithms: RS256, PS256, ES256, ES384.
  void add_key(const std::string& id, const std::string& algorithm, bool shown = true);
  void show_key(const std::string& id);
  std::string sign(const std::string& id, const std::string& claims) const;
  /// Of its discovery document; "": its own.
  void claim_to_be(const std::string& issuer);
  void break_down(bool broken);
  int asked() const;

 private:
  struct Key {
    std::string algorithm, jwk;
    std::shared_ptr<EVP_PKEY> key;
    bool shown = true;
  };
  void serve(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink);

  TestTlsServer server_;
  mutable Mutex mutex_;
  std::map<std::string, Key> keys_ SUBLET_GUARDED_BY(mutex_);
  std::string claimed_issuer_ SUBLET_GUARDED_BY(mutex_);
  bool broken_ SUBLET_GUARDED_BY(mutex_) = false;
  int asked_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace sublet::apiserver
