#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// A field that names a class, of which the host has those that count.
struct NamedClass {
  std::string_view group, resource;              // of the object that names it
  std::string_view field;                        // of its spec
  std::string_view class_group, class_resource;  // of the class
  std::string_view what;                         // "storage class"
};
constexpr NamedClass kNamedClasses[] = {
    {"", "persistentvolumeclaims", "storageClassName", "storage.k8s.io", "storageclasses", "StorageClass"},
    {"networking.k8s.io", "ingresses", "ingressClassName", "networking.k8s.io", "ingressclasses", "IngressClass"},
    {"", "pods", "priorityClassName", "scheduling.k8s.io", "priorityclasses", "PriorityClass"},
};

// Those that every cluster has by itself: no pod keeps them on the host (syncer/translate).
bool of_every_cluster(const NamedClass& row, std::string_view name) {
  return row.class_resource == "priorityclasses" && name.starts_with("system-");
}

std::string path_of(const NamedClass& row) {
  return std::string(row.class_resource).append(".").append(row.class_group);
}

}  // namespace

/// Where a virtual cluster is shown the host's classes, an object that crosses may name only these: the host knows no
/// other. The syncer tells what the host has chosen itself, also of those that are not shown.
Outcome class_of_host(const Attempt& attempt) {
  if (attempt.context.user.name == attempt.context.options.unix_socket_user) return {};
  for (const NamedClass& row : kNamedClasses) {
    if (!attempt.is(row.group, row.resource)) continue;
    const Value name = attempt.object["spec"][row.field];
    if (name.text().empty() || name.equals(attempt.old["spec"][row.field]) || of_every_cluster(row, name.text()))
      continue;
    const MirroredKind* const shown = find_mirrored(attempt.context.options, row.class_group, row.class_resource);
    if (!shown) continue;
    const auto found = attempt.context.read(path_of(row), {}, name.text());
    if (found && (*found)["metadata"]["labels"].has(shown->label)) continue;
    return attempt.forbid(std::string(row.what) + " \"" + name.string() +
                          "\" is none of the host cluster's that this virtual cluster is shown; name one that `kubectl "
                          "get " +
                          std::string(row.class_resource) + " -l " + shown->label + "` lists");
  }
  return {};
}

}  // namespace sublet::apiserver
