// Rows of what the host says to tenants: status of pods and Services, events, nodes, runtime classes. A field that a
// newer host sends and that has no row is left out.
#include <array>

#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kHostNames = "names of host objects mean nothing to the tenant";

std::vector<TypeRows> pod_status() {
  return {
      {"PodStatus",
       {
           copy("phase message reason podIP startTime resize allocatedResources"),
           rewrite("nominatedNodeName", name_node),
           clamp("hostIP", leave_out_where_hidden),
           walk("conditions", "PodCondition"),
           clamp("hostIPs", leave_out_where_hidden, "HostIP"),
           walk("podIPs", "PodIP"),
           clamp("initContainerStatuses containerStatuses ephemeralContainerStatuses", keep_own_containers,
                 "ContainerStatus"),
           force("qosClass", "what the tenant's API server made of the tenant's pod"),
           walk("resources", "StatusResources"),
           drop("resourceClaimStatuses extendedResourceClaimStatus nodeAllocatableResourceClaimStatuses", kHostNames),
           force("observedGeneration", "the tenant pod's generation, once the kubelet has seen what became of it"),
       }},
      {"PodCondition",
       {copy("type status lastProbeTime lastTransitionTime reason message"),
        drop("observedGeneration", "counts the host pod's changes")}},
      {"HostIP", {copy("ip")}},
      {"PodIP", {copy("ip")}},
      {"ContainerStatus",
       {
           copy("name ready restartCount image imageID containerID started allocatedResources stopSignal"),
           walk("state lastState", "ContainerState"),
           walk("resources", "StatusResources"),
           walk("volumeMounts", "VolumeMountStatus"),
           walk("user", "ContainerUser"),
           walk("allocatedResourcesStatus", "ResourceStatus"),
       }},
      {"ContainerState",
       {walk("waiting", "ContainerStateWaiting"), walk("running", "ContainerStateRunning"),
        walk("terminated", "ContainerStateTerminated")}},
      {"ContainerStateWaiting", {copy("reason message")}},
      {"ContainerStateRunning", {copy("startedAt")}},
      {"ContainerStateTerminated", {copy("exitCode signal reason message startedAt finishedAt containerID")}},
      {"StatusResources",
       {copy("limits requests"), drop("claims", kHostNames)},
       "io.k8s.api.core.v1.ResourceRequirements"},
      {"VolumeMountStatus", {copy("name mountPath readOnly recursiveReadOnly"), walk("volumeStatus", "VolumeStatus")}},
      {"VolumeStatus", {walk("image", "ImageVolumeStatus")}},
      {"ImageVolumeStatus", {copy("imageRef")}},
      {"ContainerUser", {walk("linux", "LinuxContainerUser")}},
      {"LinuxContainerUser", {copy("uid gid supplementalGroups")}},
      {"ResourceStatus", {copy("name"), walk("resources", "ResourceHealth")}},
      {"ResourceHealth", {rewrite("resourceID message", hide_nodes_in_text), copy("health")}},
  };
}

std::vector<TypeRows> service_status() {
  return {
      {"ServiceStatus",
       {walk("loadBalancer", "LoadBalancerStatus"), drop("conditions", "they tell of the host's Service")}},
      {"LoadBalancerStatus", {walk("ingress", "LoadBalancerIngress")}},
      {"LoadBalancerIngress", {copy("ip hostname ipMode"), walk("ports", "PortStatus")}},
      {"PortStatus", {copy("port protocol error")}},
  };
}

std::vector<TypeRows> volume_claim_status() {
  return {
      {"PersistentVolumeClaimStatus",
       {copy("phase accessModes capacity allocatedResources allocatedResourceStatuses "
             "currentVolumeAttributesClassName"),
        walk("conditions", "PersistentVolumeClaimCondition"), walk("modifyVolumeStatus", "ModifyVolumeStatus")}},
      {"PersistentVolumeClaimCondition", {copy("type status lastProbeTime lastTransitionTime reason message")}},
      {"ModifyVolumeStatus", {copy("targetVolumeAttributesClassName status")}},
      {"PersistentVolumeStatus", {copy("phase message reason lastPhaseTransitionTime")}},
  };
}

