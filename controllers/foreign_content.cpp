// Source: namespaced_resources_deleter.go of Kubernetes' controller manager, for the groups that discovery has from
// other servers.
#include "controllers/foreign_content.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "sublet/controllers/controllers.h"
#include "sublet/kube/conditions.h"
#include "sublet/schema/group_versions.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kApiServicePrefix = "apiservices.apiregistration.k8s.io/";
constexpr int kPage = 500;

struct GroupVersion {
  std::string group, version;
  std::int64_t priority = 0;
  bool available = false;
  std::string text() const { return group + "/" + version; }
};

/// Of one group the preferred version first.
std::vector<GroupVersion> served_by_others(const Context& context) {
  const auto kinds = context.options().kinds();
  std::vector<GroupVersion> found;
  context.snapshot().scan(kApiServicePrefix, {}, [&](const store::ObjectPtr& stored) {
    const auto object = document_of(*stored);
    const Value spec = object["spec"];
    GroupVersion made{spec["group"].string(), spec["version"].string(), spec["versionPriority"].integer(),
                      kube::has_condition(object.root(), "Available")};
    if (spec.has("service") && !schema::serves(*kinds, made.group, made.version)) found.push_back(std::move(made));
    return true;
  });
  std::ranges::stable_sort(found, [](const GroupVersion& one, const GroupVersion& other) {
    return one.group != other.group ? one.group < other.group : one.priority > other.priority;
  });
  return found;
}

bool has_verb(const Value& resource, std::string_view verb) {
  for (const Value each : resource["verbs"])
    if (each.text() == verb) return true;
  return false;
}

Result<std::vector<kube::Resource>> resources_of(const Context& context, const GroupVersion& asked) {
  if (!asked.available) return fail(Reason::service_unavailable, "stale GroupVersion discovery: " + asked.text());
  const auto answer = context.client().raw("GET", "/apis/" + asked.text());
  if (!answer) return fail(answer.error());
  const auto list = Document::parse_json(answer->body);
  if (answer->code != 200 || !list)
    return fail(Reason::service_unavailable, "it answers " + std::to_string(answer->code));
  std::vector<kube::Resource> found;
  for (const Value resource : (*list)["resources"])
    if (resource["namespaced"].boolean() && resource["name"].text().find('/') == std::string_view::npos &&
        has_verb(resource, "list") && has_verb(resource, "deletecollection"))
      found.push_back({asked.group, asked.version, resource["name"].string()});
  return found;
}

struct ForeignCount {
  Remains remains;
  int not_ending = 0;
};

/// The first page and how many there are besides.
Result<ForeignCount> count_foreign(const Context& context, const kube::Resource& resource,
                                   const std::string& namespace_name) {
  const auto list = context.client().list(resource, namespace_name, {.limit = kPage});
  if (!list) return fail(list.error());
  ForeignCount seen{{resource, 0, {}, 0}, 0};
  for (const Value item : (*list)["items"]) {
    const Value meta = item["metadata"];
    ++seen.remains.count;
    seen.not_ending += meta.has("deletionTimestamp") ? 0 : 1;
    for (const Value finalizer : meta["finalizers"]) ++seen.remains.finalizers[finalizer.string()];
  }
  const auto more = (*list)["metadata"]["remainingItemCount"].integer();
  seen.remains.count += static_cast<int>(more);
  seen.not_ending += static_cast<int>(more);
  return seen;
}

Result<Remains> clear_foreign(const Context& context, const kube::Resource& resource,
                              const std::string& namespace_name) {
  const auto before = count_foreign(context, resource, namespace_name);
  if (!before) return fail(before.error());
  if (before->not_ending == 0) return before->remains;
  const auto answer =
      context.client().raw("DELETE", resource.path(namespace_name), std::string(kDeleteBody), "application/json");
  if (!answer) return fail(answer.error());
  if (answer->code >= 300) {
    const auto status = Document::parse_json(answer->body);
    return fail(kube::status_from_document(status ? status->root() : Value(), answer->code));
  }
  auto after = count_foreign(context, resource, namespace_name);
  if (!after) return fail(after.error());
  return std::move(after->remains);
}

}  // namespace

void delete_foreign_content(const Context& context, const std::string& namespace_name, DeletionReport& report) {
  std::set<std::pair<std::string, std::string>> seen;  // versions of one resource hold the same objects
  for (const auto& asked : served_by_others(context)) {
    const auto resources = resources_of(context, asked);
    if (!resources) {
      report.undiscovered.push_back(asked.text() + ": " + resources.error().message);
      continue;
    }
    for (const auto& resource : *resources) {
      if (!seen.emplace(resource.group, resource.resource).second) continue;
      auto remains = clear_foreign(context, resource, namespace_name);
      if (!remains)
        report.errors.push_back(resource.resource + "." + resource.group + ": " + remains.error().message);
      else if (remains->count > 0)
        report.remains.push_back(std::move(*remains));
    }
  }
}

}  // namespace sublet::controllers
