// Authenticator: from a request to a User: client certificate (CN, O), bearer token (static, service-account JWT), unix
// socket peer, in-process. Everyone known is admin until RBAC comes; 401 for anyone else but on health and version.
// Threads: any.
#pragma once

#include <optional>
#include <string>

#include "sublet/apiserver/server.h"

namespace sublet::apiserver {

/// unauthorized when credentials are missing or wrong. `pending` is for checking that a token's service account and
/// bound object still exist with the same uid.
Result<User> authenticate(const net::Request& request, const ServerOptions& options, const store::Snapshot& pending,
                          Clock& clock);

}  // namespace sublet::apiserver
