// Rows of PersistentVolumeClaims, and of tenants' own StorageClasses and PersistentVolumes: what a tenant asks for.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

namespace {

constexpr std::string_view kMountOptions = "how the nodes mount volumes is the platform's";
constexpr std::string_view kSecretOfHost =
    "it would be a Secret of the host, of any namespace; the platform gives a driver its own by a StorageClass";

// A tenant's own volume: data that are there already, of a driver or a server that the template names.
std::vector<TypeRows> persistent_volume_fields() {
  return {
      {"PersistentVolume",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PersistentVolumeSpec"),
        drop("status", "the host says it, and it comes back")}},
      {"PersistentVolumeSpec",
       {
           copy("capacity accessModes"),
           walk("csi", "CSIPersistentVolumeSource"),
           walk("nfs", "VolumeOfNfs"),
           deny("hostPath local", "it would be a path of the host's nodes"),
           deny("awsElasticBlockStore azureDisk azureFile cephfs cinder fc flexVolume flocker gcePersistentDisk "
                "glusterfs iscsi photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume",
                "of a tenant's volumes those of csi and nfs cross, where the platform's template allows them "
                "(allow.persistentVolumes)"),
           rewrite("claimRef", rewrite_volumes_claim, "VolumesClaim"),
           clamp("persistentVolumeReclaimPolicy", refuse_recycling),
           rewrite("storageClassName", rewrite_storage_class),
           deny("mountOptions", kMountOptions),
           copy("volumeMode volumeAttributesClassName"),
           walk("nodeAffinity", "VolumeNodeAffinity"),
       }},
      {"CSIPersistentVolumeSource",
       {copy("driver"), clamp("volumeHandle", refuse_volume_handle), copy("readOnly"),
        clamp("fsType", refuse_file_system), clamp("volumeAttributes", refuse_volume_attributes),
        deny("controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef "
             "nodeExpandSecretRef",
             kSecretOfHost)}},
      {"VolumeOfNfs",
       {copy("server"), clamp("path", refuse_nfs_path), copy("readOnly")},
       "io.k8s.api.core.v1.NFSVolumeSource"},
      {"VolumesClaim",
       {copy("kind apiVersion namespace name"),
        drop("uid resourceVersion fieldPath", "of the tenant's claim; the host puts its own")},
       "io.k8s.api.core.v1.ObjectReference"},
      {"VolumeNodeAffinity", {walk("required", "NodeSelector")}},
  };
}

}  // namespace

std::vector<TypeRows> claim_fields() {
  std::vector<TypeRows> all = {
      {"PersistentVolumeClaim",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PersistentVolumeClaimSpec"),
        drop("status", "the host says it, and it comes back")}},
      {"PersistentVolumeClaimSpec",
       {
           copy("accessModes"),
           clamp("selector", refuse_volume_selector, "LabelSelector"),
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
        deny("mountOptions", kMountOptions), walk("allowedTopologies", "TopologySelectorTerm")},
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
  const std::vector<TypeRows> of_volumes = persistent_volume_fields();
  all.insert(all.end(), of_volumes.begin(), of_volumes.end());
  return all;
}

}  // namespace sublet::syncer
