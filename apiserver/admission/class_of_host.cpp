#include <vector>

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

// In both places where a claim may name one.
std::vector<Value> device_classes_of(const Value& claim_spec) {
  std::vector<Value> names;
  for (const Value request : claim_spec["devices"]["requests"]) {
    names.push_back(request["exactly"]["deviceClassName"]);
    for (const Value one : request["firstAvailable"]) names.push_back(one["deviceClassName"]);
  }
  return names;
}

Outcome is_shown(const Attempt& attempt, const Value& name, std::string_view group, std::string_view resource,
                 std::string_view what) {
  const MirroredKind* const shown = find_mirrored(attempt.context.options, group, resource);
  if (!shown || name.text().empty()) return {};
  const auto found = attempt.context.read(std::string(resource).append(".").append(group), {}, name.text());
  if (found && (*found)["metadata"]["labels"].has(shown->label)) return {};
  return attempt.forbid(std::string(what) + " \"" + name.string() +
                        "\" is none of the host cluster's that this virtual cluster is shown; name one that `kubectl "
                        "get " +
                        std::string(resource) + " -l " + shown->label + "` lists");
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
    if (auto good = is_shown(attempt, name, row.class_group, row.class_resource, row.what); !good) return good;
  }
  const bool claim = attempt.is("resource.k8s.io", "resourceclaims");
  if (!claim && !attempt.is("resource.k8s.io", "resourceclaimtemplates")) return {};
  const Value spec = attempt.object["spec"];
  if (attempt.old && spec.equals(attempt.old["spec"])) return {};
  for (const Value& name : device_classes_of(claim ? spec : spec["spec"]))
    if (auto good = is_shown(attempt, name, "resource.k8s.io", "deviceclasses", "DeviceClass"); !good) return good;
  return {};
}

}  // namespace sublet::apiserver
