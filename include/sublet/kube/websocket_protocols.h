// What browsers send in Sec-WebSocket-Protocol: protocols, and, as they can set no other header, a bearer token among
// them (k8s.io/apiserver/pkg/authentication/request/websocket).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/net/http.h"

namespace sublet::kube {

/// What a protocol that is a token begins with; the token is behind it in base64url.
inline constexpr std::string_view kBearerProtocol = "base64url.bearer.authorization.k8s.io.";

/// The protocols that are offered, in order, without a token.
std::vector<std::string> websocket_protocols(const net::Headers& headers);
/// The token of a request for a WebSocket; empty: there is none, or no protocol beside it that could be answered with.
std::string websocket_token(const net::Headers& headers);

}  // namespace sublet::kube
