// Roles and bindings of rbac.authorization.k8s.io: what they default to, what is wrong with one, and that users cannot
// grant away what he has not (authz/escalation.h).

#include "apiserver/authz/escalation.h"
#include "apiserver/request/api_groups.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// --- rules ---

void validate_policy_rule(Causes& causes, const Value& rule, const std::string& path, bool namespaced) {
  if (rule["verbs"].empty()) required(causes, child(path, "verbs"), "verbs must contain at least one value");
  if (const Value urls = rule["nonResourceURLs"]; !urls.empty()) {
    const std::string where = child(path, "nonResourceURLs");
    if (namespaced) invalid(causes, where, urls, "namespaced rules cannot apply to non-resource URLs");
    if (!rule["apiGroups"].empty() || !rule["resources"].empty() || !rule["resourceNames"].empty())
      invalid(causes, where, urls, "rules cannot apply to both regular resources and non-resource URLs");
    return;
  }
  if (rule["apiGroups"].empty())
    required(causes, child(path, "apiGroups"), "resource rules must supply at least one api group");
  if (rule["resources"].empty())
    required(causes, child(path, "resources"), "resource rules must supply at least one resource");
}

template <bool kNamespaced>
void validate_role(const Value& role, Causes& causes) {
  std::size_t place = 0;
  for (const Value rule : role["rules"]) validate_policy_rule(causes, rule, item("rules", place++), kNamespaced);
  if (!kNamespaced && role.has("aggregationRule") && role["aggregationRule"]["clusterRoleSelectors"].empty())
    required(causes, "aggregationRule.clusterRoleSelectors",
             "at least one clusterRoleSelector required if aggregationRule is non-nil");
  place = 0;
  for (const Value selector : role["aggregationRule"]["clusterRoleSelectors"]) {
    const auto before = causes.size();
    const auto at = item("aggregationRule.clusterRoleSelectors", place++);
    validate_label_selector(causes, at, selector);
    if (causes.size() != before) invalid(causes, at, selector, "invalid label selector.");
  }
}

// --- bindings ---

void default_binding(Value object) {
  default_text(object.object("roleRef"), "apiGroup", kRbacGroup);
  for (auto subject : object["subjects"])
    if (subject["kind"].text() == "User" || subject["kind"].text() == "Group")
      default_text(subject, "apiGroup", kRbacGroup);
}

constexpr std::string_view kGroups[] = {kRbacGroup}, kNoGroup[] = {""};
constexpr std::string_view kRoleKinds[] = {"Role", "ClusterRole"}, kClusterRoleKind[] = {"ClusterRole"};
constexpr std::string_view kSubjectKinds[] = {"ServiceAccount", "User", "Group"};

void validate_binding_subject(Causes& causes, const Value& subject, const std::string& path, bool namespaced) {
  const std::string_view kind = subject["kind"].text(), name = subject["name"].text();
  const std::string_view group = subject["apiGroup"].text();
  if (name.empty()) required(causes, child(path, "name"));
  if (kind == "ServiceAccount") {
    if (!name.empty()) invalid_each(causes, child(path, "name"), name, dns1123_subdomain(name));
    if (!group.empty()) not_supported(causes, child(path, "apiGroup"), group, kNoGroup);
    if (!namespaced && subject["namespace"].text().empty()) required(causes, child(path, "namespace"));
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbacGroup) not_supported(causes, child(path, "apiGroup"), group, kGroups);
  } else {
    not_supported(causes, child(path, "kind"), kind, kSubjectKinds);
  }
}

template <bool kNamespaced>
void validate_role_binding(const Value& binding, Causes& causes) {
  const Value ref = binding["roleRef"];
  if (ref["apiGroup"].text() != kRbacGroup) not_supported(causes, "roleRef.apiGroup", ref["apiGroup"].text(), kGroups);
  const std::string_view kind = ref["kind"].text(), name = ref["name"].text();
  if (kind != "ClusterRole" && !(kNamespaced && kind == "Role")) {
    if (kNamespaced)
      not_supported(causes, "roleRef.kind", kind, kRoleKinds);
    else
      not_supported(causes, "roleRef.kind", kind, kClusterRoleKind);
  }
  if (name.empty())
    required(causes, "roleRef.name");
  else
    invalid_each(causes, "roleRef.name", name, path_segment_name(name));
  std::size_t place = 0;
  for (const Value subject : binding["subjects"])
    validate_binding_subject(causes, subject, item("subjects", place++), kNamespaced);
}

// As upstream's own form of it shows.
BadValue role_ref_value(const Value& ref) {
  auto text = schema::Document::object();
  for (const auto& [label, field] :
       {std::pair{"APIGroup", "apiGroup"}, std::pair{"Kind", "kind"}, std::pair{"Name", "name"}})
    text.root().put(label, ref[field].text());
  return BadValue::raw(text.to_json());
}

void validate_role_ref_kept(const Value& object, const Value& old, Causes& causes) {
  if (!semantically_equal(object["roleRef"], old["roleRef"]))
    invalid(causes, "roleRef", role_ref_value(object["roleRef"]), "cannot change roleRef");
}

// --- escalation ---

RightsWrite rights_write(const WriteContext& context, const Value& object, const Value& old) {
  return {*context.authorizer,
          context.user,
          context.resource.resource,
          context.namespace_name,
          context.request_name,
          object,
          old};
}

Outcome grant_rules(WriteContext& context, Value object) {
  return context.authorizer ? check_role_write(rights_write(context, object, Value())) : Outcome();
}
Outcome change_rules(WriteContext& context, Value object, const Value& old) {
  return context.authorizer ? check_role_write(rights_write(context, object, old)) : Outcome();
}
Outcome grant_role(WriteContext& context, Value object) {
  return context.authorizer ? check_binding_write(rights_write(context, object, Value())) : Outcome();
}
Outcome change_grant(WriteContext& context, Value object, const Value& old) {
  return context.authorizer ? check_binding_write(rights_write(context, object, old)) : Outcome();
}

Strategy row(std::string_view resource) {
  Strategy made;
  made.group = kRbacGroup;
  made.resource = resource;
  made.name_rule = NameRule::path_segment;
  made.create_on_update = true;
  return made;
}

Strategy role_row(std::string_view resource) {
  Strategy made = row(resource);
  made.prepare_create = grant_rules;
  made.prepare_update = change_rules;
  return made;
}

Strategy binding_row(std::string_view resource) {
  Strategy made = row(resource);
  made.defaults = default_binding;
  made.prepare_create = grant_role;
  made.prepare_update = change_grant;
  made.validate_update = validate_role_ref_kept;
  return made;
}

}  // namespace

std::vector<Strategy> rights_strategies() {
  std::vector<Strategy> rows = {role_row("roles"), role_row("clusterroles"), binding_row("rolebindings"),
                                binding_row("clusterrolebindings")};
  rows[0].validate = validate_role<true>;
  rows[1].validate = validate_role<false>;
  rows[2].validate = validate_role_binding<true>;
  rows[3].validate = validate_role_binding<false>;
  return rows;
}

}  // namespace sublet::apiserver
