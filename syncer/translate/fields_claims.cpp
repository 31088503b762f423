// Rows of PersistentVolumeClaims and of tenants' own StorageClasses: what a tenant asks for.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

std::vector<TypeRows> claim_fields() {
  return {
      {"PersistentVolumeClaim",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PersistentVolumeClaimSpec"),
        drop("status", "the host says it, and it comes back")}},
      {"PersistentVolumeClaimSpec",
       {
           copy("accessModes"),
           deny("selector", "volumes are the host's: name a storage class, and the host binds one"),
           walk("resources", "VolumeResourceRequirements"),
           clamp("volumeName", refuse_volume_name),
           rewrite("storageClassName", rewrite_storage_class),
           copy("volumeMode volumeAttributesClassName"),
           walk("dataSource", "ClaimSource"),
           walk("dataSourceRef", "ClaimSourceReference"),
       }},
      // A tenant's own class: which of the host's drivers makes its volumes, and how.
      {"StorageClass",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), clamp("provisioner", refuse_provisioner),
        clamp("parameters", refuse_class_parameters), copy("reclaimPolicy allowVolumeExpansion volumeBindingMode"),
        deny("mountOptions", "how the nodes mount volumes is the platform's"),
        walk("allowedTopologies", "TopologySelectorTerm")},
       "storage.v1.StorageClass"},
      {"VolumeResourceRequirements", {copy("limits requests")}},
      {"ClaimSource",
       {copy("apiGroup kind"), rewrite("name", rewrite_crossing_name)},
       "io.k8s.api.core.v1.TypedLocalObjectReference",
       refuse_other_sources},
      {"ClaimSourceReference",
       {copy("apiGroup kind"), rewrite("name", rewrite_crossing_name),
        force("namespace", "that of the claim: on the host all are in one")},
       "io.k8s.api.core.v1.TypedObjectReference",
       refuse_other_sources},
  };
}

}  // namespace sublet::syncer
