// Roles and bindings, which are a tenant's: what the API server would store is indexed, and every decision is held
// against a second reading of the same objects, straight from upstream's words (docs of RBAC), without the index. What
// the escalation check lets somebody give away, he may himself; when the objects go, nobody may anything. The first
// line is a question: {"user","groups","verb","group","resource","subresource","namespace","name"} or {.., "path"};
// each further line is an object with its kind, name and namespace.
#include <algorithm>

#include "apiserver/authz/coverage.h"
#include "apiserver/authz/escalation.h"
#include "apiserver/authz/policy.h"
#include "apiserver/strategies/strategy.h"
#include "patch_input.h"
#include "sublet/schema/engine.h"

namespace {

using namespace sublet;
using namespace sublet::apiserver;
using schema::Document;
using schema::Value;

struct Stored {
  store::ObjectPtr object;
  Document document;
  bool is_role = false;
  std::string name, namespace_name;  // "" for one of the cluster
};

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Null: the API server would refuse it.
std::optional<Stored> accepted(std::string_view line) {
  struct Kind {
    std::string_view kind, resource;
    bool is_role, namespaced;
  };
  static constexpr Kind kKinds[] = {{"Role", "roles", true, true},
                                    {"ClusterRole", "clusterroles", true, false},
                                    {"RoleBinding", "rolebindings", false, true},
                                    {"ClusterRoleBinding", "clusterrolebindings", false, false}};
  auto document = Document::parse_json(line);
  if (!document || !document->root().is_object()) return std::nullopt;
  const std::string named = (*document)["kind"].string();
  const auto kind = std::ranges::find(kKinds, named, &Kind::kind);
  if (kind == std::end(kKinds)) return std::nullopt;
  const auto kinds = schema::Registry::builtin();
  constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
  if (!schema::conform(document->root(), kinds->find_kind(kGroup, "v1", kind->kind))) return std::nullopt;
  const auto& strategy = *kinds->entry<Strategy>(*kinds->find_resource(kGroup, "v1", kind->resource));
  if (strategy.defaults) strategy.defaults(document->root());
  std::vector<Cause> causes;
  strategy.validate(document->root(), causes);
  if (!causes.empty()) return std::nullopt;
  Stored made{nullptr, std::move(*document), kind->is_role, {}, {}};
  made.name = made.document["metadata"]["name"].string();
  if (kind->namespaced) made.namespace_name = made.document["metadata"]["namespace"].string();
  if (made.name.empty() || made.name.find('/') != std::string::npos) return std::nullopt;
  if (kind->namespaced && (made.namespace_name.empty() || made.namespace_name.find('/') != std::string::npos))
    return std::nullopt;
  auto object = std::make_shared<store::Object>();
  object->key = std::string(kind->resource) + "." + std::string(kGroup) + "/" +
                (kind->namespaced ? made.namespace_name + "/" : "") + made.name;
  object->bytes = made.document.to_json();
  object->hole = store::Object::kNoHole;
  made.object = std::move(object);
  return made;
}

// --- the second reading ---

bool has(const Value& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](const Value word) { return word.text() == wanted; });
}

bool rule_allows(const Value& rule, const Attributes& asked) {
  if (!has(rule["verbs"], "*") && !has(rule["verbs"], asked.verb)) return false;
  if (!asked.is_resource)
    return std::ranges::any_of(rule["nonResourceURLs"], [&](const Value url) {
      std::string start = url.string();
      if (start == asked.path) return true;
      if (!start.ends_with('*')) return false;
      start.erase(start.find_last_not_of('*') + 1);
      return asked.path.starts_with(start);
    });
  if (!has(rule["apiGroups"], "*") && !has(rule["apiGroups"], asked.group)) return false;
  const std::string sub(asked.subresource);
  const std::string whole = std::string(asked.resource) + (sub.empty() ? "" : "/" + sub);
  const Value resources = rule["resources"];
  if (!has(resources, "*") && !has(resources, whole) && (sub.empty() || !has(resources, "*/" + sub))) return false;
  return rule["resourceNames"].empty() || has(rule["resourceNames"], asked.name);
}

