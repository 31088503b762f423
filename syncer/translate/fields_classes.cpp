// Rows of what the host offers to tenants beside nodes: classes of storage, ingresses, priorities and devices, and the
// drivers behind them. Parameters are left out everywhere: they name Secrets, servers and settings of the host.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kParameters = "for the host's drivers and controllers, which read them there";

std::vector<TypeRows> storage() {
  return {
      {"HostStorageClass",
       {copy("apiVersion kind"), walk("metadata", "ClassMeta"), copy("provisioner"), drop("parameters", kParameters),
        copy("reclaimPolicy mountOptions allowVolumeExpansion volumeBindingMode"),
        walk("allowedTopologies", "HostTopologySelectorTerm")},
       "storage.v1.StorageClass"},
      {"HostTopologySelectorTerm",
       {walk("matchLabelExpressions", "HostTopologySelectorLabelRequirement")},
       "io.k8s.api.core.v1.TopologySelectorTerm"},
      {"HostTopologySelectorLabelRequirement",
       {copy("key"), rewrite("values", hide_nodes_in_value)},
       "io.k8s.api.core.v1.TopologySelectorLabelRequirement"},
      {"TopologySelectorTerm", {walk("matchLabelExpressions", "TopologySelectorLabelRequirement")}},
      {"TopologySelectorLabelRequirement", {copy("key"), rewrite("values", find_required_nodes)}},
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
       {copy("apiVersion kind"), walk("metadata", "OfNodeMeta"), walk("spec", "CSINodeSpec")},
       "storage.v1.CSINode"},
      {"CSINodeSpec", {walk("drivers", "CSINodeDriver")}, "storage.v1.CSINodeSpec"},
      {"CSINodeDriver",
       {copy("name topologyKeys"), clamp("nodeID", hide_node_id), walk("allocatable", "VolumeNodeResources")},
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

constexpr std::string_view kOfSchedulers = "only a scheduler reads them, and the host's schedulers place all pods";

// What tenants choose devices by.
std::vector<TypeRows> slices() {
  return {
      {"ResourceSlice",
       {copy("apiVersion kind"), walk("metadata", "SliceMeta"), walk("spec", "ResourceSliceSpec")},
       "resource.v1.ResourceSlice"},
      {"ResourceSliceSpec",
       {copy("driver allNodes perDeviceNodeSelection"), rewrite("nodeName", name_node), walk("pool", "ResourcePool"),
        walk("devices", "Device"), drop("nodeSelector sharedCounters", kOfSchedulers)},
       "resource.v1.ResourceSliceSpec"},
      {"ResourcePool",
       {rewrite("name", hide_nodes_in_value), copy("generation resourceSliceCount")},
       "resource.v1.ResourcePool"},
      {"Device",
       {copy("name allNodes bindsToNode bindingConditions bindingFailureConditions allowMultipleAllocations"),
        rewrite("nodeName", name_node), walk_each("attributes", "DeviceAttribute"),
        walk_each("capacity", "DeviceCapacity"), walk("taints", "DeviceTaint"),
        drop("consumesCounters nodeSelector nodeAllocatableResourceMappings", kOfSchedulers)},
       "resource.v1.Device"},
      {"DeviceAttribute",
       {copy("int bool version ints bools versions"), rewrite("string strings", hide_nodes_in_value)},
       "resource.v1.DeviceAttribute"},
      {"DeviceCapacity", {copy("value"), walk("requestPolicy", "CapacityRequestPolicy")}, "resource.v1.DeviceCapacity"},
      {"CapacityRequestPolicy",
       {copy("default validValues"), walk("validRange", "CapacityRequestPolicyRange")},
       "resource.v1.CapacityRequestPolicy"},
      {"CapacityRequestPolicyRange", {copy("min max step")}, "resource.v1.CapacityRequestPolicyRange"},
      {"DeviceTaint", {copy("key effect timeAdded"), rewrite("value", hide_nodes_in_value)}, "resource.v1.DeviceTaint"},
  };
}

}  // namespace

std::vector<TypeRows> class_fields() {
  std::vector<TypeRows> all = {
      // Of classes: as MirrorMeta, and whether the class is the default one.
      {"ClassMeta",
       {copy("name"), rewrite("labels", hide_nodes_in_labels), clamp("annotations", keep_default_class),
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
  for (auto part : {storage(), devices(), slices()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