std::vector<TypeRows> ingress_status() {
  return {
      {"IngressStatus", {walk("loadBalancer", "IngressLoadBalancerStatus")}, "networking.v1.IngressStatus"},
      {"IngressLoadBalancerStatus",
       {walk("ingress", "IngressLoadBalancerIngress")},
       "networking.v1.IngressLoadBalancerStatus"},
      {"IngressLoadBalancerIngress",
       {copy("ip hostname"), walk("ports", "IngressPortStatus")},
       "networking.v1.IngressLoadBalancerIngress"},
      {"IngressPortStatus", {copy("port protocol error")}, "networking.v1.IngressPortStatus"},
  };
}

std::vector<TypeRows> events() {
  return {
      {"Event",
       {
           copy("apiVersion kind"),
           force("metadata", "the tenant object's namespace and a name made of its own"),
           walk("involvedObject", "EventObject"),
           copy("reason message firstTimestamp lastTimestamp count type eventTime action"),
           rewrite("reportingInstance", hide_reporter),
           rewrite("reportingComponent", hide_nodes_in_text),
           walk("source", "EventSource"),
           walk("series", "EventSeries"),
           drop("related", kHostNames),
       }},
      {"EventObject",
       {force("kind namespace name uid apiVersion", "the tenant object's"),
        drop("resourceVersion", "the host object's"), copy("fieldPath")},
       "io.k8s.api.core.v1.ObjectReference"},
      {"EventSource", {rewrite("component", hide_nodes_in_text), rewrite("host", name_node)}},
      {"EventSeries", {copy("count lastObservedTime")}},
  };
}

