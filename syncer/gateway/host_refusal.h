// What the host refused a stream with, in words for the tenant. Pure.
#pragma once

#include <string>

#include "syncer/from_host/host_text.h"

namespace sublet::syncer {

/// A Status of the host's API server with its messages and its details' name as tenant_text() says them; "" when `body`
/// is none, or none about `names.host_name` where `named_only`.
std::string tenant_refusal(const std::string& body, const HostTextNames& names, bool named_only);

}  // namespace sublet::syncer
