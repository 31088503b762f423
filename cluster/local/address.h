// Addresses on which our own servers listen: 127.0.0.1 and a free port.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cluster {

struct PortRange {
  int first = 0, last = 0;
};
/// The ports that the kernel gives to outgoing connections; {0, 0} when unknown.
PortRange connection_ports();

/// Returns "127.0.0.1:<port>", free now and outside the kernel's range for outgoing connections: the server must find
/// the port free at every later start, beside thousands of connections.
Result<std::string> choose_address();
/// True when a process of this machine can listen on the IP address.
bool is_local_address(const std::string& ip);
/// False when another process listens there, or there is no such address.
bool address_is_free(const std::string& address);

}  // namespace sublet::cluster
