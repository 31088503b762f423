// Rows of PersistentVolumeClaims: what a tenant asks for, and what the host says of it.
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
           copy("storageClassName volumeMode volumeAttributesClassName"),
           walk("dataSource", "ClaimSource"),
           walk("dataSourceRef", "ClaimSourceReference"),
       }},
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
