#include "apiserver/authz/bootstrap_rights.h"

#include "apiserver/authz/coverage.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kRights[] = {
#include "apiserver/authz/generated/bootstrap_rights.inc"
};

// As bootstrappolicy/policy.go has them with GenericWorkload.
struct ServedRight {
  std::string_view role, group, version;
  std::vector<std::string_view> resources, verbs;
};
std::span<const ServedRight> served_rights() {
  constexpr std::string_view kGroup = "scheduling.k8s.io", kVersion = "v1alpha2";
  static const std::vector<ServedRight> rights = {
      {"system:aggregate-to-view",
       kGroup,
       kVersion,
       {"podgroups", "podgroups/status", "workloads"},
       {"get", "list", "watch"}},
      {"system:aggregate-to-edit",
       kGroup,
       kVersion,
       {"podgroups", "workloads"},
       {"create", "delete", "deletecollection", "patch", "update"}},
      {"system:kube-scheduler", kGroup, kVersion, {"podgroups"}, {"get", "list", "watch"}},
      {"system:kube-scheduler", kGroup, kVersion, {"podgroups/status"}, {"patch", "update"}},
  };
  return rights;
}

bool is_served(const schema::Registry& kinds, const ServedRight& right) {
  const auto resource = right.resources.front().substr(0, right.resources.front().find('/'));
  const schema::ResourceFacts* facts = kinds.find_resource(right.group, right.version, resource);
  return facts && facts->served;
}

constexpr std::string_view kRbacAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";

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

void add_rights_of_served(Value right, const schema::Registry& kinds) {
  for (const ServedRight& more : served_rights()) {
    if (right["kind"].text() != "ClusterRole" || right["metadata"]["name"].text() != more.role) continue;
    if (!is_served(kinds, more)) continue;
    Value rule = right.array("rules").push_object();
    rule.array("apiGroups").push(more.group);
    for (const std::string_view resource : more.resources) rule.array("resources").push(resource);
    for (const std::string_view verb : more.verbs) rule.array("verbs").push(verb);
  }
}

Reconciled reconcile_right(Value stored, const Value& wanted) {
  if (stored["metadata"]["annotations"][kRbacAutoUpdate].text() == "false") return Reconciled::nothing;
  if (wanted.has("roleRef") && !stored["roleRef"].equals(wanted["roleRef"])) return Reconciled::recreate;
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
