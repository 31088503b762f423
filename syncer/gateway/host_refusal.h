// What the host refused a stream with, in words for the tenant. Pure.
#pragma once

#include <string>

#include "syncer/from_host/host_text.h"

namespace sublet::syncer {

/// A Status of the host's API server with its messages and its details' name as tenant_text() says them; "" when `body`
/// is none, or none about `names.host_name` where `named_only`.
std::string tenant_refusal(const std::string& body, const HostTextNames& names, bool named_only);
/// What comes on the error channel of a session that has begun: a Status without kind, or a mere text.
std::string tenant_session_error(std::string_view message, const HostTextNames& names);

}  // namespace sublet::syncer