std::vector<TypeRows> nodes() {
  return {
      // Of everything that is mirrored.
      {"MirrorMeta",
       {copy("name"), rewrite("labels", hide_nodes_in_labels),
        drop("generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
             "deletionGracePeriodSeconds annotations ownerReferences finalizers managedFields",
             "the host's own")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
      // Of what bears the name of a node, and of what bears it within its own.
      {"OfNodeMeta",
       {rewrite("name", name_node), rewrite("labels", hide_nodes_in_labels),
        drop("generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
             "deletionGracePeriodSeconds annotations ownerReferences finalizers managedFields",
             "the host's own")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
      {"SliceMeta",
       {rewrite("name", name_object_of_node), rewrite("labels", hide_nodes_in_labels),
        drop("generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
             "deletionGracePeriodSeconds annotations ownerReferences finalizers managedFields",
             "the host's own")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
      {"NodeMeta",
       {rewrite("name", name_node), clamp("labels", keep_shown_node_labels),
        drop("generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
             "deletionGracePeriodSeconds annotations ownerReferences finalizers managedFields",
             "the host's own")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
      {"Node",
       {copy("apiVersion kind"), walk("metadata", "NodeMeta"), walk("spec", "NodeSpec"), walk("status", "NodeStatus")},
       {},
       name_in_node},
      {"NodeSpec",
       {clamp("podCIDR podCIDRs", leave_out_where_hidden), copy("unschedulable"),
        drop("providerID externalID", "the host's account with its provider"), walk("taints", "Taint"),
        drop("configSource", "the kubelet's, on the host")}},
      {"Taint", {copy("key effect timeAdded"), rewrite("value", hide_nodes_in_value)}},
      {"NodeStatus",
       {
           copy("capacity allocatable phase declaredFeatures"),
           drop("volumesInUse volumesAttached", "volumes of all tenants"),
           drop("images", "what other tenants run"),
           drop("config", "the kubelet's, on the host"),
           walk("conditions", "NodeCondition"),
           clamp("addresses", hide_node_addresses, "NodeAddress"),
           walk("daemonEndpoints", "NodeDaemonEndpoints"),
           walk("nodeInfo", "NodeSystemInfo"),
           walk("runtimeHandlers", "NodeRuntimeHandler"),
           walk("features", "NodeFeatures"),
       }},
      {"NodeCondition",
       {copy("type status lastHeartbeatTime lastTransitionTime reason"), rewrite("message", hide_nodes_in_text)}},
      {"NodeAddress", {copy("type address")}},
      {"NodeDaemonEndpoints", {walk("kubeletEndpoint", "DaemonEndpoint")}},
      {"DaemonEndpoint", {copy("Port")}},
      {"NodeSystemInfo",
       {clamp("machineID systemUUID bootID", leave_blank),  // they tell the host's machines apart from all others
        copy("kernelVersion osImage containerRuntimeVersion kubeletVersion "
             "kubeProxyVersion operatingSystem architecture"),
        walk("swap", "NodeSwapStatus")}},
      {"NodeSwapStatus", {copy("capacity")}},
      {"NodeRuntimeHandler", {copy("name"), walk("features", "NodeRuntimeHandlerFeatures")}},
      {"NodeRuntimeHandlerFeatures", {copy("recursiveReadOnlyMounts userNamespaces")}},
      {"NodeFeatures", {copy("supplementalGroupsPolicy")}},
  };
}

std::vector<TypeRows> mapped_fields() {
  return {
      {"HostConfigMap",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), copy("immutable data binaryData")},
       "io.k8s.api.core.v1.ConfigMap"},
      {"HostSecret",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), copy("immutable data type"),
        drop("stringData", "the API server has made data of it")},
       "io.k8s.api.core.v1.Secret"},
  };
}

// What `policies` of the template keeps on the host namespace.
std::vector<TypeRows> policies() {
  return {
      {"HostResourceQuota",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), walk("spec", "HostQuotaSpec"),
        drop("status", "the tenant's API server counts what the tenant's objects use")},
       "io.k8s.api.core.v1.ResourceQuota"},
      {"HostQuotaSpec",
       {clamp("hard", keep_equal_counts), drop("scopes scopeSelector", "sublet's quota is about all pods")},
       "io.k8s.api.core.v1.ResourceQuotaSpec"},
      {"HostLimitRange",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), walk("spec", "HostLimitRangeSpec")},
       "io.k8s.api.core.v1.LimitRange"},
      {"HostLimitRangeSpec", {walk("limits", "LimitRangeItem")}, "io.k8s.api.core.v1.LimitRangeSpec"},
      {"LimitRangeItem", {copy("type max min default defaultRequest maxLimitRequestRatio")}},
  };
}

std::vector<TypeRows> runtime_classes() {
  return {
      {"RuntimeClass",
       {copy("apiVersion kind"), walk("metadata", "MirrorMeta"), copy("handler"), walk("overhead", "Overhead"),
        drop("scheduling",
             "the host adds it to the pods of the class, whose tolerations and nodes are the platform's")},
       "io.k8s.api.node.v1.RuntimeClass"},
      {"Overhead", {copy("podFixed")}, "io.k8s.api.node.v1.Overhead"},
  };
}

}  // namespace

std::span<const std::string_view> from_host_roots() {
  static constexpr std::array<std::string_view, 21> roots{
      "PodStatus",
      "ServiceStatus",
      "PersistentVolumeClaimStatus",
      "PersistentVolumeStatus",
      "IngressStatus",
      "Event",
      "Node",
      "RuntimeClass",
      "HostStorageClass",
      "IngressClass",
      "HostPriorityClass",
      "CSIDriver",
      "CSINode",
      "DeviceClass",
      "HostConfigMap",
      "HostSecret",
      "ResourceClaimStatus",
      "PodGroupStatus",
      "ResourceSlice",
      "HostResourceQuota",
      "HostLimitRange",
  };
  return roots;
}

std::vector<TypeRows> from_host_fields() {
  std::vector<TypeRows> all = pod_status();
  for (auto part : {service_status(), volume_claim_status(), ingress_status(), events(), nodes(), runtime_classes(),
                    mapped_fields(), policies()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
