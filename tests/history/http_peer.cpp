#include "tests/history/http_peer.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace sublet::history {
namespace {

constexpr int kTimeoutSeconds = 120;  // of one read: only a server that hangs meets it

int dial(const bench::ClientTls& tls, int receive_buffer) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(tls.host().c_str(), tls.port().c_str(), &hints, &found) != 0) return -1;
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const timeval timeout{kTimeoutSeconds, 0};
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  if (receive_buffer > 0) ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const bool connected = ::connect(socket, found->ai_addr, found->ai_addrlen) == 0;
  ::freeaddrinfo(found);
  if (connected) return socket;
  ::close(socket);
  return -1;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

bool HttpPeer::connect(int receive_buffer) {
  if (ssl_ != nullptr) return true;
  const int socket = dial(tls_, receive_buffer);
  if (socket < 0) return false;
  {
    const MutexLock lock(mutex_);
    socket_ = socket;
  }
  rest_.clear();
  ssl_ = SSL_new(tls_.context());
  SSL_set_fd(ssl_, socket);
  if (!tls_.server_name().empty()) SSL_set_tlsext_host_name(ssl_, tls_.server_name().c_str());
  if (SSL_connect(ssl_) == 1) return true;
  close();
  return false;
}

void HttpPeer::abort() {
  const MutexLock lock(mutex_);
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void HttpPeer::close() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  ssl_ = nullptr;
  const MutexLock lock(mutex_);
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool HttpPeer::send(const bench::Request& request) {
  std::string bytes;
  bytes.append(request.method).append(" ").append(request.path).append(" HTTP/1.1\r\n").append(tls_.headers());
  bytes.append("Accept: application/json\r\n");
  if (!request.body.empty()) {
    bytes.append("Content-Type: ").append(request.content_type).append("\r\nContent-Length: ");
    bytes.append(std::to_string(request.body.size())).append("\r\n");
  }
  bytes.append("\r\n").append(request.body);
  ERR_clear_error();
  return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

bool HttpPeer::receive(std::string& out, std::size_t most) {
  if (!rest_.empty()) {
    out += std::exchange(rest_, {});
    return true;
  }
  char buffer[16 * 1024];
  ERR_clear_error();
  const int count = SSL_read(ssl_, buffer, static_cast<int>(std::min(most, sizeof buffer)));
  if (count <= 0) return false;
  out.append(buffer, static_cast<std::size_t>(count));
  return true;
}

bool HttpPeer::read_headers(std::string& headers) {
  std::size_t end = std::string::npos;
  while ((end = headers.find("\r\n\r\n")) == std::string::npos)
    if (!receive(headers, 16 * 1024)) return false;
  rest_ = headers.substr(end + 4);
  headers.resize(end + 2);
  return headers.starts_with("HTTP/1.1 ");
}

HttpAnswer HttpPeer::call(const bench::Request& request) {
  HttpAnswer answer;
  if (!connect(0)) return answer;
  answer.end = HttpAnswer::End::cut;
  std::string headers;
  if (!send(request) || !read_headers(headers)) {
    close();
    return answer;
  }
  answer.status = std::atoi(headers.c_str() + std::strlen("HTTP/1.1 "));
  const std::string lower = lower_case(headers), length_header = "\r\ncontent-length:";
  bool whole = true;
  if (const std::size_t at = lower.find(length_header); at != std::string::npos) {
    const std::size_t length = std::strtoull(lower.c_str() + at + length_header.size(), nullptr, 10);
    answer.body = std::exchange(rest_, {});
    while (whole && answer.body.size() < length) whole = receive(answer.body, 16 * 1024);
  } else {
    bench::ChunkDecoder chunks;
    std::string bytes;
    bool done = false;
    while (!done && (whole = receive(bytes, 16 * 1024))) done = chunks.feed(std::exchange(bytes, {}), answer.body);
  }
  if (whole) answer.end = HttpAnswer::End::answered;
  if (!whole || lower.find("\r\nconnection: close") != std::string::npos) close();
  return answer;
}

int HttpPeer::start_stream(const std::string& path, int receive_buffer) {
  close();
  std::string headers;
  if (!connect(receive_buffer) || !send({.path = path}) || !read_headers(headers)) {
    close();
    return 0;
  }
  chunks_ = {};
  stream_over_ = false;
  return std::atoi(headers.c_str() + std::strlen("HTTP/1.1 "));
}

bool HttpPeer::read_stream(std::string& out, std::size_t most) {
  if (stream_over_) return false;
  std::string bytes;
  if (!receive(bytes, most)) return false;
  stream_over_ = chunks_.feed(bytes, out);
  return true;
}

}  // namespace sublet::history
