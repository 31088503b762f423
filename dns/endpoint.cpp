#include "dns/endpoint.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sublet/base/host_port.h"

namespace sublet::dns {
namespace {

constexpr int kBacklog = 128;
constexpr int kReceiveBytes = 1 << 20;  // a burst waits here

}  // namespace

Result<Endpoint> Endpoint::parse(const std::string& text) {
  const HostPort parts = split_host_port(text);
  const auto address = Address::parse(std::string(parts.host));
  const auto port = parse_port(parts.port.value_or(""));
  if (!address || !port) return bad_request(text + ": expected ADDRESS:PORT, the address in numbers");
  return Endpoint{*address, static_cast<std::uint16_t>(*port)};
}

Endpoint Endpoint::from(const sockaddr_storage& storage) {
  Endpoint endpoint;
  if (storage.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &storage, sizeof four);
    endpoint.address.size = 4;
    std::memcpy(endpoint.address.bytes.data(), &four.sin_addr, 4);
    endpoint.port = ntohs(four.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &storage, sizeof six);
    endpoint.address.size = 16;
    std::memcpy(endpoint.address.bytes.data(), &six.sin6_addr, 16);
    endpoint.port = ntohs(six.sin6_port);
  }
  return endpoint;
}

std::string Endpoint::text() const {
  const std::string host = address.size == 16 ? "[" + address.text() + "]" : address.text();
  return host + ":" + std::to_string(port);
}

socklen_t Endpoint::fill(sockaddr_storage& storage) const {
  storage = {};
  if (address.size == 4) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.bytes.data(), 4);
    std::memcpy(&storage, &four, sizeof four);
    return sizeof four;
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  std::memcpy(&six.sin6_addr, address.bytes.data(), 16);
  std::memcpy(&storage, &six, sizeof six);
  return sizeof six;
}

Descriptor open_socket(const Endpoint& endpoint, int type) {
  return Descriptor(::socket(endpoint.address.size == 4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Result<Descriptor> bind_socket(Endpoint& endpoint, int type) {
  const auto failed = [&](const char* what) {
    const std::string why = std::strerror(errno);
    return internal_error(std::string("cannot ") + what + " " + endpoint.text() +
                          (type == SOCK_DGRAM ? " (UDP): " : " (TCP): ") + why);
  };
  Descriptor made = open_socket(endpoint, type);
  if (!made) return failed("open a socket for");
  const int yes = 1;
  if (type == SOCK_STREAM) ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (type == SOCK_DGRAM) ::setsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  sockaddr_storage storage{};
  socklen_t size = endpoint.fill(storage);
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0) return failed("listen on");
  if (type == SOCK_STREAM && ::listen(made.get(), kBacklog) != 0) return failed("listen on");
  if (::getsockname(made.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return failed("listen on");
  endpoint = Endpoint::from(storage);
  return made;
}

}  // namespace sublet::dns
