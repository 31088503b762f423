#include "syncer/border/synced_kinds.h"

#include <algorithm>

#include "sublet/base/text.h"
#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/host_footprint.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "sublet/syncer/node_names.h"
#include "syncer/to_host/content_patch.h"
#include "syncer/to_host/host_patch.h"
#include "syncer/translate/pod_environment.h"

namespace sublet::syncer {
namespace {

bool but_the_api_servers_own(std::string_view tenant_namespace, std::string_view tenant_name) {
  return tenant_namespace != "default" || tenant_name != "kubernetes";
}

// The tenant's controller has made it for a pod; the host's makes its own.
bool not_of_a_template(const Border&, const kube::CachedObject& tenant_claim) {
  return tenant_claim.text({"metadata", "annotations", "resource.kubernetes.io/pod-claim-name"}).empty();
}

SyncedKind class_of_host(kube::Resource resource, std::string_view kind, std::string_view comes,
                         bool (*wanted)(const patches::SyncConfig&), std::string patches::SyncConfig::*shown) {
  return {
      .kind = kind,
      .resource = std::move(resource),
      .direction = Direction::from_host,
      .crosses = comes,
      .host_allocates = "all",
      .wins = "the host: a tenant's writes are refused",
      .status = "it has none",
      .host_copy = HostCopy::cluster,
      .host_verbs = kReadVerbs,
      .watch_tenant = watch_tenant_by_name,
      .watch_host = watch_host_by_name,
      .reconcile = reconcile_mirror,
      .resync = resync_host,
      .before_others = true,
      .wanted = wanted,
      .shown = shown,
      .next_step = "ask whoever runs the host cluster",
  };
}

// The classes that every cluster has by itself.
bool is_system_class(std::string_view name) { return name.starts_with("system-"); }

SyncedKind priority_classes_of_host() {
  SyncedKind kind = class_of_host(
      {"scheduling.k8s.io", "v1", "priorityclasses"}, "HostPriorityClass",
      "with sync.fromHost.priorityClasses.enabled every class but system-*, or those that the template selects; pods "
      "keep such a class on the host, and may name no other",
      [](const patches::SyncConfig& config) { return config.priority_classes_from_host; },
      &patches::SyncConfig::priority_classes_selector);
  kind.comes = [](const Border&, std::string_view name) { return !is_system_class(name); };
  kind.object_kind = "PriorityClass";
  return kind;
}

SyncedKind storage_classes_of_host() {
  SyncedKind kind = class_of_host(
      {"storage.k8s.io", "v1", "storageclasses"}, "HostStorageClass",
      "with sync.fromHost.storageClasses.enabled every class, or those that the template selects; claims "
      "may then name only these. Parameters do not come",
      [](const patches::SyncConfig& config) { return config.storage_classes_from_host; },
      &patches::SyncConfig::storage_classes_selector);
  kind.object_kind = "StorageClass";
  return kind;
}

SyncedKind drivers_of_nodes() {
  SyncedKind kind = class_of_host(
      {"storage.k8s.io", "v1", "csinodes"}, "CSINode",
      "with sync.fromHost.csiNodes.enabled that of every node that is shown, or those of them that the template "
      "selects",
      [](const patches::SyncConfig& config) { return config.csi_nodes_from_host; },
      &patches::SyncConfig::csi_nodes_selector);
  kind.watch_host = watch_host_nodes_drivers;
  kind.tenant_name = &NodeNames::to_tenant;
  kind.comes = is_of_shown_node;
  return kind;
}

// What `policies` keeps on the host namespace, in the tenant's kube-system, where it counts for all namespaces
// (apiserver/admission/platform_limits.cpp).
SyncedKind policy_of_host(std::string_view kind, const patches::HostMapping& place, std::string_view resource,
                          std::string_view crosses, bool (*wanted)(const patches::SyncConfig&)) {
  return {
      .kind = kind,
      .resource = {"", "v1", std::string(resource)},
      .direction = Direction::from_host,
      .crosses = crosses,
      .host_allocates = "all",
      .wins = "the host: a tenant's writes are refused",
      .status = "the tenant's API server counts what the tenant's objects use",
      .host_copy = HostCopy::ours,
      .host_verbs = kReadVerbs,
      .watch_tenant = watch_mapped_copies,
      .watch_host = watch_mapped,
      .reconcile = reconcile_mapped,
      .resync = resync_mapped,
      .before_others = true,
      .tenant_selector = kLabelFromHost,
      .wanted = wanted,
      .next_step = "it is of the virtual cluster's template; ask whoever runs the host cluster",
      .object_kind = place.kind,
      .mapping = &place,
      .carried_as = kind,
  };
}

SyncedKind quota_of_host() {
  static const patches::HostMapping place{"ResourceQuota", "HostResourceQuota", "", "", "kube-system", ""};
  return policy_of_host(
      "HostResourceQuota", place, "resourcequotas",
      "with policies.resourceQuota.enabled that on the host namespace, as one in kube-system that counts the objects "
      "of "
      "all namespaces; only where sublet's own controllers run. What the host counts otherwise (count/configmaps, "
      "secrets) stays the host's to refuse",
      [](const patches::SyncConfig& config) {
        return config.policies.resource_quota && config.controllers == "builtin";
      });
}

SyncedKind limits_of_host() {
  static const patches::HostMapping place{"LimitRange", "HostLimitRange", "", "", "kube-system", ""};
  SyncedKind kind = policy_of_host(
      "HostLimitRange", place, "limitranges",
      "with policies.limitRange.enabled that on the host namespace, as one in kube-system that counts for the pods of "
      "all namespaces",
      [](const patches::SyncConfig& config) { return config.policies.limit_range; });
  kind.status = "it has none";
  return kind;
}

SyncedKind devices_of_nodes() {
  SyncedKind kind = class_of_host(
      {"resource.k8s.io", "v1", "resourceslices"}, "ResourceSlice",
      "with sync.fromHost.deviceClasses.enabled those of nodes that are shown: the devices that claims may ask for",
      [](const patches::SyncConfig& config) { return config.device_classes_from_host; }, nullptr);
  kind.watch_host = watch_host_nodes_devices;
  kind.tenant_name = &NodeNames::object_to_tenant;
  kind.comes = is_of_shown_nodes_devices;
  kind.before_others = false;
  return kind;
}

// Kinds of which every object crosses as it is, and is put back: what most rows say.
SyncedKind copied(kube::Resource resource, std::string_view kind, std::string_view crosses,
                  bool (*wanted)(const patches::SyncConfig&)) {
  return {
      .kind = kind,
      .resource = std::move(resource),
      .direction = Direction::to_host,
      .crosses = crosses,
      .host_allocates = "nothing",
      .wins = "the tenant: what differs on the host is put back",
      .status = "it has none",
      .host_copy = HostCopy::ours,
      .host_verbs = kAllVerbs,
      .swept = true,
      .watch_tenant = watch_tenant_by_name,
      .watch_host = watch_host_by_identity,
      .reconcile = reconcile_copied,
      .resync = resync_tenant,
      .patch_content = patch_all_of_it,
      .wanted = wanted,
  };
}

SyncedKind volume_claims() {
  SyncedKind kind = copied({"", "v1", "persistentvolumeclaims"}, "PersistentVolumeClaim",
                           "every claim; sync.toHost.persistentVolumeClaims.enabled: false refuses pods that use one",
                           [](const patches::SyncConfig& config) { return config.claims_to_host; });
  kind.host_allocates = "the volume, the default storage class, the node that the volume is for";
  kind.wins =
      "the tenant on the size that it asks for and its attributes class; the host on the rest. A bound claim "
      "that goes on the host is Lost in the tenant, and not made anew";
  kind.status = "by the rows of PersistentVolumeClaimStatus, after volumeName and storageClassName";
  kind.watch_tenant = watch_tenant_claims;
  kind.watch_host = watch_host_claims;
  kind.resync = resync_claims;
  kind.reconcile = reconcile_claim;
  kind.judged = true;
  kind.patch_content = patch_claim;
  kind.names_of_host = {{"StorageClass", "spec.storageClassName"}};
  kind.status_rows = "PersistentVolumeClaimStatus";
  kind.host_fills = "volumeName storageClassName";
  kind.host_notes =
      "pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller "
      "volume.kubernetes.io/storage-provisioner volume.beta.kubernetes.io/storage-provisioner "
      "volume.kubernetes.io/selected-node";
  return kind;
}

SyncedKind endpoints() {
  SyncedKind kind = copied(
      {"", "v1", "endpoints"}, "Endpoints", "those of Services without a selector; sync.toHost.endpoints.enabled",
      [](const patches::SyncConfig& config) { return config.services_to_host && config.endpoints_to_host; });
  kind.watch_tenant = watch_tenant_endpoints;
  kind.crosses_to_host = but_the_api_servers_own;
  kind.crosses_now = has_own_endpoints;
  kind.tenant_selector = "endpoints.kubernetes.io/managed-by!=endpoint-controller";
  kind.made_anew = true;
  return kind;
}

SyncedKind endpoint_slices() {
  SyncedKind kind = copied(
      {"discovery.k8s.io", "v1", "endpointslices"}, "EndpointSlice",
      "those of Services without a selector that no controller has made; "
      "sync.toHost.endpointSlices.enabled",
      [](const patches::SyncConfig& config) { return config.services_to_host && config.endpoint_slices_to_host; });
  kind.watch_tenant = watch_tenant_slices;
  kind.crosses_to_host = but_the_api_servers_own;
  kind.crosses_now = slice_of_own_endpoints;
  kind.tenant_selector =
      "endpointslice.kubernetes.io/managed-by notin "
      "(endpointslice-controller.k8s.io,endpointslicemirroring-controller.k8s.io)";
  kind.made_anew = true;
  return kind;
}

SyncedKind ingresses() {
  SyncedKind kind =
      copied({"networking.k8s.io", "v1", "ingresses"}, "Ingress", "every Ingress, with sync.toHost.ingresses.enabled",
             [](const patches::SyncConfig& config) { return config.ingresses_to_host; });
  kind.host_allocates = "the load balancer's address, the default class";
  kind.wins = "the tenant: what differs on the host is put back, but a class that only the host has named";
  kind.status = "by the rows of IngressStatus";
  kind.watch_tenant = watch_tenant_using;
  kind.uses_others = true;
  kind.judged = true;
  kind.patch_content = patch_ingress;
  kind.names_of_host = {{"IngressClass", "spec.ingressClassName"}};
  kind.status_rows = "IngressStatus";
  return kind;
}

SyncedKind network_policies() {
  SyncedKind kind =
      copied({"networking.k8s.io", "v1", "networkpolicies"}, "NetworkPolicy",
             "every policy, with sync.toHost.networkPolicies.enabled; it selects the tenant's own pods only",
             [](const patches::SyncConfig& config) { return config.network_policies_to_host; });
  kind.watch_tenant = watch_tenant_policies;
  kind.judged = true;
  return kind;
}

SyncedKind disruption_budgets() {
  SyncedKind kind =
      copied({"policy", "v1", "poddisruptionbudgets"}, "PodDisruptionBudget",
             "every budget, with sync.toHost.podDisruptionBudgets.enabled; as the number of pods that the "
             "tenant's controllers have counted",
             [](const patches::SyncConfig& config) { return config.disruption_budgets_to_host; });
  kind.status = "each side counts its own";
  kind.judged = true;
  return kind;
}

SyncedKind service_accounts() {
  SyncedKind kind =
      copied({"", "v1", "serviceaccounts"}, "ServiceAccount",
             "every account, with sync.toHost.serviceAccounts.enabled: pods then run under their own; without "
             "rights on the host and without a token of it",
             [](const patches::SyncConfig& config) { return config.service_accounts_to_host; });
  kind.wins = "the tenant on its labels and annotations; the host on the rest";
  kind.patch_content = patch_account;
  return kind;
}

SyncedKind priority_classes() {
  SyncedKind kind =
      copied({"scheduling.k8s.io", "v1", "priorityclasses"}, "PriorityClass",
             "every class but system-*, with sync.toHost.priorityClasses.enabled, its value brought within "
             "minValue and maxValue",
             [](const patches::SyncConfig& config) { return config.priority_classes_to_host; });
  kind.host_copy = HostCopy::ours_in_cluster;
  kind.crosses_to_host = [](std::string_view, std::string_view name) { return !is_system_class(name); };
  kind.made_anew = true;
  return kind;
}

SyncedKind storage_classes() {
  SyncedKind kind =
      copied({"storage.k8s.io", "v1", "storageclasses"}, "StorageClass",
             "every class, with sync.toHost.storageClasses.enabled, of a provisioner and with parameters that the "
             "template allows; claims then name only the tenant's own",
             [](const patches::SyncConfig& config) { return config.storage_classes_to_host; });
  kind.host_copy = HostCopy::ours_in_cluster;
  kind.judged = true;
  kind.made_anew = true;
  return kind;
}

SyncedKind volumes() {
  SyncedKind kind =
      copied({"", "v1", "persistentvolumes"}, "PersistentVolume",
             "with sync.toHost.persistentVolumes.enabled those of csi and nfs that the template allows, while they are "
             "for a claim: one that they name, that names them, or that they suit best",
             [](const patches::SyncConfig& config) { return config.volumes_to_host; });
  kind.host_allocates = "a larger capacity, and which claim they are bound to";
  kind.wins =
      "the tenant on reclaim policy, class, access modes and nodes; the larger capacity; the host on the rest. For "
      "another claim the host's is made anew";
  kind.status =
      "by the rows of PersistentVolumeStatus; one that the host deletes with its claim goes in the tenant too";
  kind.host_copy = HostCopy::ours_in_cluster;
  kind.watch_tenant = watch_tenant_volumes;
  kind.watch_host = watch_host_volumes;
  kind.reconcile = reconcile_volume;
  kind.judged = true;
  kind.patch_content = patch_volume;
  kind.names_of_host = {{"StorageClass", "spec.storageClassName"}};
  kind.status_rows = "PersistentVolumeStatus";
  return kind;
}

SyncedKind device_claims() {
  SyncedKind kind =
      copied({"resource.k8s.io", "v1", "resourceclaims"}, "ResourceClaim",
             "every claim that the tenant has made itself, with sync.toHost.resourceClaims.enabled; those of a "
             "template are made on the host",
             [](const patches::SyncConfig& config) { return config.device_claims_to_host; });
  kind.host_allocates = "the devices";
  kind.status = "by the rows of ResourceClaimStatus";
  kind.crosses_now = not_of_a_template;
  kind.judged = true;
  kind.made_anew = true;
  kind.names_of_host = {{"DeviceClass", "spec.devices.requests.exactly.deviceClassName"},
                        {"DeviceClass", "spec.devices.requests.firstAvailable.deviceClassName"}};
  kind.status_rows = "ResourceClaimStatus";
  return kind;
}

SyncedKind device_claim_templates() {
  SyncedKind kind =
      copied({"resource.k8s.io", "v1", "resourceclaimtemplates"}, "ResourceClaimTemplate",
             "every template, with sync.toHost.resourceClaimTemplates.enabled; the host makes a claim of it for "
             "each pod that names it",
             [](const patches::SyncConfig& config) { return config.device_claim_templates_to_host; });
  kind.judged = true;
  kind.made_anew = true;
  kind.names_of_host = {{"DeviceClass", "spec.spec.devices.requests.exactly.deviceClassName"},
                        {"DeviceClass", "spec.spec.devices.requests.firstAvailable.deviceClassName"}};
  return kind;
}

// What differs of their spec on the host is what a host without the feature gate of a field leaves out.
constexpr std::string_view kDecidedOnce =
    "the tenant on its labels and annotations; the spec is decided once, on both sides";

SyncedKind pod_groups() {
  SyncedKind kind = copied(
      {"scheduling.k8s.io", "v1alpha2", "podgroups"}, "PodGroup",
      "every group, with sync.toHost.podGroups.enabled; pods then name theirs. Its template (podGroupTemplateRef) "
      "only with sync.toHost.workloads.enabled",
      [](const patches::SyncConfig& config) { return config.pod_groups_to_host; });
  kind.host_allocates = "the priority, by its PriorityClass";
  kind.wins = kDecidedOnce;
  kind.status = "by the rows of PodGroupStatus";
  kind.watch_tenant = watch_tenant_groups;
  kind.reconcile = reconcile_pod_group;
  kind.patch_content = patch_pod_group;
  kind.judged = true;
  kind.status_rows = "PodGroupStatus";
  kind.only_some_hosts = true;
  return kind;
}

SyncedKind workloads() {
  SyncedKind kind = copied({"scheduling.k8s.io", "v1alpha2", "workloads"}, "Workload",
                           "every Workload, with sync.toHost.workloads.enabled, but its controllerRef",
                           [](const patches::SyncConfig& config) { return config.workloads_to_host; });
  kind.wins = kDecidedOnce;
  kind.watch_host = watch_host_workloads;
  kind.judged = true;
  kind.only_some_hosts = true;
  return kind;
}

bool makes_secrets(const patches::SyncConfig& config) {
  return std::ranges::any_of(config.custom_resources,
                             [](const patches::CustomResource& one) { return !one.made_metadata.empty(); });
}

std::vector<SyncedKind> all_kinds() {
  return {
      {
          .kind = "Pod",
          .resource = {"", "v1", "pods"},
          .direction = Direction::to_host,
          .crosses = "every pod that admission lets in",
          .host_allocates = "node, addresses, status, records of host components such as runai-gpu-group",
          .wins = "the tenant on image, resources, deadline, tolerations and its labels under t.sublet.dev; the host "
                  "on all that its "
                  "webhooks, schedulers and kubelets write, also on keys that a template lets cross as they are",
          .status = "by the rows of PodStatus; binding and deletion by the host come back too",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .host_subresources = {"pods/log get", "pods/exec get create", "pods/attach get create",
                                "pods/portforward get create", "pods/proxy get create update patch delete",
                                "pods/ephemeralcontainers patch", "pods/resize patch"},
          .measured = true,
          .swept = true,
          .ends_with_grace = true,
          .watch_tenant = watch_tenant_pods,
          .watch_host = watch_host_pods,
          .reconcile = reconcile_pod,
          .resync = resync_pods,
          .lane = lane_of_pod,
          .uses_others = true,
          .judged = true,
          .patch_content = patch_pod_spec,
          .host_views = {{"ephemeralcontainers", patch_ephemeral_containers}, {"resize", patch_resources}},
          .names_of_host = {{"RuntimeClass", "spec.runtimeClassName"},
                            {"PriorityClass", "spec.priorityClassName", is_system_class}},
      },
      {
          .kind = "Service",
          .resource = {"", "v1", "services"},
          .direction = Direction::to_host,
          .crosses = "every Service but default/kubernetes; none with sync.toHost.services.enabled: false",
          .host_allocates = "cluster IPs, node ports, the load balancer's address",
          .wins = "the tenant on the fields that it sets; the host on those that it allocates: the tenant's API server "
                  "gives "
                  "away none (docs/decisions/service-addresses.md)",
          .status = "by the rows of ServiceStatus, and with it the addresses, through every change of type",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_services,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_service,
          .resync = resync_tenant,
          .crosses_to_host = but_the_api_servers_own,
          .judged = true,
          .patch_content = patch_service_spec,
          .made_anew = true,
          .wanted = [](const patches::SyncConfig& config) { return config.services_to_host; },
      },
      {
          .kind = "ConfigMap",
          .resource = {"", "v1", "configmaps"},
          .direction = Direction::to_host,
          .crosses =
              "while a pod uses it, or all with sync.toHost.configMaps.all; sync.toHost.configMaps.enabled: false "
              "refuses pods that use one",
          .host_allocates = "nothing",
          .wins = "the tenant: what differs on the host is put back",
          .status = "it has none",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_used,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_used,
          .patch_content = patch_data,
          .made_anew = true,
      },
      {
          .kind = "Secret",
          .resource = {"", "v1", "secrets"},
          .direction = Direction::to_host,
          .crosses =
              "while a pod or an Ingress uses it, or all with sync.toHost.secrets.all; sync.toHost.secrets.enabled: "
              "false refuses pods that use one",
          .host_allocates = "nothing",
          .wins = "the tenant: what differs on the host is put back",
          .status = "it has none",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_used,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_used,
          .patch_content = patch_data,
          .made_anew = true,
          .trim_host_copy = leave_out_tokens,
      },
      {
          // Its host objects are Secrets, and come with their copy.
          .kind = "PodToken",
          .resource = {"", "v1", "secrets"},
          .direction = Direction::to_host,
          .crosses = "one Secret for the ServiceAccount tokens of the pods of a namespace that were made together",
          .host_allocates = "nothing",
          .wins = "the tenant's API server, which issues the tokens; renewed at 80 % of their life",
          .status = "it has none",
          .host_verbs = kAllVerbs,
          .swept = true,
          .reconcile = reconcile_token,
      },
      {
          // Its host object is a ConfigMap, and comes with their copy.
          .kind = kEnvironmentKind,
          .resource = {"", "v1", "configmaps"},
          .direction = Direction::to_host,
          .crosses =
              "one ConfigMap of the variables that all containers are given about their API server (KUBERNETES_*)",
          .host_allocates = "nothing",
          .wins = "sublet: what differs on the host is put back",
          .status = "it has none",
          .host_verbs = kAllVerbs,
          .swept = true,
          .reconcile = reconcile_environment,
          .always = {"default", "kubernetes"},
      },
      {
          // Its host objects are Secrets, too.
          .kind = kMadeSecret,
          .resource = {"", "v1", "secrets"},
          .direction = Direction::from_host,
          .crosses = "a Secret that an operator of the host makes for a Certificate or an ExternalSecret that crossed",
          .host_allocates = "all",
          .wins = "the operator of the host, also over what the tenant had under that name",
          .status = "it has none",
          .host_verbs = kReadVerbs,
          .reconcile = reconcile_made,
          .wanted = makes_secrets,
      },
      volume_claims(),
      volumes(),
      endpoints(),
      endpoint_slices(),
      ingresses(),
      network_policies(),
      disruption_budgets(),
      service_accounts(),
      priority_classes(),
      storage_classes(),
      device_claims(),
      device_claim_templates(),
      workloads(),
      pod_groups(),
      {
          .kind = "Event",
          .resource = {"", "v1", "events"},
          .direction = Direction::from_host,
          .crosses = "events about this virtual cluster's objects on the host, said again on the tenant's; none with "
                     "sync.fromHost.events.enabled: false",
          .host_allocates = "all",
          .wins = "the host",
          .status = "it has none",
          .host_copy = HostCopy::host_namespace,
          .host_verbs = kReadVerbs,
          .watch_host = watch_host_events,
          .reconcile = reconcile_event,
          .reconcile_past = reconcile_past_event,
          .lane = lane_of_event,
          .wanted = [](const patches::SyncConfig& config) { return config.events_from_host; },
          .passing = true,
      },
      {
          .kind = "Node",
          .resource = {"", "v1", "nodes"},
          .direction = Direction::from_host,
          .crosses = "every node, or those that the template selects; pods then go only there. With "
                     "sync.fromHost.nodes.pseudoNames under a name that tells nothing of the host's, and so everywhere "
                     "that a node is named",
          .host_allocates = "all",
          .wins = "the host: a tenant's writes are refused",
          .status = "the host's, by the same rows; heartbeats alone do not come, they come with the next difference",
          .host_copy = HostCopy::cluster,
          .host_verbs = kReadVerbs,
          .measured = true,
          .watch_tenant = watch_tenant_by_name,
          .watch_host = watch_host_by_name,
          .reconcile = reconcile_mirror,
          .resync = resync_host,
          .wanted = [](const patches::SyncConfig& config) { return config.nodes_from_host; },
          .tidied_unwanted = true,
          .tenant_name = &NodeNames::to_tenant,
          .beat = "lastHeartbeatTime",
          .shown = &patches::SyncConfig::nodes_selector,
          .next_step = "ask whoever runs the host cluster; to choose the nodes of your own pods, give the pods a "
                       "nodeSelector or node affinity",
      },
      {
          .kind = "RuntimeClass",
          .resource = {"node.k8s.io", "v1", "runtimeclasses"},
          .direction = Direction::from_host,
          .crosses = "every class, or those that the template selects; a tenant's first pods may name them, and no "
                     "class of its own",
          .host_allocates = "all",
          .wins = "the host: a tenant's writes are refused",
          .status = "it has none",
          .host_copy = HostCopy::cluster,
          .host_verbs = kReadVerbs,
          .watch_tenant = watch_tenant_by_name,
          .watch_host = watch_host_by_name,
          .reconcile = reconcile_mirror,
          .resync = resync_host,
          .before_others = true,
          .wanted = [](const patches::SyncConfig& config) { return config.runtime_classes_from_host; },
          .tidied_unwanted = true,
          .shown = &patches::SyncConfig::runtime_classes_selector,
          .next_step = "ask whoever runs the host cluster",
      },
      storage_classes_of_host(),
      class_of_host(
          {"networking.k8s.io", "v1", "ingressclasses"}, "IngressClass",
          "with sync.fromHost.ingressClasses.enabled every class, or those that the template selects; "
          "Ingresses may then name only these. Parameters do not come",
          [](const patches::SyncConfig& config) { return config.ingress_classes_from_host; },
          &patches::SyncConfig::ingress_classes_selector),
      priority_classes_of_host(),
      class_of_host(
          {"storage.k8s.io", "v1", "csidrivers"}, "CSIDriver",
          "with sync.fromHost.csiDrivers.enabled every driver, or those that the template selects",
          [](const patches::SyncConfig& config) { return config.csi_drivers_from_host; },
          &patches::SyncConfig::csi_drivers_selector),
      drivers_of_nodes(),
      class_of_host(
          {"resource.k8s.io", "v1", "deviceclasses"}, "DeviceClass",
          "with sync.fromHost.deviceClasses.enabled every class, or those that the template selects. "
          "Configuration does not come",
          [](const patches::SyncConfig& config) { return config.device_classes_from_host; },
          &patches::SyncConfig::device_classes_selector),
      devices_of_nodes(),
      quota_of_host(),
      limits_of_host(),
  };
}

std::vector<std::string> words(std::string_view text) {
  const std::vector<std::string_view> all = split_words(text);
  return {all.begin(), all.end()};
}

}  // namespace

std::span<const SyncedKind> synced_kinds() {
  static const std::vector<SyncedKind> kinds = all_kinds();
  return kinds;
}

std::vector<SyncedKind> synced_kinds(const TranslateContext& context) {
  std::vector<SyncedKind> kinds = custom_kinds(context);
  kinds.insert(kinds.end(), synced_kinds().begin(), synced_kinds().end());
  for (SyncedKind& kind : kinds)
    if (kind.only_some_hosts && context.unserved_kinds.contains(kind.kind)) kind.resource.version.clear();
  return kinds;
}

bool is_wanted(const SyncedKind& kind, const TranslateContext& context) {
  return !kind.wanted || kind.wanted(config_of(context));
}

std::vector<MirroredKind> mirrored_kinds(const TranslateContext& context) {
  std::vector<MirroredKind> mirrored;
  for (const SyncedKind& kind : synced_kinds(context))
    if (!kind.next_step.empty() && is_wanted(kind, context) &&
        std::ranges::find(mirrored, kind.resource, &MirroredKind::resource) == mirrored.end())
      mirrored.push_back({kind.resource, std::string(kind.next_step)});
  return mirrored;
}

std::vector<CarriedKind> carried_kinds(const TranslateContext& context) {
  std::vector<CarriedKind> carried;
  for (const SyncedKind& kind : synced_kinds(context))
    if (kind.direction == Direction::to_host && kind.watch_tenant && is_wanted(kind, context))
      carried.push_back({kind.resource, std::string(kind.translated_as()), kind.judged});
  return carried;
}

std::vector<Swept> swept_from_host(const TranslateContext& context) {
  std::vector<Swept> swept;
  for (const SyncedKind& kind : synced_kinds(context))
    if (kind.swept && !kind.resource.version.empty() && is_wanted(kind, context) &&
        std::ranges::find(swept, kind.resource, &Swept::resource) == swept.end())
      swept.push_back({kind.resource, kind.ends_with_grace, kind.in_cluster()});
  return swept;
}

namespace {

bool tells_metrics(const patches::SyncConfig& config, const SyncedKind& kind) {
  return config.metrics && (kind.kind == "Node" ? config.node_metrics : config.pod_metrics);
}

std::string space_of(const SyncedKind& kind) { return kind.mapping ? kind.mapping->host_namespace : std::string(); }

}  // namespace

std::vector<HostRight> host_rights(const TranslateContext& context) {
  std::vector<HostRight> rights;
  for (const SyncedKind& kind : synced_kinds(context)) {
    if (!is_wanted(kind, context) && !kind.tidied_unwanted) continue;  // as the copies are kept (border.cpp)
    // It has them, of the kinds that go there.
    if (kind.host_copy == HostCopy::other_namespace && kind.mapping->host_namespace.empty()) continue;
    const bool cluster_wide = kind.in_cluster();
    const auto known = std::ranges::find_if(rights, [&](const HostRight& right) {
      return right.group == kind.resource.group && right.resource == kind.resource.resource &&
             right.host_namespace == space_of(kind) && right.names.empty() == kind.only.empty();
    });
    if (known == rights.end())
      rights.push_back({kind.resource.group, kind.resource.resource, words(kind.host_verbs), cluster_wide,
                        words(kind.only), space_of(kind)});
    else if (!kind.only.empty())
      known->names.emplace_back(kind.only);
    for (const std::string_view subresource : kind.host_subresources) {
      std::vector<std::string> below = words(subresource);
      rights.push_back({kind.resource.group, below.front(), {below.begin() + 1, below.end()}, cluster_wide, {}, {}});
    }
    if (kind.measured && is_wanted(kind, context) && tells_metrics(config_of(context), kind))
      rights.push_back({"metrics.k8s.io", kind.resource.resource, {"get", "list"}, cluster_wide, {}, {}});
  }
  return rights;
}

}  // namespace sublet::syncer
