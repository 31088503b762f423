// TLS directly on a non-blocking descriptor: OpenSSL with a BIO of our own, so that a write to a closed peer raises no
// signal and no second pair of buffers lies between the socket and the records.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/socket/stream.h"
#include "net/tls/certificate_parts.h"
#include "sublet/net/openssl_ptr.h"

namespace sublet::net {
namespace {

constexpr std::size_t kRecordMax = 16 * 1024;

// The BIO -------------------------------------------------------------------------------------------------------------

int descriptor_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

/// Of the write that this thread is in: OpenSSL has no way to say it to the BIO.
thread_local bool more_follows = false;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int flags = MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0);
  const auto sent = ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(size), flags);
  if (sent < 0 && would_block()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* out, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(descriptor_of(bio), out, static_cast<std::size_t>(size), 0);
  if (got < 0 && would_block()) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_bio() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sublet socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// The peer ------------------------------------------------------------------------------------------------------------

std::string entry_text(const X509_NAME_ENTRY* entry) { return utf8_text(X509_NAME_ENTRY_get_data(entry)); }

void read_subject(X509* certificate, PeerIdentity& identity) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;)
    identity.organizations.push_back(entry_text(X509_NAME_get_entry(subject, at)));
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
    identity.common_name = entry_text(X509_NAME_get_entry(subject, at));  // the last one counts, as in Go
}

/// Gives back what a verified certificate holds in memory, about 3 of its 4 KiB. OpenSSL keeps the object in the
/// session for the connection's life and offers no way to drop it, but nothing reads it any more: there is no
/// renegotiation, no resumption and no request for another certificate. Called for thousands of idle watches, it is
/// worth its oddness.
void shrink(X509* certificate) {
  static const KeyPtr tiny_key = [] {
    constexpr unsigned char kBytes[32] = {};
    return KeyPtr(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, kBytes, sizeof(kBytes)));
  }();
  static X509_NAME* const no_name = X509_NAME_new();
  X509_set_pubkey(certificate, tiny_key.get());
  X509_set_subject_name(certificate, no_name);
  X509_set_issuer_name(certificate, no_name);
  while (X509_get_ext_count(certificate) > 0) X509_EXTENSION_free(X509_delete_ext(certificate, 0));
  ERR_clear_error();
}

/// Gives back the authorities that the peer sent behind its certificate, 3 KiB each: clients that hold the server's
/// root add it by themselves. The stacks stay with the session, empty.
void drop_authorities(SSL* ssl) {
  for (STACK_OF(X509) * chain : {SSL_get_peer_cert_chain(ssl), SSL_get0_verified_chain(ssl)})
    while (chain && sk_X509_num(chain) > 0) X509_free(sk_X509_pop(chain));
}

/// Gives back what both keys of the handshake's key exchange hold, 400 bytes: OpenSSL keeps them for the connection's
/// life, but only a handshake would read them, and there is no other.
void drop_exchange_keys(SSL* ssl) {
  const auto drop = [](EVP_PKEY* raw) {
    const KeyPtr key(raw);  // our reference; the content is shared
    EVP_PKEY_set_type(key.get(), EVP_PKEY_ED25519);
  };
  if (EVP_PKEY* peers = nullptr; SSL_get_peer_tmp_key(ssl, &peers) == 1) drop(peers);
  if (EVP_PKEY* ours = nullptr; SSL_get_tmp_key(ssl, &ours) == 1) drop(ours);
  ERR_clear_error();
}

// The stream ----------------------------------------------------------------------------------------------------------

Result<SslPtr> new_ssl(TlsContext& context, int fd) {
  SslPtr ssl(SSL_new(context.native()));
  BIO* bio = ssl ? BIO_new(socket_bio()) : nullptr;
  if (!bio) return internal_error("TLS: " + openssl_error());
  // A BIO of our own has one pointer, and the descriptor is all that it needs.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);  // one reference serves both directions
  return ssl;
}

class TlsStream final : public Stream {
 public:
  /// Without `ssl` a server's: OpenSSL's part is made when the handshake begins, since it is 10 KiB and more.
  TlsStream(Descriptor fd, std::shared_ptr<TlsContext> context, SslPtr ssl)
      : Stream(std::move(fd)), context_(std::move(context)), ssl_(std::move(ssl)) {}

