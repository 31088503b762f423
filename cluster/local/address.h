// Addresses on which our own servers listen: 127.0.0.1 and a port that nobody else has.
#pragma once

#include <string>

#include "sublet/base/status.h"

namespace sublet::cluster {

/// "127.0.0.1:<port>", free at this moment.
Result<std::string> choose_address();
/// False when another process listens there, or there is no such address.
bool address_is_free(const std::string& address);

}  // namespace sublet::cluster
