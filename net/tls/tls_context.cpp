#include "sublet/net/tls_context.h"

#include "sublet/net/openssl_ptr.h"

namespace sublet::net {
namespace {

std::string alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const auto& protocol : protocols) {
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

/// ALPN on the server's side: our order counts; no common protocol ends the handshake, as RFC 7301 asks.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void* wire_text) {
  const auto& wire = *static_cast<const std::string*>(wire_text);
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(wire.data()),
                                          static_cast<unsigned int>(wire.size()), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

tl::unexpected<Status> bad_material(std::string_view what) {
  return bad_request(std::string(what) + ": " + openssl_error());
}

Outcome use_certificate(SSL_CTX* context, std::string_view certificate_pem, std::string_view key_pem) {
  const auto reader = pem_reader(certificate_pem);
  const X509Ptr leaf(PEM_read_bio_X509_AUX(reader.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) return bad_material("certificate");
  for (;;) {
    const X509Ptr next(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
    if (!next) break;
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return bad_material("certificate chain");
  }
  ERR_clear_error();  // "no start line" marks the end of the text
  const KeyPtr key = read_private_key(key_pem);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return bad_material("private key");
  if (SSL_CTX_check_private_key(context) != 1) return bad_material("the key does not belong to the certificate");
  return {};
}

/// Trusts every certificate in the text. `name_authorities`: also tell clients which authorities are accepted.
Outcome trust(SSL_CTX* context, std::string_view ca_pem, bool name_authorities) {
  const auto reader = pem_reader(ca_pem);
  int count = 0;
  for (;; ++count) {
    const X509Ptr authority(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
    if (!authority) break;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    if (name_authorities) SSL_CTX_add_client_CA(context, authority.get());
  }
  if (count == 0) return bad_material("certificate authority");
  ERR_clear_error();
  return {};
}

/// What both sides share. No resumption: a virtual cluster's clients keep their connections, and sessions and tickets
/// would cost memory per connection and a message per handshake (docs/decisions/net-tls.md).
void apply_common_settings(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // No automatic chain: the peer has the root already, and would keep our copy of it for the connection's life.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(context, 1);  // one read() per burst instead of two per record
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::shared_ptr<TlsContext>> TlsContext::server(const TlsServerConfig& config) {
  std::shared_ptr<TlsContext> tls(new TlsContext());
  tls->context_ = SSL_CTX_new(TLS_server_method());
  if (!tls->context_) return internal_error(openssl_error());
  apply_common_settings(tls->context_);
  if (auto used = use_certificate(tls->context_, config.certificate_pem, config.key_pem); !used)
    return fail(used.error());
  if (!config.client_ca_pem.empty()) {
    if (auto trusted = trust(tls->context_, config.client_ca_pem, true); !trusted) return fail(trusted.error());
    SSL_CTX_set_verify(tls->context_, SSL_VERIFY_PEER, nullptr);
  }
  tls->alpn_wire_ = alpn_wire(config.alpn);
  SSL_CTX_set_alpn_select_cb(tls->context_, choose_protocol, &tls->alpn_wire_);
  return tls;
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const TlsClientConfig& config) {
  std::shared_ptr<TlsContext> tls(new TlsContext());
  tls->context_ = SSL_CTX_new(TLS_client_method());
  if (!tls->context_) return internal_error(openssl_error());
  apply_common_settings(tls->context_);
  tls->server_name_ = config.server_name;
  tls->verifies_peer_ = !config.insecure_skip_verify;
  if (!config.certificate_pem.empty()) {
    if (auto used = use_certificate(tls->context_, config.certificate_pem, config.key_pem); !used)
      return fail(used.error());
  }
  if (tls->verifies_peer_) {
    SSL_CTX_set_verify(tls->context_, SSL_VERIFY_PEER, nullptr);
    if (config.ca_pem.empty()) {
      if (SSL_CTX_set_default_verify_paths(tls->context_) != 1) return bad_material("the system's roots");
    } else if (auto trusted = trust(tls->context_, config.ca_pem, false); !trusted) {
      return fail(trusted.error());
    }
  }
  tls->alpn_wire_ = alpn_wire({"http/1.1"});
  SSL_CTX_set_alpn_protos(tls->context_, reinterpret_cast<const unsigned char*>(tls->alpn_wire_.data()),
                          static_cast<unsigned int>(tls->alpn_wire_.size()));
  return tls;
}

}  // namespace sublet::net
