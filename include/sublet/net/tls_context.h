// TLS: one shared OpenSSL context per server or client, and functions that make keys and certificates.
//
// TlsContext is immutable and shared by all connections. Settings that matter for memory: release-buffers mode, no
// session cache, TLS 1.2+. ALPN offers what `alpn` lists, in order ("http/1.1" today, "h2" before it later).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"

struct ssl_ctx_st;

namespace sublet::net {

struct TlsServerConfig {
  std::string certificate_pem;  // chain, leaf first
  std::string key_pem;
  std::string client_ca_pem;  // empty: the server requests no client certificates; else it verifies those that are sent
  std::vector<std::string> alpn = {"http/1.1"};
};

struct TlsClientConfig {
  std::string ca_pem;                    // empty and !insecure: the system's roots
  std::string certificate_pem, key_pem;  // empty: none
  std::string server_name;               // verified, and sent as SNI; empty: the endpoint's host
  bool insecure_skip_verify = false;
};

class TlsContext {
 public:
  static Result<std::shared_ptr<TlsContext>> server(const TlsServerConfig& config);
  static Result<std::shared_ptr<TlsContext>> client(const TlsClientConfig& config);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* native() const { return context_; }
  const std::string& server_name() const { return server_name_; }
  /// Returns false for a client that skips verification.
  bool verifies_peer() const { return verifies_peer_; }

 private:
  TlsContext() = default;
  ssl_ctx_st* context_ = nullptr;
  std::string server_name_;
  std::string alpn_wire_;  // length-prefixed, as OpenSSL wants it
  bool verifies_peer_ = true;
};

/// A key and its certificate, PEM.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool is_ca = false;
  bool client_auth = false, server_auth = false;
  std::chrono::hours lifetime{24 * 365};
};

/// Makes an ECDSA P-256 key and its certificate, self-signed when `issuer` is null.
Result<KeyPair> make_certificate(const CertificateRequest& request, const KeyPair* issuer,
                                 WallTime now = Clock::system().now());
/// Makes an ECDSA P-256 key for service account tokens, PEM (SEC1).
Result<std::string> make_key();
/// Returns the end of the (first) certificate in the text.
std::optional<WallTime> certificate_not_after(std::string_view pem);
/// Returns the PeerIdentity::sha256 of a peer with the first certificate in the text; "" when there is none.
std::string certificate_sha256(std::string_view pem);

}  // namespace sublet::net
