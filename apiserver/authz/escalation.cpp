#include "apiserver/authz/escalation.h"

#include <algorithm>
#include <array>
#include <set>

#include "apiserver/authz/coverage.h"
#include "apiserver/request/api_groups.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

// --- how it is said ---

void append_list(std::string& text, std::string_view label, const std::vector<std::string_view>& words) {
  if (words.empty()) return;
  if (text.size() > 1) text += ", ";
  text.append(label).append(":[");
  for (std::size_t i = 0; i < words.size(); ++i) text.append(i ? " " : "").append(go_quoted(words[i]));
  text += "]";
}

/// Missing rights of one resource are reported together, each line once, sorted.
std::string missing_text(const std::vector<Right>& missing) {
  struct Line {
    Right of;
    std::vector<std::string_view> verbs;
  };
  std::vector<Line> lines;
  for (const Right& right : missing) {
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return right.is_resource && line.of.is_resource && line.of.group == right.group &&
             line.of.resource == right.resource && line.of.has_name == right.has_name && line.of.name == right.name;
    });
    if (same != lines.end())
      same->verbs.push_back(right.verb);
    else
      lines.push_back({right, {right.verb}});
  }
  std::set<std::string> texts;
  for (const Line& line : lines) {
    std::string text = "{";
    if (line.of.is_resource) {
      append_list(text, "APIGroups", {line.of.group});
      append_list(text, "Resources", {line.of.resource});
      if (line.of.has_name) append_list(text, "ResourceNames", {line.of.name});
    } else {
      append_list(text, "NonResourceURLs", {line.of.url});
    }
    append_list(text, "Verbs", line.verbs);
    texts.insert(text + "}");
  }
  std::string all;
  for (const auto& text : texts) all.append(all.empty() ? "" : "\n").append(text);
  return all;
}

std::string bracketed(const std::vector<std::string>& texts) {
  std::string all = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) all.append(i ? " " : "").append(go_quoted(texts[i]));
  return all + "]";
}

/// "": the user holds all of it.
std::string not_held(const RightsWrite& write, const RoleRules& wanted) {
  const auto policy = write.authorizer.policy();
  const HeldRules held = held_rules(*policy, write.user, write.namespace_name);
  const std::vector<Right> missing = not_covered(held.rules, wanted);
  if (missing.empty()) return {};
  std::string text = "user " + go_quoted(write.user.name) + " (groups=" + bracketed(write.user.groups) +
                     ") is attempting to grant RBAC permissions not currently held:\n" + missing_text(missing);
  if (!held.errors.empty()) text += "; resolution errors: [" + joined_errors(held.errors) + "]";
  return text;
}

Outcome refuse_rights(const RightsWrite& write, std::string_view why) {
  return fail(sublet::forbidden_status(kRbacGroup, write.resource, write.object["metadata"]["name"].text(), why));
}

// --- which writes are asked ---

/// The garbage collector's work: nothing changes but who owns the object and what holds it.
bool is_collectors_work(const Value& object, const Value& old) {
  if (!old) return false;
  std::array<Document, 2> sides{Document::object(), Document::object()};
  for (std::size_t side = 0; side < 2; ++side) {
    sides[side].root().set(side ? old : object);
    auto metadata = sides[side]["metadata"];
    for (const auto field : {"ownerReferences", "finalizers", "managedFields", "resourceVersion"})
      metadata.erase(field);
    for (const auto field : {"kind", "apiVersion"}) sides[side].root().erase(field);
  }
  return sides[0].root().equals(sides[1].root());
}

bool has_rights_verb(const RightsWrite& write, std::string_view verb, std::string_view resource,
                     std::string_view name) {
  Attributes attributes;
  attributes.user = &write.user;
  attributes.verb = verb;
  attributes.group = kRbacGroup;
  attributes.resource = resource;
  attributes.name = name;
  attributes.namespace_name = write.namespace_name;
  return write.authorizer.allows(attributes);
}

bool aggregates(const Value& role) { return !role["aggregationRule"]["clusterRoleSelectors"].empty(); }

constexpr std::string_view kEverything =
    R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["*"],"verbs":["*"]}])";

}  // namespace

HeldRules held_rules(const Policy& policy, const User& user, std::string_view namespace_name) {
  HeldRules held;
  policy.visit(user, namespace_name, [&](const Binding& binding, const RoleRules* rules) {
    if (rules)
      append_rules(held.rules, *rules);
    else
      held.errors.push_back(role_not_found(binding.role_kind, binding.role_name).message);
    return true;
  });
  if (const auto* components = policy.component_rules(user.name)) append_rules(held.rules, *components);
  return held;
}

Outcome check_role_write(const RightsWrite& write) {
  if (is_in_group(write.user, kMastersGroup) || has_rights_verb(write, "escalate", write.resource, write.request_name))
    return {};
  if (is_collectors_work(write.object, write.old)) return {};
  if (const auto why = not_held(write, RoleRules(write.object["rules"])); !why.empty())
    return refuse_rights(write, why);
  if (!aggregates(write.object) && !aggregates(write.old)) return {};
  const auto everything = Document::parse_json(kEverything);
  if (everything && not_held(write, RoleRules(everything->root())).empty()) return {};
  return refuse_rights(write, "must have cluster-admin privileges to use the aggregationRule");
}

Outcome check_binding_write(const RightsWrite& write) {
  if (is_in_group(write.user, kMastersGroup)) return {};
  if (is_collectors_work(write.object, write.old)) return {};
  const Value ref = write.object["roleRef"];
  const std::string_view kind = ref["kind"].text(), name = ref["name"].text();
  const bool known = kind == "ClusterRole" || kind == "Role";
  if (!known) return fail(Reason::internal_error, "unsupported role reference kind: " + go_quoted(kind));
  if (has_rights_verb(write, "bind", kind == "Role" ? "roles" : "clusterroles", name)) return {};
  const auto policy = write.authorizer.policy();
  const RoleRules* rules = policy->role(kind, write.namespace_name, name);
  if (!rules) return fail(not_found_status(kRbacGroup, write.resource, name));  // upstream says it of the binding
  if (const auto why = not_held(write, *rules); !why.empty()) return refuse_rights(write, why);
  return {};
}

}  // namespace sublet::apiserver
