#include <algorithm>

#include "apiserver/authn/authenticator.h"
#include "apiserver/subresources/functions.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kGroup = "authorization.k8s.io";

void put_user(Value info, const User& user) {
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
Outcome verdict(Causes causes) {
  if (causes.empty()) return {};
  return fail(invalid_status(kGroup, "", "", std::move(causes)));
}

/// Everyone known is admin until RBAC comes; only those who are nobody are not.
bool is_known(const Value& spec) {
  for (auto group : spec["groups"])
    if (group.text() == "system:unauthenticated") return false;
  return spec["user"].text() != "system:anonymous";
}

void put_allowed(Value review, bool allowed) {
  auto status = review.object("status");
  status.clear();
  status.put("allowed", allowed);
}

void check_subject(Causes& causes, const Value& spec) {
  check_attributes(causes, spec);
  if (spec["user"].text().empty() && spec["groups"].empty())
    invalid(causes, "spec.user", "", "at least one of user or group must be specified");
}

void put_star(Value rule, std::initializer_list<std::string_view> fields) {
  for (auto field : fields) rule.array(field).push("*");
}

}  // namespace

Outcome review_self(WriteContext& context, Value review) {
  review.object("metadata").put("creationTimestamp", format_time(context.clock.now()));
  auto status = review.object("status");
  status.clear();
  put_user(status.object("userInfo"), context.user);
  return {};
}

Outcome review_self_access(WriteContext&, Value review) {
  Causes causes;
  check_attributes(causes, review["spec"]);
  if (auto outcome = verdict(std::move(causes)); !outcome) return outcome;
  put_allowed(review, true);
  return {};
}

Outcome review_access(WriteContext&, Value review) {
  Causes causes;
  check_subject(causes, review["spec"]);
  if (auto outcome = verdict(std::move(causes)); !outcome) return outcome;
  put_allowed(review, is_known(review["spec"]));
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
  if (auto outcome = verdict(std::move(causes)); !outcome) return outcome;
  put_allowed(review, is_known(spec));
  return {};
}

Outcome review_self_rules(WriteContext&, Value review) {
  if (review["spec"]["namespace"].text().empty()) return bad_request("no namespace on request");
  auto status = review.object("status");
  status.clear();
  put_star(status.array("resourceRules").push_object(), {"verbs", "apiGroups", "resources"});
  put_star(status.array("nonResourceRules").push_object(), {"verbs", "nonResourceURLs"});
  status.put("incomplete", false);
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
    status.put("error", identity.error().message);
    return {};
  }
  status.put("authenticated", true);
  put_user(status.object("user"), identity->user);
  for (const auto& audience : identity->audiences) status.array("audiences").push(audience);
  return {};
}

}  // namespace sublet::apiserver
