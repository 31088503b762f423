// Endpoint: an address and a port, and the non-blocking sockets at it. Values; any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "dns/wire.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/status.h"

namespace sublet::dns {

struct Endpoint {
  Address address;
  std::uint16_t port = 0;

  /// "10.0.0.1:53", "[fd00::1]:53".
  static Result<Endpoint> parse(const std::string& text);
  static Endpoint from(const sockaddr_storage& address);
  std::string text() const;
  /// Gives the size.
  socklen_t fill(sockaddr_storage& address) const;
};

/// `type`: SOCK_DGRAM or SOCK_STREAM.
Descriptor open_socket(const Endpoint& endpoint, int type);
/// Bound, and listening when it is a stream; `endpoint` gets the port.
Result<Descriptor> bind_socket(Endpoint& endpoint, int type);

}  // namespace sublet::dns
