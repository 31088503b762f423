// Rows of what the host offers to tenants beside nodes: classes of storage, ingresses, priorities and devices, and the
// drivers behind them. Parameters are left out everywhere: they name Secrets, servers and settings of the host.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kParameters = "for the host's drivers and controllers, which read them there";

std::vector<TypeRows> storage() {
  return {
      {"StorageClass",
       {copy("apiVersion kind"), walk("metadata", "ClassMeta"), copy("provisioner"), drop("parameters", kParameters),
        copy("reclaimPolicy mountOptions allowVolumeExpansion volumeBindingMode"),
        walk("allowedTopologies", "TopologySelectorTerm")},
       "storage.v1.StorageClass"},
      {"TopologySelectorTerm", {walk("matchLabelExpressions", "TopologySelectorLabelRequirement")}},
      {"TopologySelectorLabelRequirement", {copy("key values")}},
      {"CSIDriver",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), walk("spec", "CSIDriverSpec")},
       "storage.v1.CSIDriver"},
      {"CSIDriverSpec",
       {copy("attachRequired podInfoOnMount volumeLifecycleModes storageCapacity fsGroupPolicy"),
        walk("tokenRequests", "TokenRequest"),
        copy("requiresRepublish seLinuxMount nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets "
             "preventPodSchedulingIfMissing")},
       "storage.v1.CSIDriverSpec"},
      {"TokenRequest", {copy("audience expirationSeconds")}, "storage.v1.TokenRequest"},
      {"CSINode",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), walk("spec", "CSINodeSpec")},
       "storage.v1.CSINode"},
      {"CSINodeSpec", {walk("drivers", "CSINodeDriver")}, "storage.v1.CSINodeSpec"},
      {"CSINodeDriver",
       {copy("name nodeID topologyKeys"), walk("allocatable", "VolumeNodeResources")},
       "storage.v1.CSINodeDriver"},
      {"VolumeNodeResources", {copy("count")}, "storage.v1.VolumeNodeResources"},
  };
}

std::vector<TypeRows> devices() {
  return {
      {"DeviceClass",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), walk("spec", "DeviceClassSpec")},
       "resource.v1.DeviceClass"},
      {"DeviceClassSpec",
       {walk("selectors", "DeviceSelector"), drop("config", kParameters), copy("extendedResourceName")},
       "resource.v1.DeviceClassSpec"},
      {"DeviceSelector", {walk("cel", "CELDeviceSelector")}, "resource.v1.DeviceSelector"},
      {"CELDeviceSelector", {copy("expression")}, "resource.v1.CELDeviceSelector"},
  };
}

}  // namespace

std::vector<TypeRows> class_fields() {
  std::vector<TypeRows> all = {
      // Of classes: as MirrorMeta, and whether the class is the default one.
      {"ClassMeta",
       {copy("name labels"), clamp("annotations", keep_default_class),
        drop("generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
             "deletionGracePeriodSeconds ownerReferences finalizers managedFields",
             "the host's own")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
       give_labels_and_annotations},
      {"IngressClass",
       {copy("apiVersion kind"), walk("metadata", "ClassMeta"), walk("spec", "IngressClassSpec")},
       "networking.v1.IngressClass"},
      {"IngressClassSpec", {copy("controller"), drop("parameters", kParameters)}, "networking.v1.IngressClassSpec"},
      {"HostPriorityClass",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"),
        copy("value globalDefault description preemptionPolicy")},
       "scheduling.v1.PriorityClass"},
  };
  for (auto part : {storage(), devices()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
