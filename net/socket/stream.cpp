#include "net/socket/stream.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace sublet::net {
namespace {

constexpr std::size_t kPlainWriteMax = 1 << 20;

class PlainStream final : public Stream {
 public:
  using Stream::Stream;

  Done read(char* out, std::size_t size) override {
    const auto got = ::recv(fd(), out, size, 0);
    if (got > 0) return {Io::ok, static_cast<std::size_t>(got)};
    if (got == 0) return {Io::end};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {Io::want_read};
    return from_errno("read");
  }

  Done write(const char* bytes, std::size_t size, bool more) override {
    const auto sent = ::send(fd(), bytes, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (sent >= 0) return {Io::ok, static_cast<std::size_t>(sent)};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {Io::want_write};
    return from_errno("write");
  }

  std::size_t write_size_max() const override { return kPlainWriteMax; }

  PeerIdentity take_peer() override {
    PeerIdentity identity;
    identity.address = peer_address(fd());
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    sockaddr_storage address{};
    socklen_t address_size = sizeof(address);
    if (::getsockname(fd(), reinterpret_cast<sockaddr*>(&address), &address_size) == 0 &&
        address.ss_family == AF_UNIX && ::getsockopt(fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
      identity.kind = PeerIdentity::Kind::unix_socket;
      identity.uid = static_cast<int>(credentials.uid);
      identity.pid = static_cast<int>(credentials.pid);
    }
    return identity;
  }
};

}  // namespace

void Stream::shutdown_writing() { ::shutdown(fd(), SHUT_WR); }

std::size_t Stream::unacknowledged() const {
  int bytes = 0;
  return ::ioctl(fd(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void Stream::reset_on_close() {
  const linger now{1, 0};
  ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

Stream::Done Stream::from_errno(const char* what) {
  const int code = errno;
  error_ = std::string(what) + ": " + std::strerror(code);
  return {code == ECONNRESET || code == EPIPE ? Io::end : Io::failed};
}

std::unique_ptr<Stream> make_plain_stream(Descriptor fd) { return std::make_unique<PlainStream>(std::move(fd)); }

std::string peer_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "unknown";
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
    return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.sin6_port));
  }
  return "unix";
}

}  // namespace sublet::net
