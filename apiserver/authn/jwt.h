// JWT: the compact form of a signed token, and checking its signature. Shared by service account tokens and those of
// other issuers. A token's content must not be used before check_signature() succeeds. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authn/jws_key.h"
#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct JwtParts {
  std::string_view header, payload, signature;  // base64url
  std::string_view signed_text, token;
};

inline constexpr std::size_t kTokenMax = 16 * 1024;

/// Three parts with dots between them; unauthorized with the reason.
Result<JwtParts> split_jwt(std::string_view token);
/// The header's or the payload's object.
std::optional<schema::Document> decode_jwt_part(std::string_view part);

using JwsKeys = std::vector<std::shared_ptr<const JwsKey>>;
/// unauthorized, with the reason, unless one of the keys made the signature; the token may say which one. Signatures
/// that were found right are remembered, as a client sends the same token with every request.
Outcome check_signature(const JwsKeys& keys, const JwtParts& parts);

}  // namespace sublet::apiserver
