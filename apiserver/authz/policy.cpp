#include "apiserver/authz/policy.h"

#include <algorithm>
#include <functional>

#include "apiserver/request/object_key.h"
#include "apiserver/request/user_names.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kClusterRole = "ClusterRole", kServiceAccount = "ServiceAccount";

bool is_binding(std::string_view key) {
  return key.starts_with("rolebindings.") || key.starts_with("clusterrolebindings.");
}
bool is_namespaced(std::string_view key) { return !key.starts_with("cluster"); }

std::string account_namespace(const Subject& subject, const Binding& binding) {
  return subject.namespace_name.empty() ? binding.namespace_name : subject.namespace_name;
}

/// The user's name of a subject; "" when the subject is not a user.
std::string user_of_subject(const Subject& subject, const Binding& binding) {
  if (subject.kind == "User") return subject.name;
  if (subject.kind != kServiceAccount) return {};
  const std::string home = account_namespace(subject, binding);
  return home.empty() ? std::string() : std::string(kServiceAccountPrefix) + home + ":" + subject.name;
}

bool is_subject(const Subject& subject, const Binding& binding, const User& user) {
  if (subject.kind == "Group") return is_in_group(user, subject.name);
  return user_of_subject(subject, binding) == user.name && !user.name.empty();
}

BindingPtr read_binding(const store::Object& object) {
  auto binding = std::make_shared<Binding>();
  binding->name = name_of_key(object.key);
  if (is_namespaced(object.key)) binding->namespace_name = namespace_of_key(object.key);
  const auto document = Document::parse_json(object.json());
  if (!document) return binding;
  const Value root = document->root();
  binding->role_kind = root["roleRef"]["kind"].string();
  binding->role_name = root["roleRef"]["name"].string();
  for (const Value subject : root["subjects"])
    binding->subjects.push_back({subject["kind"].string(), subject["name"].string(), subject["namespace"].string()});
  return binding;
}

}  // namespace

std::size_t hash_of_two(char kind, std::string_view first, std::string_view second) {
  const std::hash<std::string_view> hash;
  const std::size_t a = hash(first), b = hash(second);
  return (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2))) * 31 + static_cast<unsigned char>(kind);
}

void Policy::apply(const store::ObjectPtr& before, const store::ObjectPtr& after) {
  const std::string& key = (after ? after : before)->key;
  if (is_binding(key)) {
    if (before) put_binding(read_binding(*before), false);
    if (after) put_binding(read_binding(*after), true);
    return;
  }
  RoleRulesPtr rules;
  if (after) {
    const auto document = Document::parse_json(after->json());
    rules = std::make_shared<const RoleRules>(document ? (*document)["rules"] : Value());
  }
  const std::string_view scope = is_namespaced(key) ? namespace_of_key(key) : std::string_view();
  roles_.edit({kRole, name_of_key(key), scope}, [&rules](RoleRulesPtr& stored) {
    stored = rules;
    return stored != nullptr;
  });
}

void Policy::put_binding(const BindingPtr& binding, bool present) {
  const auto edit = [&](char kind, std::string_view subject) {
    bindings_.edit({kind, subject, binding->namespace_name}, [&](std::vector<BindingPtr>& bindings) {
      std::erase_if(bindings, [&](const BindingPtr& other) { return other->name == binding->name; });
      if (present) bindings.push_back(binding);
      return !bindings.empty();
    });
  };
  for (const Subject& subject : binding->subjects) {
    if (subject.kind == "Group") {
      edit(kGroup, subject.name);
    } else if (const std::string user = user_of_subject(subject, *binding); !user.empty()) {
      edit(kUser, user);
    }
  }
}

void Policy::grant(const std::string& user, RoleRulesPtr rules) {
  roles_.edit({kComponent, user, {}}, [&rules](RoleRulesPtr& stored) {
    stored = std::move(rules);
    return true;
  });
}

const RoleRules* Policy::component_rules(std::string_view user) const {
  const auto* found = roles_.find({kComponent, user, {}});
  return found ? found->get() : nullptr;
}

const RoleRules* Policy::role(std::string_view kind, std::string_view namespace_name, std::string_view name) const {
  const auto* found = roles_.find({kRole, name, kind == kClusterRole ? std::string_view() : namespace_name});
  return found ? found->get() : nullptr;
}

bool Policy::allows(const Attributes& attributes) const {
  const Question question(attributes);
  bool allowed = false;
  const RoleRules* last = nullptr;  // what many bindings of one user often have in common
  visit(*attributes.user, attributes.namespace_name, [&](const Binding&, const RoleRules* rules) {
    if (rules && rules != last) allowed = rules->allow(question);
    last = rules;
    return !allowed;
  });
  if (allowed) return true;
  const RoleRules* components = component_rules(attributes.user->name);
  return components && components->allow(question);
}

Status role_not_found(std::string_view kind, std::string_view name) {
  return not_found_status("rbac.authorization.k8s.io", kind == kClusterRole ? "clusterrole" : "role", name);
}

std::string joined_errors(std::vector<std::string> errors) {
  std::vector<std::string> once;
  for (auto& error : errors)
    if (std::find(once.begin(), once.end(), error) == once.end()) once.push_back(std::move(error));
  if (once.size() == 1) return once.front();
  std::string text = "[";
  for (const auto& error : once) text.append(text.size() > 1 ? ", " : "").append(error);
  return text + "]";
}

std::string describe(const Binding& binding, const User& user) {
  const bool cluster = binding.namespace_name.empty();
  std::string text = cluster ? "ClusterRoleBinding " : "RoleBinding ";
  text += go_quoted(cluster ? binding.name : binding.name + "/" + binding.namespace_name) + " of " + binding.role_kind +
          " " + go_quoted(binding.role_name) + " to ";
  for (const Subject& subject : binding.subjects) {
    if (!is_subject(subject, binding, user)) continue;
    if (subject.kind != kServiceAccount) return text + subject.kind + " " + go_quoted(subject.name);
    return text + subject.kind + " " + go_quoted(subject.name + "/" + account_namespace(subject, binding));
  }
  return text;
}

}  // namespace sublet::apiserver
