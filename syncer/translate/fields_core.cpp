// Rows of what tenants send to the host beside pods: the metadata of all, ConfigMaps, Secrets, Services; and the list
// of the kinds that cross.
#include <array>

#include "syncer/translate/field_table.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

std::span<const HostKind> host_kinds() {
  static constexpr std::array<HostKind, 18> kinds{{
      {"Pod", finish_pod, add_service_environment},
      judged_late({"ConfigMap"}),
      judged_late({"Secret"}),
      {"Service"},
      {"PersistentVolumeClaim", nullptr, name_volume_of_claim},
      {"PersistentVolume"},
      judged_late({"Endpoints", keep_mirroring_as_it_is}),
      judged_late({"EndpointSlice", name_service_of_slice}),
      {"Ingress"},
      {"NetworkPolicy"},
      {"PodDisruptionBudget", count_budget},
      judged_late({"ServiceAccount"}),
      judged_late({"PriorityClass"}),
      {"StorageClass"},
      {"ResourceClaim"},
      {"ResourceClaimTemplate"},
      {"PodGroup"},
      {"Workload"},
  }};
  return kinds;
}

std::vector<TypeRows> core_fields() {
  return {
      {"ObjectMeta",
       {
           rewrite("name", rewrite_object_name),
           rewrite("namespace", rewrite_object_namespace),
           rewrite("labels", carry_labels),
           clamp("annotations", allow_annotations),
           drop("generateName selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
                "deletionGracePeriodSeconds managedFields",
                "the host's own, or without meaning there"),
           drop("ownerReferences finalizers", "clean-up on the host is the syncer's"),
       },
       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
       give_labels_and_annotations},
      {"ConfigMap",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), copy("immutable binaryData"),
        clamp("data", leave_out_steering_keys)}},
      {"Secret",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), copy("immutable"),
        clamp("data", leave_out_steering_keys), drop("stringData", "the API server has made data of it"),
        clamp("type", clamp_secret_type)}},
      {"Service",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "ServiceSpec"),
        drop("status", "the host says it, and it comes back")}},
      {"ServiceSpec",
       {
           walk("ports", "ServicePort"),
           rewrite("selector", rewrite_service_selector),
           clamp("clusterIP", keep_only_headless),
           drop("clusterIPs", "the host gives its own"),
           clamp("type", refuse_service_type),
           clamp("externalIPs", refuse_external_ips),
           copy("sessionAffinity loadBalancerSourceRanges externalTrafficPolicy"),
           clamp("loadBalancerIP", refuse_load_balancer_ip),
           clamp("externalName", refuse_external_name),
           drop("healthCheckNodePort", "the host gives its own"),
           copy("publishNotReadyAddresses"),
           walk("sessionAffinityConfig", "SessionAffinityConfig"),
           drop("ipFamilies ipFamilyPolicy", "of the host's network"),
           clamp("loadBalancerClass", refuse_load_balancer_class),
           copy("allocateLoadBalancerNodePorts internalTrafficPolicy trafficDistribution"),
       }},
      {"ServicePort", {copy("name protocol appProtocol port targetPort"), drop("nodePort", "the host gives its own")}},
      {"SessionAffinityConfig", {walk("clientIP", "ClientIPConfig")}},
      {"ClientIPConfig", {copy("timeoutSeconds")}},
  };
}

}  // namespace sublet::syncer
