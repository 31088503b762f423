#include "apiserver/authz/bootstrap_rights.h"

#include "apiserver/authz/coverage.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kRights[] = {
#include "apiserver/authz/generated/bootstrap_rights.inc"
};

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";

bool add_missing_members(Value stored, const Value& wanted, std::string_view map) {
  bool changed = false;
  for (const Value member : wanted["metadata"][map]) {
    if (stored["metadata"][map].has(member.key())) continue;
    stored.object("metadata").object(map).put(member.key(), member);
    changed = true;
  }
  return changed;
}

bool add_missing_items(Value stored, const Value& wanted, std::string_view list) {
  bool changed = false;
  for (const Value item : wanted[list]) {
    bool present = false;
    for (const Value have : stored[list]) present = present || have.equals(item);
    if (present) continue;
    stored.array(list).push(item);
    changed = true;
  }
  return changed;
}

bool add_missing_rules(Value stored, const Value& wanted) {
  const RoleRules held(stored["rules"]), needed(wanted["rules"]);
  std::vector<RuleWords> rules;
  append_rules(rules, held);
  const auto missing = not_covered(rules, needed);
  for (const Right& right : missing) {
    Value rule = stored.array("rules").push_object();
    rule.array("verbs").push(right.verb);
    if (right.is_resource) {
      rule.array("apiGroups").push(right.group);
      rule.array("resources").push(right.resource);
    } else {
      rule.array("nonResourceURLs").push(right.url);
    }
    if (right.has_name) rule.array("resourceNames").push(right.name);
  }
  return !missing.empty();
}

// What is gathered is the aggregation controller's to write.
bool reconcile_aggregation(Value stored, const Value& wanted) {
  if (wanted.has("aggregationRule"))
    return add_missing_items(stored.object("aggregationRule"), wanted["aggregationRule"], "clusterRoleSelectors");
  return stored.erase("aggregationRule");
}

}  // namespace

std::span<const std::string_view> bootstrap_rights() { return kRights; }

Reconciled reconcile_right(Value stored, const Value& wanted) {
  if (stored["metadata"]["annotations"][kAutoUpdate].text() == "false") return Reconciled::nothing;
  if (wanted.has("roleRef") && !stored["roleRef"].equals(wanted["roleRef"])) return Reconciled::anew;
  bool changed = add_missing_members(stored, wanted, "annotations");
  changed = add_missing_members(stored, wanted, "labels") || changed;
  if (wanted.has("roleRef")) {
    changed = add_missing_items(stored, wanted, "subjects") || changed;
  } else {
    if (!wanted.has("aggregationRule")) changed = add_missing_rules(stored, wanted) || changed;
    changed = reconcile_aggregation(stored, wanted) || changed;
  }
  return changed ? Reconciled::changed : Reconciled::nothing;
}

}  // namespace sublet::apiserver
