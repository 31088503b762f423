#include "sublet/apiserver/configured_authentication.h"

#include <algorithm>
#include <utility>

#include "apiserver/authn/authentication_configuration.h"
#include "apiserver/authn/claim_mapping.h"
#include "apiserver/authn/issuer_keys.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// As go-oidc has it: another clock may be ahead.
constexpr std::int64_t kNotBeforeLeeway = 300;

tl::unexpected<Status> refuse_issuer_token(std::string why) {
  return fail(Reason::unauthorized, "oidc: verify token: oidc: " + std::move(why));
}

std::string quoted_texts(const std::vector<std::string>& texts) {
  std::string all = "[";
  for (const auto& text : texts) all += (all.size() == 1 ? "" : " ") + go_quoted(text);
  return all + "]";
}

Outcome check_audience(const JwtIssuer& issuer, const Value& audience) {
  std::vector<std::string> named;
  if (audience.is_string()) named.push_back(audience.string());
  if (audience.is_array())
    for (const Value each : audience) named.push_back(each.string());
  for (const auto& each : named)
    if (std::ranges::find(issuer.audiences, each) != issuer.audiences.end()) return {};
  if (issuer.audiences.size() == 1)
    return refuse_issuer_token("expected audience " + go_quoted(issuer.audiences[0]) + " got " + quoted_texts(named));
  auto sorted = issuer.audiences;
  std::ranges::sort(sorted);
  return refuse_issuer_token("expected audience in " + quoted_texts(sorted) + " got " + quoted_texts(named));
}

Outcome check_times(const Value& claims, WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  // Missing or no number: 1970, which is over.
  const double expires = claims["exp"].floating(), not_before = claims["nbf"].floating();
  if (expires < static_cast<double>(seconds)) return refuse_issuer_token("token is expired");
  if (not_before > static_cast<double>(seconds + kNotBeforeLeeway))
    return refuse_issuer_token("current time before the nbf (not before) time");
  return {};
}

}  // namespace

struct ConfiguredAuthentication::Impl {
  /// A token that says it is of an issuer of the configuration. Nothing of it is verified.
  struct Token {
    JwtParts parts;
    schema::Document claims;
    std::size_t issuer;  // its place
  };

  Impl(AuthenticationConfiguration configuration_, net::Loop& loop, net::AddressRules rules, Clock& clock_)
      : configuration(std::move(configuration_)),
        clock(clock_),
        client(std::make_unique<net::OutboundClient>(loop, std::move(rules))) {
    for (const auto& issuer : configuration.issuers)
      keys.push_back(std::make_shared<IssuerKeys>(issuer, loop, *client, clock));
  }

  /// nullopt: not a JWT, or from none of the issuers.
  std::optional<Token> read(std::string_view token) const {
    const auto parts = split_jwt(token);
    if (!parts) return std::nullopt;
    auto claims = decode_jwt_part(parts->payload);
    const std::string_view name = claims ? (*claims)["iss"].text() : "";
    const auto found = std::ranges::find(configuration.issuers, name, &JwtIssuer::url);
    if (name.empty() || found == configuration.issuers.end()) return std::nullopt;
    return Token{*parts, std::move(*claims), static_cast<std::size_t>(found - configuration.issuers.begin())};
  }

  const AuthenticationConfiguration configuration;
  Clock& clock;
  std::unique_ptr<net::OutboundClient> client;    // null: stopped
  std::vector<std::shared_ptr<IssuerKeys>> keys;  // as the issuers
};

Result<std::shared_ptr<ConfiguredAuthentication>> ConfiguredAuthentication::read(
    std::string_view text, const std::string& own_issuer, net::Loop& loop, net::AddressRules rules, Clock& clock) {
  auto configuration = read_authentication_configuration(text, own_issuer);
  if (!configuration) return fail(configuration.error());
  std::shared_ptr<ConfiguredAuthentication> made(
      new ConfiguredAuthentication(std::make_unique<Impl>(std::move(*configuration), loop, std::move(rules), clock)));
  for (const auto& keys : made->impl_->keys) keys->start();
  return made;
}

ConfiguredAuthentication::ConfiguredAuthentication(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ConfiguredAuthentication::~ConfiguredAuthentication() { stop(); }

void ConfiguredAuthentication::stop() {
  for (const auto& keys : impl_->keys) keys->stop();
  impl_->client.reset();
}

bool ConfiguredAuthentication::wait_for_keys(std::string_view token, std::function<void()> then) {
  const auto said = impl_->read(token);
  const auto header = said ? decode_jwt_part(said->parts.header) : std::nullopt;
  return header && impl_->keys[said->issuer]->wait_for((*header)["kid"].text(), std::move(then));
}

std::optional<Result<User>> ConfiguredAuthentication::user_of(std::string_view token) const {
  const auto said = impl_->read(token);
  if (!said) return std::nullopt;
  const JwtIssuer& issuer = impl_->configuration.issuers[said->issuer];
  const auto keys = impl_->keys[said->issuer]->keys();
  if (!keys) return fail(Reason::unauthorized, "oidc: authenticator not initialized");
  if (auto right = check_signature(*keys, said->parts); !right)
    return refuse_issuer_token("failed to verify signature: " + right.error().message);
  const Value claims = said->claims.root();
  if (auto right = check_audience(issuer, claims["aud"]); !right) return fail(right.error());
  if (auto right = check_times(claims, impl_->clock.now()); !right) return fail(right.error());
  return user_of_claims(issuer, claims);
}

bool ConfiguredAuthentication::admits_anonymous(std::string_view path) const {
  const auto& configuration = impl_->configuration;
  if (!configuration.anonymous) return false;
  const auto& paths = configuration.anonymous_paths;
  return paths.empty() || std::ranges::find(paths, path) != paths.end();
}

}  // namespace sublet::apiserver
