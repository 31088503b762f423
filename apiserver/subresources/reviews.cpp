#include <algorithm>

#include "apiserver/authn/authenticator.h"
#include "apiserver/authn/service_account_token.h"
#include "apiserver/authz/escalation.h"
#include "apiserver/request/api_groups.h"
#include "apiserver/subresources/functions.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void put_review_user(Value info, const User& user) {
  if (!user.name.empty()) info.put("username", user.name);
  if (!user.uid.empty()) info.put("uid", user.uid);
  for (const auto& group : user.groups) info.array("groups").push(group);
  for (const auto& [key, values] : user.extra) {
    auto list = info.object("extra").array(key);
    for (const auto& value : values) list.push(value);
  }
  if (info.has("extra")) info["extra"].sort_keys();
}

void check_attributes(Causes& causes, const Value& spec) {
  bool resource = spec.has("resourceAttributes"), path = spec.has("nonResourceAttributes");
  if (resource && path)
    invalid(causes, "spec.nonResourceAttributes", spec["nonResourceAttributes"],
            "cannot be specified in combination with resourceAttributes");
  if (!resource && !path)
    invalid(causes, "spec.resourceAttributes", spec["nonResourceAttributes"],
            "exactly one of nonResourceAttributes or resourceAttributes must be specified");
}

/// The kind stays empty, as upstream leaves it.
Outcome review_verdict(Causes causes) {
  if (causes.empty()) return {};
  return fail(invalid_status(kAuthorizationGroup, "", "", std::move(causes)));
}

User user_of_review(const Value& spec) {
  User user;
  user.name = spec["user"].string();
  user.uid = spec["uid"].string();
  for (auto group : spec["groups"]) user.groups.push_back(group.string());
  return user;
}

Attributes review_attributes(const User& user, const Value& spec) {
  Attributes asked;
  asked.user = &user;
  const auto resource = spec["resourceAttributes"];
  asked.is_resource = bool(resource);
  const auto of = asked.is_resource ? resource : spec["nonResourceAttributes"];
  asked.verb = of["verb"].text();
  asked.path = of["path"].text();
  asked.group = of["group"].text();
  asked.resource = of["resource"].text();
  asked.subresource = of["subresource"].text();
  asked.namespace_name = of["namespace"].text();
  asked.name = of["name"].text();
  return asked;
}

void put_decision(const WriteContext& context, Value review, const User& user) {
  const Decision decision = context.authorizer->decide(review_attributes(user, review["spec"]));
  auto status = review.object("status");
  status.clear();
  status.put("allowed", decision.allowed);
  if (!decision.reason.empty()) status.put("reason", decision.reason);
}

void check_subject(Causes& causes, const Value& spec) {
  check_attributes(causes, spec);
  if (spec["user"].text().empty() && spec["groups"].empty())
    invalid(causes, "spec.user", "", "at least one of user or group must be specified");
}

void put_words(Value rule, std::string_view field, Words words) {
  if (words.empty()) return;
  auto list = rule.array(field);
  for (const auto word : words) list.push(word);
}

/// Upstream asks two, one of which knows the server's own token alone, and says what each says.
std::string why_refused(const std::string& reason) {
  if (reason == kUnknownToken) return reason;
  return "[" + std::string(kUnknownToken) + ", " + reason + "]";
}

}  // namespace

Outcome review_self(WriteContext& context, Value review) {
  review.object("metadata").put("creationTimestamp", format_time(context.clock.now()));
  auto status = review.object("status");
  status.clear();
  put_review_user(status.object("userInfo"), context.user);
  return {};
}

Outcome review_self_access(WriteContext& context, Value review) {
  Causes causes;
  check_attributes(causes, review["spec"]);
  if (auto outcome = review_verdict(std::move(causes)); !outcome) return outcome;
  put_decision(context, review, context.user);
  return {};
}

Outcome review_access(WriteContext& context, Value review) {
  Causes causes;
  check_subject(causes, review["spec"]);
  if (auto outcome = review_verdict(std::move(causes)); !outcome) return outcome;
  put_decision(context, review, user_of_review(review["spec"]));
  return {};
}

Outcome review_local_access(WriteContext& context, Value review) {
  Causes causes;
  auto spec = review["spec"];
  check_subject(causes, spec);
  auto metadata = review.object("metadata");
  if (metadata["namespace"].text().empty()) metadata.put("namespace", context.namespace_name);
  auto attributes = spec["resourceAttributes"];
  if (attributes && attributes["namespace"].text() != metadata["namespace"].text())
    invalid(causes, "spec.resourceAttributes.namespace", attributes["namespace"].text(),
            "must match metadata.namespace");
  if (spec.has("nonResourceAttributes"))
    invalid(causes, "spec.nonResourceAttributes", spec["nonResourceAttributes"], "disallowed on this kind of request");
  if (auto outcome = review_verdict(std::move(causes)); !outcome) return outcome;
  put_decision(context, review, user_of_review(spec));
  return {};
}

Outcome review_self_rules(WriteContext& context, Value review) {
  const auto namespace_name = review["spec"]["namespace"].string();
  if (namespace_name.empty()) return bad_request("no namespace on request");
  const auto policy = context.authorizer->policy();
  const HeldRules held = held_rules(*policy, context.user, namespace_name);
  auto status = review.object("status");
  status.clear();
  auto resources = status.array("resourceRules"), paths = status.array("nonResourceRules");
  for (const RuleWords& words : held.rules) {
    if (!words.resources.empty()) {
      auto rule = resources.push_object();
      put_words(rule, "verbs", words.verbs);
      put_words(rule, "apiGroups", words.groups);
      put_words(rule, "resources", words.resources);
      put_words(rule, "resourceNames", words.names);
    }
    if (!words.urls.empty()) {
      auto rule = paths.push_object();
      put_words(rule, "verbs", words.verbs);
      put_words(rule, "nonResourceURLs", words.urls);
    }
  }
  status.put("incomplete", false);
  if (!held.errors.empty()) status.put("evaluationError", joined_errors(held.errors));
  return {};
}

Outcome review_token(WriteContext& context, Value review) {
  auto spec = review["spec"];
  if (spec["token"].text().empty()) return bad_request("token is required for TokenReview in authentication");
  std::vector<std::string> audiences;
  for (auto audience : spec["audiences"]) audiences.push_back(audience.string());
  auto identity = authenticate_token(spec["token"].text(), audiences, context.options, context.pending, context.clock);
  auto status = review.object("status");
  status.clear();
  if (!identity) {
    status.object("user");
    status.put("error", why_refused(identity.error().message));
    return {};
  }
  status.put("authenticated", true);
  put_review_user(status.object("user"), identity->user);
  for (const auto& audience : identity->audiences) status.array("audiences").push(audience);
  return {};
}

}  // namespace sublet::apiserver
