#include "apiserver/authn/service_account_token.h"
#include "apiserver/request/api_groups.h"
#include "apiserver/subresources/functions.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kTokenRequestKind = "TokenRequest";
constexpr std::int64_t kSecondsDefault = 3600, kTokenSecondsMin = 600, kTokenSecondsMax = std::int64_t{1} << 32;

Outcome check_metadata(const Value& account, const Value& request) {
  Causes causes;
  auto metadata = request["metadata"];
  for (auto field : {"name", "namespace"}) {
    auto sent = metadata[field].text();
    if (!sent.empty() && sent != account["metadata"][field].text())
      invalid(causes, child("metadata", field), sent,
              "must match the service account " + std::string(field) + " if specified");
  }
  auto name = account["metadata"]["name"].text();
  if (!causes.empty()) return fail(invalid_status(kAuthenticationGroup, kTokenRequestKind, name, std::move(causes)));
  auto uid = metadata["uid"].string(), actual = account["metadata"]["uid"].string();
  if (!uid.empty() && uid != actual)
    return fail(conflict_status(
        kAuthenticationGroup, kTokenRequestKind, name,
        "the UID in the token request (" + uid + ") does not match the UID of the service account (" + actual + ")"));
  return {};
}

Result<std::int64_t> lifetime(const Value& request) {
  auto seconds = request["spec"]["expirationSeconds"].integer(kSecondsDefault);
  Causes causes;
  if (seconds < kTokenSecondsMin)
    invalid(causes, "spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes");
  if (seconds > kTokenSecondsMax)
    invalid(causes, "spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds");
  if (!causes.empty()) return fail(invalid_status(kAuthenticationGroup, kTokenRequestKind, "", std::move(causes)));
  return seconds;
}

struct Bond {
  std::string_view kind, resource;
  bool namespaced;
  TokenSubject TokenClaims::*claim;
};
constexpr Bond kBonds[] = {{"Pod", "pods", true, &TokenClaims::pod},
                           {"Secret", "secrets", true, &TokenClaims::secret},
                           {"Node", "nodes", false, &TokenClaims::node}};

/// A pod must run as the account, and its token tells the node as well.
Outcome add_pod_facts(const WriteContext& context, const Value& pod, TokenClaims& claims) {
  if (pod["spec"]["serviceAccountName"].text() != claims.account.name)
    return bad_request("cannot bind token for serviceaccount \"" + claims.account.name +
                       "\" to pod running with different serviceaccount name.");
  auto node_name = pod["spec"]["nodeName"].string();
  if (node_name.empty()) return {};
  auto node = context.read("nodes", {}, node_name);
  claims.node = {node_name, node ? (*node)["metadata"]["uid"].string() : std::string()};
  return {};
}

Outcome bind_claims(const WriteContext& context, const Value& reference, TokenClaims& claims) {
  if (!reference.is_object()) return {};
  auto kind = reference["kind"].string(), name = reference["name"].string(), version = reference["apiVersion"].string();
  for (const auto& bond : kBonds) {
    if (bond.kind != kind || version != "v1") continue;
    auto target = context.read(bond.resource, bond.namespaced ? claims.namespace_name : std::string(), name);
    if (!target) return fail(not_found_status("", bond.resource, name));
    auto uid = (*target)["metadata"]["uid"].string(), wanted = reference["uid"].string();
    if (kind == "Pod")
      if (auto outcome = add_pod_facts(context, target->root(), claims); !outcome) return outcome;
    if (!wanted.empty() && wanted != uid)
      return fail(conflict_status("", kind, name,
                                  "the UID in the bound object reference (" + wanted +
                                      ") does not match the UID in record. The object might have been deleted and "
                                      "then recreated"));
    claims.*bond.claim = {name, uid};
    return {};
  }
  return bad_request("cannot bind token to object of type " + version + ", Kind=" + kind);
}

Document answer_body(const TokenClaims& claims, const Value& request, std::int64_t seconds, const std::string& token) {
  auto document = Document::object();
  auto root = document.root();
  root.put("kind", kTokenRequestKind);
  root.put("apiVersion", "authentication.k8s.io/v1");
  auto metadata = root.object("metadata");
  metadata.put("name", claims.account.name);
  metadata.put("namespace", claims.namespace_name);
  metadata.put("uid", claims.account.uid);
  metadata.put("creationTimestamp", format_time(WallTime(std::chrono::seconds(claims.issued_at))));
  auto spec = root.object("spec");
  auto audiences = spec.array("audiences");
  for (const auto& audience : claims.audiences) audiences.push(audience);
  spec.put("expirationSeconds", seconds);
  auto reference = request["spec"]["boundObjectRef"];
  if (reference.is_object())
    spec.put("boundObjectRef", reference);
  else
    spec.add_member("boundObjectRef");  // upstream writes the absent reference as null
  auto status = root.object("status");
  status.put("token", token);
  status.put("expirationTimestamp", format_time(WallTime(std::chrono::seconds(claims.expires_at))));
  return document;
}

}  // namespace

Result<SubresourceAnswer> request_token(WriteContext& context, Value account, const Value& request) {
  if (auto outcome = check_metadata(account, request); !outcome) return fail(outcome.error());
  auto seconds = lifetime(request);
  if (!seconds) return fail(seconds.error());
  TokenClaims claims;
  claims.issuer = context.options.service_account_issuer;
  claims.namespace_name = account["metadata"]["namespace"].string();
  claims.account = {account["metadata"]["name"].string(), account["metadata"]["uid"].string()};
  claims.id = uuid_v4(context.random);
  for (auto audience : request["spec"]["audiences"]) claims.audiences.push_back(audience.string());
  if (claims.audiences.empty()) claims.audiences.push_back(claims.issuer);
  claims.issued_at = std::chrono::duration_cast<std::chrono::seconds>(context.clock.now().time_since_epoch()).count();
  claims.not_before = claims.issued_at;
  claims.expires_at = claims.issued_at + *seconds;
  if (auto outcome = bind_claims(context, request["spec"]["boundObjectRef"], claims); !outcome)
    return fail(outcome.error());
  auto token = sign_token(context.options.service_account_key_pem, claims);
  if (!token) return fail(token.error());
  SubresourceAnswer answer;
  answer.body = answer_body(claims, request, *seconds, *token);
  return answer;
}

}  // namespace sublet::apiserver
