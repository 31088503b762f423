// Authenticator: determines the User of a request: client certificate (CN, O), bearer token (static, service account,
// configured issuer), unix socket peer, in-process. Without credentials the user is system:anonymous; wrong credentials
// are refused. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Whose writes are the API server's own.
inline constexpr std::string_view kInProcessUser = "system:apiserver";

/// unauthorized when credentials are wrong. `snapshot` gives the state to check that a token's service
/// account and bound object still exist with the same uid; only tokens ask for it, and most requests come with a
/// certificate.
Result<User> authenticate(const net::Request& request, const ServerOptions& options,
                          const std::function<store::Snapshot()>& snapshot, Clock& clock);

/// The bearer token that the request shows; empty: none.
std::string presented_token(const net::Request& request);

struct TokenIdentity {
  User user;
  std::vector<std::string> audiences;  // the token's that were asked for
};
/// A bearer token alone (TokenReview). `audiences` empty: the server's own.
Result<TokenIdentity> authenticate_token(std::string_view token, const std::vector<std::string>& audiences,
                                         const ServerOptions& options, const store::Snapshot& pending, Clock& clock);

}  // namespace sublet::apiserver
