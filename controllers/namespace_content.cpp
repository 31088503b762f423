#include "controllers/namespace_content.h"

#include <algorithm>
#include <set>

#include "controllers/foreign_content.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/registry.h"

namespace sublet::controllers {
namespace {

using schema::Document;

bool is_pods(const kube::Resource& resource) { return resource.group.empty() && resource.resource == "pods"; }

struct StoredCount {
  Remains remains;
  int not_ending = 0;
};

StoredCount count_stored(const store::Snapshot& snapshot, const kube::Resource& resource, const std::string& prefix) {
  StoredCount seen{{resource, static_cast<int>(snapshot.count(prefix)), {}, snapshot.revision()}, 0};
  if (seen.remains.count == 0) return seen;
  snapshot.scan(prefix, {}, [&](const store::ObjectPtr& object) {
    seen.not_ending += is_ending(*object) ? 0 : 1;
    kube::JsonScanner finalizers(raw_of(*object, {"metadata", "finalizers"}));
    for (std::string_view none, literal; finalizers.next(none, literal);)
      ++seen.remains.finalizers[kube::json_unquote(literal)];
    return true;
  });
  return seen;
}

/// Looks first: most kinds have nothing in most namespaces, and what is on its way out needs no second word.
Result<Remains> clear_stored(const Context& context, const kube::Resource& resource,
                             const std::string& namespace_name) {
  const auto prefix = key_prefix(resource).append(namespace_name).append("/");
  auto before = count_stored(context.snapshot(), resource, prefix);
  if (before.not_ending == 0) return before.remains;
  auto answer =
      context.client().raw("DELETE", resource.path(namespace_name), std::string(kDeleteBody), "application/json");
  if (!answer) return fail(answer.error());
  if (answer->code >= 300) {
    auto status = Document::parse_json(answer->body);
    return fail(kube::status_from_document(status ? status->root() : schema::Value(), answer->code));
  }
  return count_stored(context.snapshot(), resource, prefix).remains;
}

}  // namespace

std::vector<kube::Resource> namespaced_kinds(const schema::Registry& kinds) {
  std::vector<kube::Resource> found;
  std::set<kube::Resource> seen;  // versions of one stored resource hold the same objects
  for (const auto& facts : kinds.resources()) {
    if (!facts.served || !facts.namespaced || !facts.verbs.contains("list") || !facts.verbs.contains("delete"))
      continue;
    kube::Resource stored{std::string(facts.storage_group), std::string(facts.storage_version),
                          std::string(facts.resource)};
    if (seen.insert(stored).second) found.push_back(std::move(stored));
  }
  return found;
}

DeletionReport delete_content(const Context& context, const std::string& namespace_name) {
  auto resources = namespaced_kinds(*context.options().kinds());
  // Pods may need their configuration and services while they terminate.
  std::stable_partition(resources.begin(), resources.end(), is_pods);
  DeletionReport report;
  for (const auto& resource : resources) {
    auto remains = clear_stored(context, resource, namespace_name);
    if (!remains)
      report.errors.push_back(resource.resource + ": " + remains.error().message);
    else if (remains->count > 0)
      report.remains.push_back(std::move(*remains));
    if (is_pods(resource) && (!remains || remains->count > 0)) return report;
  }
  delete_foreign_content(context, namespace_name, report);
  return report;
}

}  // namespace sublet::controllers
