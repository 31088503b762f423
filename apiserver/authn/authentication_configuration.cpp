#include "apiserver/authn/authentication_configuration.h"

#include <re2/re2.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "apiserver/authn/authentication_form.h"
#include "apiserver/authn/claim_mapping.h"
#include "apiserver/authn/https_url.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/text.h"
#include "sublet/net/openssl_ptr.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using patches::cel::Program;
using schema::Value;

constexpr std::size_t kIssuersMax = 64;

/// What is wrong, as upstream's field.ErrorList says it.
class Problems {
 public:
  void required(const std::string& path, std::string_view detail = {}) { add(path, "Required value", detail); }
  void duplicate(const std::string& path, std::string_view value) { add(path, "Duplicate value: " + go_quoted(value)); }
  void invalid(const std::string& path, std::string_view value, std::string_view detail) {
    add(path, "Invalid value: " + go_quoted(value), detail);
  }
  void add(const std::string& path, std::string what, std::string_view detail = {}) {
    what.insert(0, path + ": ");
    if (!detail.empty()) what.append(": ").append(detail);
    found_.push_back(std::move(what));
  }
  bool none() const { return found_.empty(); }
  std::string text() const {
    if (found_.size() == 1) return found_[0];
    std::string all;
    for (const auto& each : found_) all += (all.empty() ? "[" : ", ") + each;
    return all + "]";
  }

 private:
  std::vector<std::string> found_;
};

void check_url(const std::string& url, const std::string& path, Problems& problems) {
  const auto scheme = url.find("://");
  if (!url.starts_with("https://")) problems.invalid(path, url, "URL scheme must be https");
  const auto rest = scheme == std::string::npos ? url : url.substr(scheme + 3);
  const bool user = rest.substr(0, rest.find_first_of("/?#")).find('@') != std::string::npos;
  if (user) problems.invalid(path, url, "URL must not contain a username or password");
  const auto fragment = rest.find('#');
  const auto query = rest.substr(0, fragment).find('?');
  if (query != std::string::npos && query + 1 < std::min(fragment, rest.size()))
    problems.invalid(path, url, "URL must not contain a query");
  if (fragment != std::string::npos && fragment + 1 < rest.size())
    problems.invalid(path, url, "URL must not contain a fragment");
  if (url.starts_with("https://") && !user && !HttpsUrl::parse(url))
    problems.invalid(path, url, "URL must name a host, and a port that there is");
}

