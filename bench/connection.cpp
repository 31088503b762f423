#include "bench/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sublet/base/host_port.h"
#include "sublet/base/text.h"

namespace sublet::bench {
namespace {

constexpr int kTimeoutSeconds = 60;  // of one read or write: bounds every run
thread_local std::array<char, 64 * 1024> scratch;

std::string tls_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.data();
}

std::unique_ptr<BIO, int (*)(BIO*)> memory(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

void trust(SSL_CTX* context, const std::string& ca_pem) {
  auto bio = memory(ca_pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
    X509_free(certificate);
  }
  ERR_clear_error();  // the end of the list counts as an error
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

void present(SSL_CTX* context, const kube::ClusterAccess& access) {
  if (access.client_certificate_pem.empty()) return;
  auto certificate_bio = memory(access.client_certificate_pem), key_bio = memory(access.client_key_pem);
  X509* certificate = PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr);
  if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1) {
    die("the kubeconfig's client certificate cannot be used: " + tls_error());
  }
  X509_free(certificate);
  EVP_PKEY_free(key);
}

int dial(const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) die("cannot resolve " + host);
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || ::connect(socket, found->ai_addr, found->ai_addrlen) != 0) {
    die("cannot connect to " + host + ":" + port + ": " + std::strerror(errno));
  }
  const int on = 1;
  const timeval timeout{kTimeoutSeconds, 0};
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  return socket;
}

}  // namespace

void die(const std::string& message) {
  std::fprintf(stderr, "sublet_bench: %s\n", message.c_str());
  std::_Exit(1);  // other threads may be in the middle of a call
}

ClientTls::ClientTls(const kube::ClusterAccess& access) : context_(SSL_CTX_new(TLS_client_method())) {
  const std::string_view scheme = "https://";
  if (!access.server.starts_with(scheme)) die("the server must be an https:// URL, not " + access.server);
  const std::string authority =
      access.server.substr(scheme.size(), access.server.find('/', scheme.size()) - scheme.size());
  const HostPort parts = split_host_port(authority);
  if (!parts.port) die("the server's URL has no port: " + access.server);
  host_ = parts.host;
  port_ = *parts.port;
  server_name_ = access.tls_server_name;
  headers_ = "Host: " + authority + "\r\n";
  if (!access.bearer_token.empty()) headers_ += "Authorization: Bearer " + access.bearer_token + "\r\n";
  if (!access.insecure_skip_tls_verify) trust(context_, access.ca_pem);
  present(context_, access);
  static constexpr unsigned char kHttp1[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context_, kHttp1, sizeof kHttp1 - 1);
  SSL_CTX_set_mode(context_, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
}

ClientTls::~ClientTls() { SSL_CTX_free(context_); }

bool ChunkDecoder::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && part_ != Part::done) {
    if (part_ == Part::data) {
      const std::size_t taken = std::min(remaining_, bytes.size());
      out.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      remaining_ -= taken;
      if (remaining_ == 0) part_ = Part::after_data;
      continue;
    }
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (part_ == Part::size) {
      std::from_chars(line_.data(), line_.data() + line_.size(), remaining_, 16);
      part_ = remaining_ == 0 ? Part::done : Part::data;
    } else {
      part_ = Part::size;
    }
    line_.clear();
  }
  return part_ == Part::done;
}

Connection::Connection(const ClientTls& tls) : tls_(tls), socket_(dial(tls.host(), tls.port())) {
  ssl_ = SSL_new(tls.context());
  SSL_set_fd(ssl_, socket_);
  if (!tls.server_name().empty()) SSL_set_tlsext_host_name(ssl_, tls.server_name().c_str());
  if (SSL_connect(ssl_) != 1) die("TLS handshake failed: " + tls_error());
}

Connection::~Connection() {
  SSL_free(ssl_);
  ::close(socket_);
}

