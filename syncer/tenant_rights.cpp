#include "sublet/syncer/tenant_rights.h"

#include "sublet/schema/document.h"
#include "syncer/border/synced_kinds.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

void add_rule(Value rules, std::string_view group, const std::string& resource, std::string_view verbs) {
  auto rule = rules.push_object();
  rule.array("apiGroups").push(group);
  rule.array("resources").push(resource);
  auto list = rule.array("verbs");
  while (!verbs.empty()) {
    const auto end = std::min(verbs.find(' '), verbs.size());
    list.push(verbs.substr(0, end));
    verbs.remove_prefix(std::min(end + 1, verbs.size()));
  }
}

// What comes from the host is the syncer's to write; of what goes there, what the host says of it.
std::string_view verbs_of(const SyncedKind& kind) {
  if (kind.direction != Direction::from_host) return "get list watch patch delete";
  return kind.watch_tenant ? "get list watch create patch delete" : "get create patch";
}

}  // namespace

std::string tenant_rights(const TranslateContext& context) {
  auto rules = Document::parse_json("[]");
  if (!rules) return "[]";
  for (const SyncedKind& kind : synced_kinds(context)) {
    if (!kind.watch_tenant && kind.direction != Direction::from_host) continue;
    add_rule(rules->root(), kind.resource.group, kind.resource.resource, verbs_of(kind));
    add_rule(rules->root(), kind.resource.group, kind.resource.resource + "/status", "patch");
  }
  const bool maps = !config_of(context).mappings.empty();  // and makes the namespaces that it maps into
  add_rule(rules->root(), "", "namespaces", maps ? "list watch create" : "list watch");
  add_rule(rules->root(), "", "pods/binding", "create");
  add_rule(rules->root(), "", "serviceaccounts/token", "create");
  return rules->to_json();
}

}  // namespace sublet::syncer
