#include "controllers/tokens/bootstrap_token.h"

#include "sublet/controllers/lister.h"
#include "sublet/net/digest.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kPrefix = "bootstrap-token-";
constexpr std::size_t kIdSize = 6;

std::string datum(const schema::Value& secret, std::string_view key) {
  return schema::base64_decode(secret["data"][key].text()).value_or("");
}

}  // namespace

bool is_bootstrap_token(const store::Object& secret) {
  return namespace_of(secret) == kTokenNamespace && raw_of(secret, {"type"}) == "\"bootstrap.kubernetes.io/token\"";
}

BootstrapToken read_bootstrap_token(std::string_view name, const schema::Value& secret, WallTime now) {
  BootstrapToken token;
  token.id = datum(secret, "token-id");
  token.secret = datum(secret, "token-secret");
  if (const auto end = datum(secret, "expiration"); !end.empty()) {
    token.ends = parse_time(end);
    token.ended = !token.ends || *token.ends <= now;
    if (token.ended) token.ends.reset();
  }
  const bool named = token.id.size() == kIdSize && name == std::string(kPrefix) + token.id;
  token.signs = named && !token.secret.empty() && !token.ended && datum(secret, "usage-bootstrap-signing") == "true";
  return token;
}

std::string detached_signature(std::string_view content, const BootstrapToken& token) {
  auto header = schema::Document::object();
  header.root().put("alg", "HS256");
  header.root().put("kid", token.id);
  const auto first = schema::base64url_encode(header.to_json());
  const auto signature = net::hmac_sha256(token.secret, first + "." + schema::base64url_encode(content));
  return first + ".." + schema::base64url_encode({reinterpret_cast<const char*>(signature.data()), signature.size()});
}

}  // namespace sublet::controllers
