#include "apiserver/authn/service_account_token.h"

#include <algorithm>
#include <list>
#include <unordered_set>

#include "apiserver/authn/signing_key.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kTokenMax = 16 * 1024;
constexpr std::string_view kPrivateClaims = "kubernetes.io";
// Clocks of signer and verifier are one clock here; the leeway is for tokens that were checked elsewhere on the way.
constexpr std::int64_t kLeeway = 10;

tl::unexpected<Status> refuse(std::string why) { return fail(Reason::unauthorized, std::move(why)); }

/// Tokens whose signature was found right: a client sends the same one with every request. Bounded; the oldest go.
class SignatureCache {
 public:
  bool knows(const std::string& entry) {
    MutexLock lock(mutex_);
    return known_.contains(entry);
  }
  void add(const std::string& entry) {
    MutexLock lock(mutex_);
    if (!known_.insert(entry).second) return;
    order_.push_back(entry);
    if (order_.size() <= kEntriesMax) return;
    known_.erase(order_.front());
    order_.pop_front();
  }

 private:
  static constexpr std::size_t kEntriesMax = 128;
  Mutex mutex_;
  std::unordered_set<std::string> known_ SUBLET_GUARDED_BY(mutex_);
  std::list<std::string> order_ SUBLET_GUARDED_BY(mutex_);
};

SignatureCache& signature_cache() {
  static SignatureCache cache;
  return cache;
}

void put_subject(Value claims, std::string_view name, const TokenSubject& subject) {
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
  put_subject(own, "node", claims.node);
  put_subject(own, "pod", claims.pod);
  put_subject(own, "secret", claims.secret);
  put_subject(own, "serviceaccount", claims.account);
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

struct Parts {
  std::string_view header, payload, signature, signed_text;
};

std::optional<Parts> split(std::string_view token) {
  auto first = token.find('.');
  auto second = token.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

std::optional<Document> decode_part(std::string_view part) {
  auto text = schema::base64url_decode(part);
  if (!text) return std::nullopt;
  auto document = Document::parse_json(*text);
  if (!document || !document->root().is_object()) return std::nullopt;
  return std::move(*document);
}

std::string cache_entry(const SigningKey& key, std::string_view token) { return key.id() + "." + std::string(token); }

Outcome check_signature(const std::string& keys_pem, const Parts& parts, std::string_view token) {
  const auto keys = SigningKey::load_all(keys_pem);
  if (!keys) return fail(keys.error());
  for (const auto& key : **keys)
    if (signature_cache().knows(cache_entry(*key, token))) return {};
  auto header = decode_part(parts.header);
  if (!header || (*header)["alg"].text() != "ES256") return refuse("token is not signed with ES256");
  const auto signature = schema::base64url_decode(parts.signature);
  const auto id = (*header)["kid"].text();
  for (const auto& key : **keys) {
    if (!signature || (!id.empty() && id != key->id()) || !key->verify(parts.signed_text, *signature)) continue;
    signature_cache().add(cache_entry(*key, token));
    return {};
  }
  return refuse("invalid signature");
}

Outcome check_claims(const TokenClaims& claims, std::string_view issuer, const std::vector<std::string>& audiences,
                     WallTime now) {
  if (claims.issuer != issuer) return refuse("token is of another issuer");
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (claims.expires_at == 0 || seconds > claims.expires_at + kLeeway) return refuse("token has expired");
  if (seconds + kLeeway < claims.not_before) return refuse("token is not valid yet");
  bool meant = std::any_of(claims.audiences.begin(), claims.audiences.end(), [&](const std::string& audience) {
    return std::find(audiences.begin(), audiences.end(), audience) != audiences.end();
  });
  if (!meant) return refuse("token audiences do not include any that is asked for");
  if (!claims.account || claims.namespace_name.empty()) return refuse("token names no service account");
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
  if (token.size() > kTokenMax) return refuse("token is too long");
  auto parts = split(token);
  if (!parts) return refuse("token is no JWT");
  if (auto outcome = check_signature(keys_pem, *parts, token); !outcome) return fail(outcome.error());
  auto payload = decode_part(parts->payload);
  if (!payload) return refuse("token has no readable claims");
  auto claims = claims_of(payload->root());
  if (auto outcome = check_claims(claims, issuer, audiences, now); !outcome) return fail(outcome.error());
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
  for (const auto& key : **all) {
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
