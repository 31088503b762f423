#include "cluster/local/address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "sublet/base/descriptor.h"
#include "sublet/base/host_port.h"
#include "sublet/base/random.h"

namespace sublet::cluster {
namespace {

std::optional<int> port_of(const std::string& address) {
  const HostPort parts = split_host_port(address);
  if (!parts.port || parts.host != "127.0.0.1") return std::nullopt;
  const auto port = parse_port(*parts.port);
  return port != 0 ? port : std::nullopt;
}

// The port that a listener on `port` (0: any) gets; nullopt when it gets none.
std::optional<int> try_listen(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  const int yes = 1;  // as the server does: connections that have just ended do not count
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  const bool good = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(fd, 1) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  return good ? std::optional<int>(ntohs(address.sin_port)) : std::nullopt;
}

constexpr int kPortTries = 100;

// Below the ports of node port Services, and where no kernel's default takes the ports of connections from.
constexpr PortRange kListened{20'000, 29'999};

bool overlap(const PortRange& a, const PortRange& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

PortRange connection_ports() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  PortRange range;
  return file >> range.first >> range.last ? range : PortRange{};
}

Result<std::string> choose_address() {
  constexpr std::uint64_t kPorts = kListened.last - kListened.first + 1;
  if (!overlap(kListened, connection_ports()))
    for (int i = 0; i < kPortTries; ++i)
      if (const auto port = try_listen(kListened.first + static_cast<int>(Random::system().next() % kPorts)))
        return "127.0.0.1:" + std::to_string(*port);
  if (const auto port = try_listen(0)) return "127.0.0.1:" + std::to_string(*port);
  return internal_error("cannot find a free port on 127.0.0.1");
}

bool is_local_address(const std::string& ip) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_in);
  auto* four = reinterpret_cast<sockaddr_in*>(&storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, ip.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
  } else if (::inet_pton(AF_INET6, ip.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    size = sizeof(sockaddr_in6);
  } else {
    return false;
  }
  const Descriptor socket(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), size) == 0;
}

bool address_is_free(const std::string& address) {
  const auto port = port_of(address);
  return port && try_listen(*port).has_value();
}

}  // namespace sublet::cluster
