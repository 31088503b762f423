// Tokens and key sets, which are strangers': whatever they say, they are read or refused with a reason; what nobody's
// key signed is never good, and claims make a user with a name or none. The first line is a key set's entry, the second
// a token; a third, if there is one, is claims.
#include "apiserver/authn/authentication_configuration.h"
#include "apiserver/authn/claim_mapping.h"
#include "apiserver/authn/jwt.h"
#include "apiserver/authn/service_account_token.h"
#include "patch_input.h"
#include "sublet/net/tls_context.h"

namespace {

using namespace sublet;
using namespace sublet::apiserver;

const AuthenticationConfiguration& configuration() {
  static const AuthenticationConfiguration kRead = *read_authentication_configuration(
      R"json({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[{"issuer":
      {"url":"https://a.test","audiences":["x"]},"claimMappings":{"username":{"expression":"claims.sub"},
      "groups":{"claim":"groups","prefix":"g:"},"uid":{"claim":"oid"},"extra":[{"key":"a.b/c","valueExpression":
      "claims.?team.orValue([])"}]},"claimValidationRules":[{"expression":"claims.size() < 20"}],
      "userValidationRules":[{"expression":"user.groups.all(g, g.startsWith('g:'))"}]}]})json",
      "https://own.test");
  return kRead;
}

void check_user(const std::optional<schema::Document>& claims) {
  if (!claims) return;
  const auto user = user_of_claims(configuration().issuers[0], claims->root());
  if (user ? user->name.empty() : user.error().message.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kOwnKey = *net::make_key();
  const std::string_view text = fuzz::text_of(data, size);
  const auto first = text.find('\n');
  const auto jwk = text.substr(0, first);
  const auto rest = first == std::string_view::npos ? std::string_view() : text.substr(first + 1);
  const auto second = rest.find('\n');
  const auto token = rest.substr(0, second);
  JwsKeys keys;
  if (const auto read = schema::Document::parse_json(jwk))
    if (auto key = JwsKey::of_jwk(read->root())) keys.push_back(std::move(key));
  if (const auto parts = split_jwt(token)) {
    const auto right = check_signature(keys, *parts);
    if (!right && right.error().message.empty()) std::abort();
    if (right && keys.empty()) std::abort();
    check_user(decode_jwt_part(parts->payload));
  }
  if (verify_token(kOwnKey, token, "https://own.test", {"x"}, {})) std::abort();
  if (second != std::string_view::npos)
    if (auto claims = schema::Document::parse_json(rest.substr(second + 1)); claims && claims->root().is_object())
      check_user(std::move(*claims));
  return 0;
}
