// ServiceAccountToken: JWTs (ES256) that this server signs and verifies, and the two documents with which others can
// verify them. Pure, except a small cache of parsed keys and verified signatures.
//
// Verification covers signature, issuer, audience and times; authenticate_token() (authenticator.h) checks that the
// account and the bound object still exist. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// A named object with uid that a token names: the account itself, or what the token is bound to.
struct TokenSubject {
  std::string name, uid;
  explicit operator bool() const { return !name.empty(); }
};

struct TokenClaims {
  std::string issuer, namespace_name, id;  // id: "jti"
  std::vector<std::string> audiences;
  TokenSubject account, pod, secret, node;
  std::int64_t issued_at = 0, not_before = 0, expires_at = 0;  // seconds since 1970
};

/// `keys_pem`: EC private keys on P-256, one after the other: the first signs, and what any of them signed is good.
/// Fails with internal_error when one is none.
Result<std::string> sign_token(const std::string& keys_pem, const TokenClaims& claims);

/// The reason for refusing a token that this server did not sign; details are given for its own tokens only.
inline constexpr std::string_view kUnknownToken = "invalid bearer token";

/// unauthorized, with the reason in upstream's words, unless issuer, signature and times are right and one of
/// `audiences` is the token's.
/// The token says which of the keys signed it.
Result<TokenClaims> verify_token(const std::string& keys_pem, std::string_view token, std::string_view issuer,
                                 const std::vector<std::string>& audiences, WallTime now);

/// Body of /.well-known/openid-configuration.
std::string openid_configuration(std::string_view issuer, std::string_view key_set_url);
/// Body of /openid/v1/jwks (application/jwk-set+json).
Result<std::string> json_web_key_set(const std::string& keys_pem);

}  // namespace sublet::apiserver
