// StorageObjectInUseProtection, and PodGroupProtection: claims, volumes, attribute classes and groups of pods are made
// with a finalizer, which a controller removes once they are no longer used.
#include <algorithm>

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

struct Protected {
  std::string_view group, resource, finalizer;
};
constexpr Protected kProtected[] = {{"", "persistentvolumeclaims", "kubernetes.io/pvc-protection"},
                                    {"", "persistentvolumes", "kubernetes.io/pv-protection"},
                                    {"storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"},
                                    // Upstream's PodGroupProtection.
                                    {"scheduling.k8s.io", "podgroups", "scheduling.k8s.io/podgroup-protection"}};

}  // namespace

Outcome storage_protection(const Attempt& attempt) {
  for (const auto& row : kProtected) {
    if (!attempt.creates(row.group, row.resource)) continue;
    auto object = attempt.object;
    auto finalizers = object.object("metadata").array("finalizers");
    const auto is_it = [&](const schema::Value& finalizer) { return finalizer.text() == row.finalizer; };
    if (std::none_of(finalizers.begin(), finalizers.end(), is_it)) finalizers.push(row.finalizer);
  }
  return {};
}

}  // namespace sublet::apiserver