std::string without_slashes(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

bool has_certificate(const std::string& pem) {
  const net::X509Ptr read(PEM_read_bio_X509(net::pem_reader(pem).get(), nullptr, nullptr, nullptr));
  if (!read) ERR_clear_error();
  return read != nullptr;
}

void read_audiences(const Value& issuer, const std::string& path, JwtIssuer& made, Problems& problems) {
  const auto here = field_path(path, "audiences"), policy_path = field_path(path, "audienceMatchPolicy");
  for (const Value audience : issuer["audiences"]) {
    const auto where = field_path(here, made.audiences.size());
    if (audience.text().empty()) problems.required(where);
    if (std::ranges::find(made.audiences, audience.text()) != made.audiences.end())
      problems.duplicate(where, audience.text());
    made.audiences.push_back(audience.string());
  }
  if (made.audiences.empty()) return problems.required(here, "at least one " + here + " is required");
  const auto policy = issuer["audienceMatchPolicy"].text();
  if (made.audiences.size() > 1 && policy != "MatchAny")
    problems.invalid(policy_path, policy, "audienceMatchPolicy must be MatchAny for multiple audiences");
  if (made.audiences.size() == 1 && !policy.empty() && policy != "MatchAny")
    problems.invalid(policy_path, policy, "audienceMatchPolicy must be empty or MatchAny for single audience");
}

void read_issuer(const Value& issuer, const std::string& path, const std::string& own, JwtIssuer& made,
                 Problems& problems) {
  made.url = issuer["url"].string();
  made.discovery_url = issuer["discoveryURL"].string();
  made.ca_pem = issuer["certificateAuthority"].string();
  const auto url_path = field_path(path, "url"), discovery_path = field_path(path, "discoveryURL");
  if (made.url.empty()) {
    problems.required(url_path);
  } else {
    if (made.url == own)
      problems.invalid(url_path, made.url, "URL must not overlap with disallowed issuers: [" + own + "]");
    check_url(made.url, url_path, problems);
  }
  if (!made.discovery_url.empty()) {
    if (!made.url.empty() && without_slashes(made.url) == without_slashes(made.discovery_url))
      problems.invalid(discovery_path, made.discovery_url, "discoveryURL must be different from URL");
    check_url(made.discovery_url, discovery_path, problems);
  }
  read_audiences(issuer, path, made, problems);
  if (!made.ca_pem.empty() && !has_certificate(made.ca_pem))
    problems.invalid(field_path(path, "certificateAuthority"), "<omitted>",
                     "data does not contain any valid RSA or ECDSA certificates");
  if (const auto egress = issuer["egressSelectorType"].text(); !egress.empty())
    problems.invalid(field_path(path, "egressSelectorType"), egress,
                     "egress selectors are not supported by this API server: leave it out");
}

enum class Over : std::uint8_t { claims, claims_to_boolean, user };

std::optional<Program> compiled_program(const std::string& source, Over over, const std::string& path,
                                        Problems& problems) {
  auto program = Program::compile(source, over == Over::user ? user_environment() : claims_environment());
  if (!program) {
    problems.invalid(path, source,
                     "compilation failed: " + patches::cel::display_text(std::move(program.error()), source));
    return std::nullopt;
  }
  if (over != Over::claims && program->type() != patches::cel::Kind::boolean) {
    problems.invalid(path, source, "must evaluate to bool");
    return std::nullopt;
  }
  return std::move(*program);
}

void read_claim_rules(const Value& rules, const std::string& path, JwtIssuer& made, Problems& problems) {
  std::set<std::string> claims, expressions;
  std::size_t index = 0;
  for (const Value rule : rules) {
    const auto here = field_path(path, index++);
    const auto claim = rule["claim"].string(), expression = rule["expression"].string();
    if (!claim.empty() && !expression.empty()) {
      problems.invalid(here, claim, "claim and expression can't both be set");
    } else if (claim.empty() && expression.empty()) {
      problems.required(here, "claim or expression is required");
    } else if (!claim.empty()) {
      if (const auto message = rule["message"].text(); !message.empty())
        problems.invalid(field_path(here, "message"), message, "may not be specified when claim is set");
      if (!claims.insert(claim).second) problems.duplicate(field_path(here, "claim"), claim);
      made.required_claims.emplace_back(claim, rule["requiredValue"].string());
    } else {
      if (const auto value = rule["requiredValue"].text(); !value.empty())
        problems.invalid(field_path(here, "requiredValue"), value, "may not be specified when expression is set");
      if (!expressions.insert(expression).second)
        problems.duplicate(field_path(here, "expression"), expression);
      else if (auto program =
                   compiled_program(expression, Over::claims_to_boolean, field_path(here, "expression"), problems))
        made.claim_rules.push_back({std::move(*program), rule["message"].string()});
    }
  }
}

ClaimSource read_source(const Value& given, const std::string& path, Problems& problems) {
  ClaimSource source{given["claim"].string(), given["prefix"].string(), std::nullopt};
  const auto expression = given["expression"].string();
  if (!source.claim.empty() && !expression.empty())
    problems.invalid(path, "", "claim and expression can't both be set");
  else if (!expression.empty())
    source.expression = compiled_program(expression, Over::claims, field_path(path, "expression"), problems);
  return source;
}

ClaimSource read_prefixed(const Value& given, const std::string& path, bool required, Problems& problems) {
  auto source = read_source(given, path, problems);
  const bool expression = !given["expression"].text().empty(), prefix = given.has("prefix");
  if (required && source.claim.empty() && !expression) problems.required(path, "claim or expression is required");
  if (expression && source.claim.empty() && prefix)
    problems.invalid(field_path(path, "prefix"), source.prefix, "may not be specified when expression is set");
  if (!source.claim.empty() && !expression && !prefix)
    problems.required(field_path(path, "prefix"),
                      "prefix is required when claim is set. It can be set to an empty string to disable prefixing");
  return source;
}

void check_extra_key(const std::string& key, const std::string& path, Problems& problems) {
  static const re2::RE2 kSubdomain(R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)");
  static const re2::RE2 kPath(R"([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)");
  if (key.empty()) return problems.required(path);
  const auto slash = key.find('/');
  const auto domain = key.substr(0, slash);
  const auto rest = slash == std::string::npos ? "" : key.substr(slash + 1);
  if (domain.empty() || rest.empty())
    return problems.invalid(path, key, R"(must be a domain-prefixed path (such as "acme.io/foo"))");
  constexpr std::size_t kIssuerDomainMax = 253;
  if (domain.size() > kIssuerDomainMax) problems.invalid(path, domain, "must be no more than 253 characters");
  if (!re2::RE2::FullMatch(domain, kSubdomain))
    problems.invalid(path, domain,
                     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                     "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                     "validation is '" +
                         kSubdomain.pattern() + "')");
  if (!re2::RE2::FullMatch(rest, kPath))
    problems.invalid(path, rest, "Invalid path (regex used for validation is '" + kPath.pattern() + "')");
  if (std::ranges::any_of(key, [](char c) { return c >= 'A' && c <= 'Z'; }))
    problems.invalid(path, key, "must be lowercase");
  for (const std::string_view reserved : {"kubernetes.io", "k8s.io"})
    if (domain == reserved || domain.ends_with("." + std::string(reserved)))
      problems.invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
}

void read_extra(const Value& extra, const std::string& path, JwtIssuer& made, Problems& problems) {
  std::set<std::string> keys;
  std::size_t index = 0;
  for (const Value mapping : extra) {
    const auto here = field_path(path, index++), where = field_path(here, "valueExpression");
    const auto key = mapping["key"].string(), expression = mapping["valueExpression"].string();
    check_extra_key(key, field_path(here, "key"), problems);
    if (!keys.insert(key).second)
      problems.duplicate(field_path(here, "key"), key);
    else if (expression.empty())
      problems.required(where);
    else if (auto program = compiled_program(expression, Over::claims, where, problems))
      made.extra.emplace_back(key, std::move(*program));
  }
}

/// Whether the source selects that member of `claims`; searched in the text outside of strings.
bool selects(const Program& program, std::string_view member) {
  static const re2::RE2 kStrings(R"("(\\.|[^"\\])*"|'(\\.|[^'\\])*'|\s+)");
  std::string source = program.source();
  re2::RE2::GlobalReplace(&source, kStrings, "");
  return re2::RE2::PartialMatch(source, R"(\bclaims\.\??)" + std::string(member) + R"(\b)");
}

// An email address must be verified before it names a user.
void check_email(const JwtIssuer& made, const std::string& path, Problems& problems) {
  if (!made.username.expression || !selects(*made.username.expression, "email")) return;
  bool verified = selects(*made.username.expression, "email_verified");
  for (const auto& [key, program] : made.extra) verified = verified || selects(program, "email_verified");
  for (const auto& rule : made.claim_rules) verified = verified || selects(rule.expression, "email_verified");
  if (!verified)
    problems.invalid(
        field_path(path, "username.expression"), made.username.expression->source(),
        "claims.email_verified must be used in claimMappings.username.expression or "
        "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is "
        "used in claimMappings.username.expression");
}

void read_user_rules(const Value& rules, const std::string& path, JwtIssuer& made, Problems& problems) {
  std::set<std::string> seen;
  std::size_t index = 0;
  for (const Value rule : rules) {
    const auto here = field_path(field_path(path, index++), "expression");
    const auto expression = rule["expression"].string();
    if (expression.empty())
      problems.required(here);
    else if (!seen.insert(expression).second)
      problems.duplicate(here, expression);
    else if (auto program = compiled_program(expression, Over::user, here, problems))
      made.user_rules.push_back({std::move(*program), rule["message"].string()});
  }
}

JwtIssuer read_jwt(const Value& jwt, const std::string& path, const std::string& own, Problems& problems) {
  JwtIssuer made;
  const auto mappings = field_path(path, "claimMappings");
  const Value given = jwt["claimMappings"];
  read_issuer(jwt["issuer"], field_path(path, "issuer"), own, made, problems);
  read_claim_rules(jwt["claimValidationRules"], field_path(path, "claimValidationRules"), made, problems);
  made.username = read_prefixed(given["username"], field_path(mappings, "username"), true, problems);
  made.groups = read_prefixed(given["groups"], field_path(mappings, "groups"), false, problems);
  made.uid = read_source(given["uid"], field_path(mappings, "uid"), problems);
  read_extra(given["extra"], field_path(mappings, "extra"), made, problems);
  check_email(made, mappings, problems);
  read_user_rules(jwt["userValidationRules"], field_path(path, "userValidationRules"), made, problems);
  return made;
}

void read_anonymous(const Value& anonymous, AuthenticationConfiguration& made, Problems& problems) {
  if (anonymous.missing() || anonymous.is_null()) return;
  made.anonymous = anonymous["enabled"].boolean();
  for (const Value condition : anonymous["conditions"]) made.anonymous_paths.push_back(condition["path"].string());
  if (made.anonymous || made.anonymous_paths.empty()) return;
  std::string shown;
  for (const auto& path : made.anonymous_paths)
    shown += (shown.empty() ? "" : ",") + (R"({"Path":)" + go_quoted(path)) + "}";
  problems.add("anonymous.conditions", "Invalid value: [" + shown + "]",
               "enabled should be set to true when conditions are defined");
}

void check_unique(const AuthenticationConfiguration& made, Problems& problems) {
  std::set<std::string> urls, discoveries;
  for (std::size_t i = 0; i < made.issuers.size(); ++i) {
    const auto path = field_path(field_path("jwt", i), "issuer");
    const std::string &url = made.issuers[i].url, &discovery = made.issuers[i].discovery_url;
    if (!urls.insert(url).second) problems.duplicate(field_path(path, "url"), url);
    if (!discovery.empty() && !discoveries.insert(discovery).second)
      problems.duplicate(field_path(path, "discoveryURL"), discovery);
  }
}

}  // namespace

Result<AuthenticationConfiguration> read_authentication_configuration(std::string_view text,
                                                                      const std::string& own_issuer) {
  if (trimmed(text).empty()) return bad_request("empty config data");
  schema::ParseNotes notes;
  const auto document = schema::parse_yaml(text, &notes);
  if (!document) return fail(document.error());
  if (auto checked = check_authentication_form(document->root(), notes); !checked) return fail(checked.error());
  const Value jwt = (*document)["jwt"];
  AuthenticationConfiguration made;
  Problems problems;
  std::size_t count = 0;
  for ([[maybe_unused]] const Value each : jwt) ++count;
  if (count > kIssuersMax)
    problems.add("jwt", "Too many: " + std::to_string(count),
                 "must have at most " + std::to_string(kIssuersMax) + " items");
  else
    for (const Value each : jwt)
      made.issuers.push_back(read_jwt(each, field_path("jwt", made.issuers.size()), own_issuer, problems));
  check_unique(made, problems);
  read_anonymous((*document)["anonymous"], made, problems);
  if (!problems.none()) return bad_request("invalid authentication configuration: " + problems.text());
  return made;
}

}  // namespace sublet::apiserver
