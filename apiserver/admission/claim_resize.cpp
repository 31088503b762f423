// PersistentVolumeClaimResize: a claim grows only when it is bound and its class lets claims grow.
#include "apiserver/admission/plugins.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::string_view class_of(const Value& claim) {
  const Value by_annotation = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
  return (by_annotation ? by_annotation : claim["spec"]["storageClassName"]).text();
}

bool may_grow(const Attempt& attempt) {
  const auto name = class_of(attempt.object);
  if (name.empty() || name != class_of(attempt.old)) return false;
  const auto storage_class = attempt.context.read("storageclasses.storage.k8s.io", {}, name);
  // Of a claim that crosses the class may be the host's, and not shown here: the host decides.
  if (!storage_class) return find_carried(attempt.context.options, {}, "persistentvolumeclaims") != nullptr;
  return (*storage_class)["allowVolumeExpansion"].boolean();
}

}  // namespace

Outcome claim_resize(const Attempt& attempt) {
  const auto size_of = [](const Value& claim) { return claim["spec"]["resources"]["requests"]["storage"]; };
  if (quantity_nanos_of(size_of(attempt.object)) <= quantity_nanos_of(size_of(attempt.old))) return {};
  if (attempt.old["status"]["phase"].text() != "Bound")
    return attempt.forbid("Only bound persistent volume claims can be expanded");
  if (!may_grow(attempt))
    return attempt.forbid(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support "
        "resize");
  return {};
}

}  // namespace sublet::apiserver
