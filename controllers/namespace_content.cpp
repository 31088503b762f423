#include "controllers/namespace_content.h"

#include <algorithm>

#include "sublet/kube/client.h"
#include "sublet/schema/table.h"

namespace sublet::controllers {
namespace {

using schema::Document;

constexpr int kPage = 500;
constexpr std::string_view kDeleteBody =
    R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})";

bool lists(const schema::ResourceFacts& facts, std::string_view verb) {
  return std::find(facts.verbs.begin(), facts.verbs.end(), verb) != facts.verbs.end();
}

bool is_pods(const kube::Resource& resource) { return resource.group.empty() && resource.resource == "pods"; }

Result<Remains> look(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name) {
  Remains remains{resource, 0, {}, {}};
  kube::ListOptions options;
  options.limit = kPage;
  auto list = client.list(resource, namespace_name, options);
  if (!list && (list.error().is(Reason::not_found) || list.error().is(Reason::method_not_allowed))) return remains;
  if (!list) return fail(list.error());
  auto metadata = (*list)["metadata"];
  remains.resource_version = metadata["resourceVersion"].string();
  remains.count = static_cast<int>(metadata["remainingItemCount"].integer());
  for (auto object : (*list)["items"]) {
    ++remains.count;
    for (auto finalizer : object["metadata"]["finalizers"]) ++remains.finalizers[finalizer.string()];
  }
  return remains;
}

/// Looks first: most resources of most namespaces are empty, and a read costs less than a write.
Result<Remains> clear(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name) {
  auto before = look(client, resource, namespace_name);
  if (!before || before->count == 0) return before;
  auto answer = client.raw("DELETE", resource.path(namespace_name), std::string(kDeleteBody), "application/json");
  if (!answer) return fail(answer.error());
  if (answer->code >= 300) {
    auto status = Document::parse_json(answer->body);
    return fail(kube::status_from_document(status ? status->root() : schema::Value(), answer->code));
  }
  return look(client, resource, namespace_name);
}

}  // namespace

const std::vector<kube::Resource>& deletable_resources() {
  static const std::vector<kube::Resource> resources = [] {
    std::vector<kube::Resource> found;
    std::set<std::string> seen;
    for (const auto& facts : schema::Table::builtin().resources()) {
      if (!facts.served || !facts.namespaced || !lists(facts, "list") || !lists(facts, "delete")) continue;
      // Versions of one stored resource hold the same objects.
      if (!seen.insert(std::string(facts.storage_group) + "/" + std::string(facts.resource)).second) continue;
      found.push_back({std::string(facts.group), std::string(facts.version), std::string(facts.resource)});
    }
    std::stable_partition(found.begin(), found.end(), is_pods);
    return found;
  }();
  return resources;
}

DeletionReport delete_content(const kube::Client& client, const std::string& namespace_name) {
  DeletionReport report;
  for (const auto& resource : deletable_resources()) {
    auto remains = clear(client, resource, namespace_name);
    if (!remains)
      report.errors.push_back(resource.resource + ": " + remains.error().message);
    else if (remains->count > 0)
      report.remains.push_back(std::move(*remains));
    // Pods may need their configuration and services while they say goodbye.
    if (is_pods(resource) && (!remains || remains->count > 0)) break;
  }
  return report;
}

}  // namespace sublet::controllers