  Io handshake() override {
    if (!ssl_ && !accept()) return Io::failed;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) return classify(result, "TLS handshake").io;
    return Io::ok;
  }

  std::string_view protocol() const override {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  Done read(char* out, std::size_t size) override {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), out, size, &got);
    const auto done = result == 1 ? Done{Io::ok, got} : classify(result, "TLS read");
    starved_ = done.io == Io::want_read;
    return done;
  }

  Done write(const char* bytes, std::size_t size, bool more) override {
    ERR_clear_error();
    std::size_t sent = 0;
    more_follows = more;
    const int result = SSL_write_ex(ssl_.get(), bytes, size, &sent);
    more_follows = false;
    return result == 1 ? Done{Io::ok, sent} : classify(result, "TLS write");
  }

  std::size_t write_size_max() const override { return kRecordMax; }
  /// The first bytes of a record whose rest is still on its way do not count: epoll will report the rest.
  bool holds_input() const override { return !starved_ && SSL_has_pending(ssl_.get()) == 1; }

  void shutdown_writing() override {
    ERR_clear_error();
    if (ssl_ && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());  // the alert; we do not wait for the peer's
    ERR_clear_error();
    Stream::shutdown_writing();
  }

  PeerIdentity take_peer() override {
    PeerIdentity identity;
    identity.address = peer_address(fd());
    drop_exchange_keys(ssl_.get());
    const X509Ptr certificate(SSL_get1_peer_certificate(ssl_.get()));
    if (!certificate || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return identity;
    identity.kind = PeerIdentity::Kind::certificate;
    identity.sha256 = sha256_hex(certificate.get());
    read_subject(certificate.get(), identity);
    shrink(certificate.get());
    drop_authorities(ssl_.get());
    return identity;
  }

 private:
  bool accept() {
    auto ssl = new_ssl(*context_, fd());
    if (!ssl) {
      error_ = ssl.error().message;
      return false;
    }
    ssl_ = std::move(*ssl);
    SSL_set_accept_state(ssl_.get());
    return true;
  }

  Done classify(int result, const char* what) {
    const int saved_errno = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {Io::want_read};
      case SSL_ERROR_WANT_WRITE:
        return {Io::want_write};
      case SSL_ERROR_ZERO_RETURN:
        return {Io::end};
      case SSL_ERROR_SYSCALL:
        errno = saved_errno;
        ERR_clear_error();
        if (saved_errno == 0) errno = ECONNRESET;
        return from_errno(what);
      default:
        return from_queue(what);
    }
  }

  Done from_queue(const char* what) {
    const unsigned long code = ERR_peek_error();
    error_ = std::string(what) + ": " + openssl_error();
    const long verdict = SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK && context_->verifies_peer())
      error_ += std::string(" (") + X509_verify_cert_error_string(verdict) + ")";
    return {ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? Io::end : Io::failed};
  }

  std::shared_ptr<TlsContext> context_;  // the ALPN callback reads it
  SslPtr ssl_;
  bool starved_ = false;  // the last read wanted more from the socket
};

bool is_ip_address(const std::string& text) {
  unsigned char scratch[16];
  return ::inet_pton(AF_INET, text.c_str(), scratch) == 1 || ::inet_pton(AF_INET6, text.c_str(), scratch) == 1;
}

/// Whom the certificate must name; SNI carries names only.
bool expect_peer(SSL* ssl, const std::string& name) {
  if (name.empty()) return false;
  if (is_ip_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set_tlsext_host_name(ssl, name.c_str()) == 1 && SSL_set1_host(ssl, name.c_str()) == 1;
}

}  // namespace

std::unique_ptr<Stream> make_tls_server_stream(Descriptor fd, std::shared_ptr<TlsContext> context) {
  return std::make_unique<TlsStream>(std::move(fd), std::move(context), nullptr);
}

Result<std::unique_ptr<Stream>> make_tls_client_stream(Descriptor fd, std::shared_ptr<TlsContext> context,
                                                       const std::string& host) {
  auto ssl = new_ssl(*context, fd.get());
  if (!ssl) return fail(ssl.error());
  SSL_set_connect_state(ssl->get());
  const std::string& name = context->server_name().empty() ? host : context->server_name();
  if (!expect_peer(ssl->get(), name) && context->verifies_peer())
    return fail(Reason::service_unavailable, "TLS: no name or address to verify the server's certificate against");
  return std::make_unique<TlsStream>(std::move(fd), std::move(context), std::move(*ssl));
}

}  // namespace sublet::net
