#include "apiserver/authn/service_account_token.h"

#include <algorithm>

#include "apiserver/authn/jwt.h"
#include "apiserver/authn/refuse_token.h"
#include "apiserver/authn/signing_key.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kPrivateClaims = "kubernetes.io";
// Clocks of signer and verifier are one clock here; the leeway is for tokens that were checked elsewhere on the way.
constexpr std::int64_t kLeeway = 10;

void put_token_subject(Value claims, std::string_view name, const TokenSubject& subject) {
  if (!subject) return;
  auto member = claims.object(name);
  member.put("name", subject.name);
  member.put("uid", subject.uid);
}

TokenSubject subject_of(const Value& claims, std::string_view name) {
  return {claims[name]["name"].string(), claims[name]["uid"].string()};
}

Document payload_of(const TokenClaims& claims) {
  auto payload = Document::object();
  auto root = payload.root();
  auto audiences = root.array("aud");
  for (const auto& audience : claims.audiences) audiences.push(audience);
  root.put("exp", claims.expires_at);
  root.put("iat", claims.issued_at);
  root.put("iss", claims.issuer);
  root.put("jti", claims.id);
  auto own = root.object(kPrivateClaims);
  own.put("namespace", claims.namespace_name);
  put_token_subject(own, "node", claims.node);
  put_token_subject(own, "pod", claims.pod);
  put_token_subject(own, "secret", claims.secret);
  put_token_subject(own, "serviceaccount", claims.account);
  root.put("nbf", claims.not_before);
  root.put("sub", "system:serviceaccount:" + claims.namespace_name + ":" + claims.account.name);
  return payload;
}

TokenClaims claims_of(const Value& payload) {
  TokenClaims claims;
  auto own = payload[kPrivateClaims];
  claims.issuer = payload["iss"].string();
  claims.id = payload["jti"].string();
  claims.namespace_name = own["namespace"].string();
  if (payload["aud"].is_string()) claims.audiences.push_back(payload["aud"].string());
  for (auto audience : payload["aud"]) claims.audiences.push_back(audience.string());
  claims.account = subject_of(own, "serviceaccount");
  claims.pod = subject_of(own, "pod");
  claims.secret = subject_of(own, "secret");
  claims.node = subject_of(own, "node");
  claims.issued_at = payload["iat"].integer();
  claims.not_before = payload["nbf"].integer();
  claims.expires_at = payload["exp"].integer();
  return claims;
}

/// ["a" "b"], as Go prints them.
std::string audience_list(const std::vector<std::string>& texts) {
  std::string all = "[";
  for (const auto& text : texts) all += (all.size() > 1 ? " \"" : "\"") + text + "\"";
  return all + "]";
}

Outcome check_claims(const TokenClaims& claims, const std::vector<std::string>& audiences, WallTime now) {
  bool meant = std::any_of(claims.audiences.begin(), claims.audiences.end(), [&](const std::string& audience) {
    return std::find(audiences.begin(), audiences.end(), audience) != audiences.end();
  });
  if (!meant)
    return refuse_token("token audiences " + audience_list(claims.audiences) + " is invalid for the target audiences " +
                        audience_list(audiences));
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (claims.expires_at == 0 || seconds > claims.expires_at + kLeeway)
    return refuse_token("service account token has expired");
  if (seconds + kLeeway < claims.not_before) return refuse_token("service account token is not valid yet");
  if (!claims.account || claims.namespace_name.empty()) return refuse_token("token names no service account");
  return {};
}

}  // namespace

Result<std::string> sign_token(const std::string& keys_pem, const TokenClaims& claims) {
  auto key = SigningKey::load(keys_pem);
  if (!key) return fail(key.error());
  auto header = Document::object();
  header.root().put("alg", "ES256");
  header.root().put("kid", (*key)->id());
  auto text = schema::base64url_encode(header.to_json()) + "." + schema::base64url_encode(payload_of(claims).to_json());
  auto signature = (*key)->sign(text);
  if (signature.empty()) return internal_error("the service account key cannot sign");
  return text + "." + schema::base64url_encode(signature);
}

Result<TokenClaims> verify_token(const std::string& keys_pem, std::string_view token, std::string_view issuer,
                                 const std::vector<std::string>& audiences, WallTime now) {
  const auto parts = split_jwt(token);
  const auto payload = parts ? decode_jwt_part(parts->payload) : std::nullopt;
  if (!payload) return refuse_token(std::string(kUnknownToken));
  auto claims = claims_of(payload->root());
  if (claims.issuer != issuer) return refuse_token(std::string(kUnknownToken));
  const auto keys = SigningKey::load_all(keys_pem);
  if (!keys) return fail(keys.error());
  if (!check_signature((*keys)->public_keys, *parts))
    return refuse_token("go-jose/go-jose: error in cryptographic primitive");
  if (auto outcome = check_claims(claims, audiences, now); !outcome) return fail(outcome.error());
  return claims;
}

std::string openid_configuration(std::string_view issuer, std::string_view key_set_url) {
  auto document = Document::object();
  auto root = document.root();
  root.put("issuer", issuer);
  root.put("jwks_uri", key_set_url);
  root.array("response_types_supported").push("id_token");
  root.array("subject_types_supported").push("public");
  root.array("id_token_signing_alg_values_supported").push("ES256");
  return document.to_json();
}

Result<std::string> json_web_key_set(const std::string& keys_pem) {
  const auto all = SigningKey::load_all(keys_pem);
  if (!all) return fail(all.error());
  auto document = Document::object();
  auto keys = document.root().array("keys");
  for (const auto& key : (*all)->keys) {
    auto entry = keys.push_object();
    entry.put("use", "sig");
    entry.put("kty", "EC");
    entry.put("kid", key->id());
    entry.put("crv", "P-256");
    entry.put("alg", "ES256");
    entry.put("x", schema::base64url_encode(key->x()));
    entry.put("y", schema::base64url_encode(key->y()));
  }
  return document.to_json();
}

}  // namespace sublet::apiserver