bool concerns(const Stored& binding, const User& user) {
  return std::ranges::any_of(binding.document["subjects"], [&](const Value subject) {
    const auto kind = subject["kind"].text(), name = subject["name"].text();
    if (kind == "Group") return is_in_group(user, name);
    if (kind == "User") return name == user.name;
    const auto home = subject["namespace"].text().empty() ? binding.namespace_name : subject["namespace"].string();
    return !home.empty() && user.name == "system:serviceaccount:" + home + ":" + std::string(name);
  });
}

bool read_allows(const std::vector<Stored>& all, const Attributes& asked) {
  for (const Stored& binding : all) {
    if (binding.is_role || !concerns(binding, *asked.user)) continue;
    if (!binding.namespace_name.empty() && binding.namespace_name != asked.namespace_name) continue;
    const Value ref = binding.document["roleRef"];
    const std::string scope = ref["kind"].text() == "Role" ? binding.namespace_name : "";
    for (const Stored& role : all)
      if (role.is_role && role.name == ref["name"].text() && role.namespace_name == scope)
        for (const Value rule : role.document["rules"])
          if (rule_allows(rule, asked)) return true;
  }
  return false;
}

// --- the question ---

struct Asked {
  User user;
  Document words;
  Attributes attributes;
};

void read_question(Document words, Asked& asked) {
  asked.words = std::move(words);
  const Value root = asked.words.root();
  asked.user.name = root["user"].string();
  for (const Value group : root["groups"]) asked.user.groups.push_back(group.string());
  Attributes& to = asked.attributes;
  to.user = &asked.user;
  to.verb = root["verb"].text();
  to.is_resource = !root.has("path");
  to.path = root["path"].text();
  if (!to.is_resource) return;
  to.group = root["group"].text();
  to.resource = root["resource"].text();
  to.subresource = root["subresource"].text();
  to.namespace_name = root["namespace"].text();
  to.name = root["name"].text();
}

/// Who may give a role away by what he holds, may what the role allows.
void check_escalation(const Policy& policy, const std::vector<Stored>& all, const Asked& asked) {
  const auto held = held_rules(policy, asked.user, asked.attributes.namespace_name);
  for (const Stored& role : all) {
    if (!role.is_role) continue;
    const RoleRules rules(role.document["rules"]);
    std::vector<RuleWords> own;
    append_rules(own, rules);
    promise(not_covered(own, rules).empty(), "a role covers itself");
    if (!not_covered(held.rules, rules).empty()) continue;
    const bool would = std::ranges::any_of(role.document["rules"],
                                           [&](const Value rule) { return rule_allows(rule, asked.attributes); });
    promise(!would || policy.allows(asked.attributes), "nobody gives away what he has not");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  const auto next = [&text] {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  auto question = Document::parse_json(next());
  if (!question || !question->root().is_object()) return 0;
  Asked asked;
  read_question(std::move(*question), asked);
  if (asked.user.name.empty()) return 0;  // nobody asks without a name

  Policy policy;
  std::vector<Stored> all;
  while (!text.empty()) {
    auto stored = accepted(next());
    if (!stored) continue;
    const auto same = std::ranges::find(all, stored->object->key, [](const Stored& one) { return one.object->key; });
    policy.apply(same == all.end() ? nullptr : same->object, stored->object);
    if (same == all.end())
      all.push_back(std::move(*stored));
    else
      *same = std::move(*stored);
  }
  promise(policy.allows(asked.attributes) == read_allows(all, asked.attributes), "the index says what the objects say");
  check_escalation(policy, all, asked);
  for (const Stored& gone : all) policy.apply(gone.object, nullptr);
  promise(!policy.allows(asked.attributes), "without objects nobody may anything");
  return 0;
}
