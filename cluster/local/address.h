// Addresses on which our own servers listen: 127.0.0.1 and a port that nobody else has.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cluster {

struct PortRange {
  int first = 0, last = 0;
};
/// Which ports the kernel gives to outgoing connections; {0, 0} when it does not say.
PortRange connection_ports();

/// "127.0.0.1:<port>", free at this moment, and not one that the kernel gives to a connection: what listens there must
/// find it free again whenever it starts, also after years, beside thousands of connections.
Result<std::string> choose_address();
/// False when another process listens there, or there is no such address.
bool address_is_free(const std::string& address);

}  // namespace sublet::cluster