void Connection::send(const Request& request) {
  std::string bytes;
  bytes.reserve(512 + request.body.size());
  bytes.append(request.method).append(" ").append(request.path).append(" HTTP/1.1\r\n").append(tls_.headers());
  bytes.append("Accept: application/json\r\n");
  if (request.gzip) bytes.append("Accept-Encoding: gzip\r\n");
  if (!request.body.empty()) {
    bytes.append("Content-Type: ").append(request.content_type).append("\r\nContent-Length: ");
    bytes.append(std::to_string(request.body.size())).append("\r\n");
  }
  bytes.append("\r\n").append(request.body);
  if (SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) <= 0) die("cannot send: " + tls_error());
}

std::string_view Connection::read_raw() {
  if (!pending_.empty()) {
    taken_ = std::exchange(pending_, {});
    return taken_;
  }
  const int count = SSL_read(ssl_, scratch.data(), static_cast<int>(scratch.size()));
  if (count > 0) return {scratch.data(), static_cast<std::size_t>(count)};
  const int error = SSL_get_error(ssl_, count);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN) return {};
  die("the server ended a connection: " + (errno != 0 ? std::string(std::strerror(errno)) : tls_error()));
}

Connection::Piece Connection::try_read(std::size_t most) {
  if (!pending_.empty()) {
    taken_ = std::exchange(pending_, {});
    return {taken_};
  }
  ERR_clear_error();
  const int count = SSL_read(ssl_, scratch.data(), static_cast<int>(std::min(most, scratch.size())));
  if (count > 0) return {{scratch.data(), static_cast<std::size_t>(count)}};
  const int error = SSL_get_error(ssl_, count);
  if (error == SSL_ERROR_WANT_READ) return {};
  return {.bytes = {}, .ended = error == SSL_ERROR_ZERO_RETURN, .broken = error != SSL_ERROR_ZERO_RETURN};
}

void Connection::read_headers(std::string& headers) {
  headers.clear();
  std::size_t end = std::string::npos;
  while ((end = headers.find("\r\n\r\n")) == std::string::npos) {
    const std::string_view bytes = read_raw();
    if (bytes.empty()) die("no answer within " + std::to_string(kTimeoutSeconds) + " s, or the connection was closed");
    headers.append(bytes);
  }
  pending_ = headers.substr(end + 4);
  headers.resize(end + 2);
}

Response Connection::call(const Request& request) {
  send(request);
  std::string headers;
  read_headers(headers);
  Response response;
  response.status = std::atoi(headers.c_str() + std::strlen("HTTP/1.1 "));
  const std::string lower = to_lower(headers);
  const std::string_view length_header = "\r\ncontent-length:";
  std::string rest = std::exchange(pending_, {});
  if (const std::size_t at = lower.find(length_header); at != std::string::npos) {
    const std::size_t length = std::strtoull(lower.c_str() + at + length_header.size(), nullptr, 10);
    response.body = std::move(rest);
    while (response.body.size() < length) {
      const std::string_view bytes = read_raw();
      if (bytes.empty()) die("an answer ended early");
      response.body.append(bytes);
    }
    return response;
  }
  ChunkDecoder decoder;
  bool done = decoder.feed(rest, response.body);
  while (!done) {
    const std::string_view bytes = read_raw();
    if (bytes.empty()) die("an answer ended early");
    done = decoder.feed(bytes, response.body);
  }
  return response;
}

Response Connection::expect(const Request& request) {
  Response response = call(request);
  if (response.status / 100 != 2) {
    die(std::string(request.method) + " " + request.path + " was answered " + std::to_string(response.status) + ": " +
        response.body.substr(0, 400));
  }
  return response;
}

void Connection::start_stream(const std::string& path) {
  send({.path = path});
  std::string headers;
  read_headers(headers);
  if (!headers.starts_with("HTTP/1.1 200")) die("the watch " + path + " was refused: " + headers + pending_);
}

void Connection::set_nonblocking() { fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK); }

}  // namespace sublet::bench
