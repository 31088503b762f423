#include "apiserver/authn/jwt.h"

#include <list>
#include <unordered_set>

#include "apiserver/authn/refuse_token.h"
#include "sublet/base/mutex.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

/// Tokens whose signature was found right. Bounded; the oldest go.
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

std::string cache_entry(const JwsKey& key, std::string_view token) {
  return key.fingerprint() + "." + std::string(token);
}

}  // namespace

Result<JwtParts> split_jwt(std::string_view token) {
  if (token.size() > kTokenMax) return refuse_token("token is too long");
  const auto first = token.find('.');
  const auto second = token.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return refuse_token("token is no JWT");
  return JwtParts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
                  token.substr(0, second), token};
}

std::optional<Document> decode_jwt_part(std::string_view part) {
  const auto text = schema::base64url_decode(part);
  if (!text) return std::nullopt;
  auto document = Document::parse_json(*text);
  if (!document || !document->root().is_object()) return std::nullopt;
  return std::move(*document);
}

Outcome check_signature(const JwsKeys& keys, const JwtParts& parts) {
  for (const auto& key : keys)
    if (signature_cache().knows(cache_entry(*key, parts.token))) return {};
  const auto header = decode_jwt_part(parts.header);
  if (!header) return refuse_token("token has no readable header");
  const auto algorithm = (*header)["alg"].text(), id = (*header)["kid"].text();
  if (!JwsKey::knows(algorithm)) return refuse_token("token is signed with no algorithm that is accepted");
  if (header->root().has("crit")) return refuse_token("token has critical headers that are not known");
  const auto signature = schema::base64url_decode(parts.signature);
  for (const auto& key : keys) {
    if (!signature || (!id.empty() && id != key->id()) || !key->verify(algorithm, parts.signed_text, *signature))
      continue;
    signature_cache().add(cache_entry(*key, parts.token));
    return {};
  }
  return refuse_token("invalid signature");
}

}  // namespace sublet::apiserver
