#include "patches/template/key_rows.h"

namespace sublet::patches {

namespace {

constexpr KeyRow counted(std::string_view key, int SyncConfig::*count) {
  KeyRow row{key, Takes::count, ""};
  row.count = count;
  return row;
}
constexpr KeyRow of_policies(std::string_view key, bool Policies::*flag) {
  KeyRow row{key, Takes::boolean, ""};
  row.policy = flag;
  return row;
}
constexpr KeyRow of_policies(std::string_view key, Quantities Policies::*map) {
  KeyRow row{key, Takes::quantities, ""};
  row.map = map;
  return row;
}
constexpr KeyRow of_policies(std::string_view key, std::string_view words, std::string Policies::*word) {
  KeyRow row{key, Takes::choice, words};
  row.word = word;
  return row;
}

constexpr KeyRow toggle(std::string_view key, PartOf<bool> on) {
  KeyRow row{key, Takes::boolean, ""};
  row.on = on;
  return row;
}
constexpr KeyRow api_value(std::string_view key, std::string_view place, PartOf<std::string> said,
                           std::string_view ours = "") {
  KeyRow row{key, Takes::api_value, place};
  row.said = said;
  row.ours = ours;
  return row;
}
// Of one object; the places are the same for every kind.
constexpr std::string_view kLabels = "Pod metadata.labels", kAnnotations = "Pod metadata.annotations";
constexpr KeyRow network(std::string_view key, PartOf<std::string> said) {
  KeyRow row{key, Takes::network, ""};
  row.said = said;
  return row;
}
constexpr KeyRow word(std::string_view key, std::string_view form, PartOf<std::string> said) {
  KeyRow row{key, Takes::word, form};
  row.said = said;
  return row;
}
constexpr KeyRow one_of(std::string_view key, std::string_view words, PartOf<std::string> said) {
  KeyRow row{key, Takes::choice, words};
  row.said = said;
  return row;
}
constexpr KeyRow hosts(std::string_view key, PartOf<std::vector<std::string>> list) {
  KeyRow row{key, Takes::hosts, ""};
  row.hosts = list;
  return row;
}
constexpr KeyRow port(std::string_view key, PartOf<std::int64_t> number) {
  KeyRow row{key, Takes::port, ""};
  row.port = number;
  return row;
}
constexpr KeyRow networks(std::string_view key, PartOf<std::optional<std::vector<std::string>>> items) {
  KeyRow row{key, Takes::networks, ""};
  row.items = items;
  return row;
}

constexpr std::string_view kOurPatches = "sublet's patches stand under \"patches\"";
constexpr std::string_view kShownAsTheyAre = "what comes from the host is shown as it is";
constexpr std::string_view kNoSuchPolicy = "sublet has no such policy; set it on the host namespace";
constexpr std::string_view kOwnControlPlane =
    "sublet brings its own API server and store; there is nothing to configure";

// A place below controlPlane.
template <auto... Members>
constexpr auto control() {
  return part_of<&SyncConfig::control_plane, Members...>;
}
template <auto... Members>
constexpr auto exported() {
  return part_of<&SyncConfig::exported, Members...>;
}
constexpr std::string_view kNoPod = "sublet's API server and syncer are no pods of the host";

constexpr KeyRow kRows[] = {
    // To the host.
    {"sync.toHost.pods.enabled", Takes::only_true, "carrying pods is what a virtual cluster is for"},
    {"sync.toHost.pods.patches", Takes::only_empty,
     "sublet's patches stand under \"patches\" and are CEL, not JavaScript"},
    {"sync.toHost.pods.translateImage", Takes::images, ""},
    {"sync.toHost.pods.enforceTolerations", Takes::tolerations, ""},
    word("sync.toHost.pods.runtimeClassName", "name", part_of<&SyncConfig::pods, &PodSettings::runtime_class>),
    word("sync.toHost.pods.priorityClassName", "name", part_of<&SyncConfig::pods, &PodSettings::priority_class>),
    {"sync.toHost.pods.useSecretsForSATokens", Takes::either, "sublet keeps tokens in Secrets, never in annotations"},
    {"sync.toHost.pods.rewriteHosts.enabled", Takes::only_false, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.rewriteHosts.initContainer", Takes::nothing, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.hybridScheduling.enabled", Takes::boolean, "", &SyncConfig::hybrid_scheduling},
    {"sync.toHost.pods.hybridScheduling.hostSchedulers", Takes::strings, "", nullptr, nullptr, nullptr,
     &SyncConfig::host_schedulers},
    {"sync.toHost.services.enabled", Takes::boolean, "", &SyncConfig::services_to_host},
    {"sync.toHost.services.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.configMaps.enabled", Takes::boolean, "", &SyncConfig::config_maps_to_host},
    {"sync.toHost.configMaps.all", Takes::boolean, "", &SyncConfig::config_maps_all},
    {"sync.toHost.configMaps.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.secrets.enabled", Takes::boolean, "", &SyncConfig::secrets_to_host},
    {"sync.toHost.secrets.all", Takes::boolean, "", &SyncConfig::secrets_all},
    {"sync.toHost.secrets.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.serviceAccounts.enabled", Takes::boolean, "", &SyncConfig::service_accounts_to_host},
    {"sync.toHost.serviceAccounts.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.endpoints.enabled", Takes::boolean, "", &SyncConfig::endpoints_to_host},
    {"sync.toHost.endpoints.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.endpointSlices.enabled", Takes::boolean, "", &SyncConfig::endpoint_slices_to_host},
    {"sync.toHost.endpointSlices.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.persistentVolumeClaims.enabled", Takes::boolean, "", &SyncConfig::claims_to_host},
    {"sync.toHost.persistentVolumeClaims.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.persistentVolumes.enabled", Takes::boolean, "", &SyncConfig::volumes_to_host},
    {"sync.toHost.persistentVolumes.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.ingresses.enabled", Takes::boolean, "", &SyncConfig::ingresses_to_host},
    {"sync.toHost.ingresses.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.gatewayApi.enabled", Takes::boolean, "", &SyncConfig::gateway_api_to_host},
    {"sync.toHost.gatewayApi.httpRoutes.enabled", Takes::boolean, "", &SyncConfig::http_routes_to_host},
    {"sync.toHost.gatewayApi.httpRoutes.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.gatewayApi.gateways.enabled", Takes::boolean, "", &SyncConfig::gateways_to_host},
    {"sync.toHost.gatewayApi.gateways.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.gatewayApi.tlsRoutes.enabled", Takes::boolean, "", &SyncConfig::tls_routes_to_host},
    {"sync.toHost.gatewayApi.tlsRoutes.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.gatewayApi.backendTLSPolicies.enabled", Takes::boolean, "", &SyncConfig::backend_tls_to_host},
    {"sync.toHost.gatewayApi.backendTLSPolicies.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.gatewayApi.referenceGrants.enabled", Takes::only_false,
     "routes and gateways name objects of their own namespace only, which needs no grant"},
    {"sync.toHost.gatewayApi.referenceGrants.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.priorityClasses.enabled", Takes::boolean, "", &SyncConfig::priority_classes_to_host},
    {"sync.toHost.priorityClasses.minValue", Takes::integer, "", nullptr, nullptr, &SyncConfig::priority_min},
    {"sync.toHost.priorityClasses.maxValue", Takes::integer, "", nullptr, nullptr, &SyncConfig::priority_max},
    {"sync.toHost.priorityClasses.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.storageClasses.enabled", Takes::boolean, "", &SyncConfig::storage_classes_to_host},
    {"sync.toHost.storageClasses.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.networkPolicies.enabled", Takes::boolean, "", &SyncConfig::network_policies_to_host},
    {"sync.toHost.networkPolicies.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.volumeSnapshots.enabled", Takes::boolean, "", &SyncConfig::snapshots_to_host},
    {"sync.toHost.volumeSnapshots.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.volumeSnapshotContents", Takes::nothing,
     "a content names a snapshot of the host's storage, of any tenant; snapshots cross, and the host makes contents"},
    {"sync.toHost.podDisruptionBudgets.enabled", Takes::boolean, "", &SyncConfig::disruption_budgets_to_host},
    {"sync.toHost.podDisruptionBudgets.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.resourceClaims.enabled", Takes::boolean, "", &SyncConfig::device_claims_to_host},
    {"sync.toHost.resourceClaims.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.resourceClaimTemplates.enabled", Takes::boolean, "", &SyncConfig::device_claim_templates_to_host},
    {"sync.toHost.resourceClaimTemplates.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.podGroups.enabled", Takes::boolean, "", &SyncConfig::pod_groups_to_host},
    {"sync.toHost.workloads.enabled", Takes::boolean, "", &SyncConfig::workloads_to_host},
    {"sync.toHost.namespaces", Takes::nothing, "all of a virtual cluster lives in one host namespace"},
    {"sync.toHost.customResources", Takes::custom, "toHost"},
    // From the host.
    {"sync.fromHost.nodes.enabled", Takes::boolean, "", &SyncConfig::nodes_from_host},
    {"sync.fromHost.nodes.syncBackChanges", Takes::only_false, "a tenant must not change nodes of the host"},
    {"sync.fromHost.nodes.clearImageStatus", Takes::either, "sublet never shows the images of a node"},
    {"sync.fromHost.nodes.selector.all", Takes::boolean, "", &SyncConfig::nodes_all},
    {"sync.fromHost.nodes.selector.labels", Takes::labels, "", nullptr, &SyncConfig::nodes_selector},
    {"sync.fromHost.nodes.labels", Takes::strings, "", nullptr, nullptr, nullptr, &SyncConfig::node_labels},
    {"sync.fromHost.nodes.pseudoNames", Takes::boolean, "", &SyncConfig::pseudo_node_names},
    {"sync.fromHost.nodes.patches", Takes::only_empty, "nodes are shown as they are"},
    {"sync.fromHost.runtimeClasses.enabled", Takes::boolean, "", &SyncConfig::runtime_classes_from_host},
    {"sync.fromHost.runtimeClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.patches", Takes::only_empty, "runtime classes are shown as they are"},
    {"sync.fromHost.events.enabled", Takes::boolean, "", &SyncConfig::events_from_host},
    {"sync.fromHost.events.patches", Takes::only_empty, "events are shown with the tenant's names, else as they are"},
    {"sync.fromHost.csiDrivers.enabled", Takes::boolean, "", &SyncConfig::csi_drivers_from_host},
    {"sync.fromHost.csiDrivers.selector.matchLabels", Takes::labels, "", nullptr, &SyncConfig::csi_drivers_selector},
    {"sync.fromHost.csiDrivers.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::csi_drivers_selector},
    {"sync.fromHost.csiDrivers.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.csiNodes.enabled", Takes::boolean, "", &SyncConfig::csi_nodes_from_host},
    {"sync.fromHost.csiNodes.selector.matchLabels", Takes::labels, "", nullptr, &SyncConfig::csi_nodes_selector},
    {"sync.fromHost.csiNodes.selector.matchExpressions", Takes::selector, "", nullptr, &SyncConfig::csi_nodes_selector},
    {"sync.fromHost.csiNodes.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.csiStorageCapacities", Takes::nothing,
     "only a scheduler reads them, and the host's schedulers place all pods"},
    {"sync.fromHost.storageClasses.enabled", Takes::boolean, "", &SyncConfig::storage_classes_from_host},
    {"sync.fromHost.storageClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::storage_classes_selector},
    {"sync.fromHost.storageClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::storage_classes_selector},
    {"sync.fromHost.storageClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.ingressClasses.enabled", Takes::boolean, "", &SyncConfig::ingress_classes_from_host},
    {"sync.fromHost.ingressClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::ingress_classes_selector},
    {"sync.fromHost.ingressClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::ingress_classes_selector},
    {"sync.fromHost.ingressClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.priorityClasses.enabled", Takes::boolean, "", &SyncConfig::priority_classes_from_host},
    {"sync.fromHost.priorityClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::priority_classes_selector},
    {"sync.fromHost.priorityClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::priority_classes_selector},
    {"sync.fromHost.priorityClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.gatewayClasses.enabled", Takes::boolean, "", &SyncConfig::gateway_classes_from_host},
    {"sync.fromHost.gatewayClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::gateway_classes_selector},
    {"sync.fromHost.gatewayClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::gateway_classes_selector},
    {"sync.fromHost.gatewayClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.gateways.enabled", Takes::boolean, "", &SyncConfig::gateways_from_host},
    {"sync.fromHost.gateways.mappings.byName", Takes::mappings, "gateways.gateway.networking.k8s.io"},
    {"sync.fromHost.gateways.selector.matchLabels", Takes::labels, "", nullptr, &SyncConfig::gateways_selector},
    {"sync.fromHost.gateways.selector.matchExpressions", Takes::selector, "", nullptr, &SyncConfig::gateways_selector},
    {"sync.fromHost.gateways.allowedRoutes", Takes::nothing,
     "all routes of a virtual cluster stand in its host namespace; which namespaces may attach is said by the Gateway "
     "itself, on the host"},
    {"sync.fromHost.gateways.status.exposeAddresses", Takes::boolean, "", &SyncConfig::gateway_addresses},
    {"sync.fromHost.gateways.metadata.exposeSourceGateway", Takes::boolean, "", &SyncConfig::gateway_sources},
    {"sync.fromHost.gateways.sanitize.certificateRefs", Takes::boolean, "", &SyncConfig::gateway_certificates_hidden},
    {"sync.fromHost.gateways.sanitize.infrastructure", Takes::boolean, "", &SyncConfig::gateway_infrastructure_hidden},
    {"sync.fromHost.gateways.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.deviceClasses.enabled", Takes::boolean, "", &SyncConfig::device_classes_from_host},
    {"sync.fromHost.deviceClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::device_classes_selector},
    {"sync.fromHost.deviceClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::device_classes_selector},
    {"sync.fromHost.deviceClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.volumeSnapshotClasses.enabled", Takes::boolean, "", &SyncConfig::snapshot_classes_from_host},
    {"sync.fromHost.volumeSnapshotClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::snapshot_classes_selector},
    {"sync.fromHost.volumeSnapshotClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::snapshot_classes_selector},
    {"sync.fromHost.volumeSnapshotClasses.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.configMaps.enabled", Takes::boolean, "", &SyncConfig::config_maps_from_host},
    {"sync.fromHost.configMaps.mappings.byName", Takes::mappings, "ConfigMap"},
    {"sync.fromHost.configMaps.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.secrets.enabled", Takes::boolean, "", &SyncConfig::secrets_from_host},
    {"sync.fromHost.secrets.mappings.byName", Takes::mappings, "Secret"},
    {"sync.fromHost.secrets.patches", Takes::only_empty, kShownAsTheyAre},
    {"sync.fromHost.customResources", Takes::custom, "fromHost"},
    // The rest.
    {"controllers", Takes::choice, "builtin upstream none", nullptr, &SyncConfig::controllers},
    counted("unauthenticated.connections", &SyncConfig::unauthenticated_connections),
    counted("unauthenticated.connectionsPerAddress", &SyncConfig::unauthenticated_connections_per_address),
    counted("unauthenticated.kib", &SyncConfig::unauthenticated_kib),
    {"controlPlane.distro.k8s.apiServer.enabled", Takes::only_true, "a virtual cluster is an API server"},
    {"controlPlane.distro.k8s.controllerManager.enabled", Takes::boolean, "", &SyncConfig::controller_manager},
    {"controlPlane.distro.k8s.controllerManager.extraArgs", Takes::strings, "", nullptr, nullptr, nullptr,
     &SyncConfig::controller_arguments},
    {"experimental.syncSettings.setOwner", Takes::only_false,
     "owner references on host objects break KAI's pod grouping and delete too much or too little; sublet finds what "
     "belongs to a virtual cluster by label",
     &SyncConfig::set_owner},
    {"experimental.deploy.vcluster.manifests", Takes::manifests, ""},
    {"experimental.deploy.vcluster.*", Takes::nothing,
     "sublet applies objects as they are (experimental.deploy.vcluster.manifests), and runs neither Helm nor its "
     "templates"},
    {"experimental.syncSettings.*", Takes::nothing, "sublet has no such setting"},
    {"experimental.*", Takes::nothing,
     "sublet knows of experimental only syncSettings.setOwner and deploy.vcluster.manifests"},
    {"telemetry.enabled", Takes::only_false, "sublet sends no telemetry"},
    {"controlPlane.service.enabled", Takes::only_true, "pods reach their API server by it"},
    api_value("controlPlane.service.labels", kLabels,
              control<&ControlPlane::service, &ServiceSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.service.annotations", kAnnotations,
              control<&ControlPlane::service, &ServiceSettings::metadata, &ExtraMetadata::annotations>()),
    api_value("controlPlane.service.spec", "Service spec", control<&ControlPlane::service, &ServiceSettings::spec>(),
              "ports selector clusterIP clusterIPs externalName publishNotReadyAddresses"),
    port("controlPlane.service.httpsNodePort", control<&ControlPlane::service, &ServiceSettings::https_node_port>()),
    {"controlPlane.service.kubeletNodePort", Takes::only_zero, "sublet has no kubelets of its own"},
    toggle("controlPlane.ingress.enabled", control<&ControlPlane::ingress, &IngressSettings::enabled>()),
    word("controlPlane.ingress.host", "host", control<&ControlPlane::ingress, &IngressSettings::host>()),
    one_of("controlPlane.ingress.pathType", "ImplementationSpecific Prefix Exact",
           control<&ControlPlane::ingress, &IngressSettings::path_type>()),
    api_value("controlPlane.ingress.labels", kLabels,
              control<&ControlPlane::ingress, &IngressSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.ingress.annotations", kAnnotations,
              control<&ControlPlane::ingress, &IngressSettings::metadata, &ExtraMetadata::annotations>()),
    api_value("controlPlane.ingress.spec", "Ingress spec", control<&ControlPlane::ingress, &IngressSettings::spec>()),
    toggle("controlPlane.tlsRoute.enabled", control<&ControlPlane::route, &RouteSettings::enabled>()),
    one_of("controlPlane.tlsRoute.apiVersion",
           "gateway.networking.k8s.io/v1 gateway.networking.k8s.io/v1alpha3 gateway.networking.k8s.io/v1alpha2",
           control<&ControlPlane::route, &RouteSettings::api_version>()),
    word("controlPlane.tlsRoute.host", "host", control<&ControlPlane::route, &RouteSettings::host>()),
    api_value("controlPlane.tlsRoute.parentRefs", "TLSRoute spec.parentRefs",
              control<&ControlPlane::route, &RouteSettings::parents>()),
    api_value("controlPlane.tlsRoute.spec", "TLSRoute spec", control<&ControlPlane::route, &RouteSettings::spec>()),
    api_value("controlPlane.tlsRoute.labels", kLabels,
              control<&ControlPlane::route, &RouteSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.tlsRoute.annotations", kAnnotations,
              control<&ControlPlane::route, &RouteSettings::metadata, &ExtraMetadata::annotations>()),
    toggle("controlPlane.serviceMonitor.enabled", control<&ControlPlane::monitor, &MonitorSettings::enabled>()),
    api_value("controlPlane.serviceMonitor.labels", kLabels,
              control<&ControlPlane::monitor, &MonitorSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.serviceMonitor.annotations", kAnnotations,
              control<&ControlPlane::monitor, &MonitorSettings::metadata, &ExtraMetadata::annotations>()),
    hosts("controlPlane.proxy.extraSANs", control<&ControlPlane::names>()),
    {"controlPlane.proxy.*", Takes::nothing,
     "`sublet create` chooses where the API server listens, or --pod-listen says it"},
    {"controlPlane.advanced.serviceAccount.enabled", Takes::only_true, "the syncer is known to the host by it"},
    {"controlPlane.advanced.serviceAccount.name", Takes::only_empty,
     "the syncer's account and what holds it in have names of their own: sublet-syncer-NAME"},
    api_value("controlPlane.advanced.serviceAccount.labels", kLabels,
              control<&ControlPlane::syncer_account, &AccountSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.advanced.serviceAccount.annotations", kAnnotations,
              control<&ControlPlane::syncer_account, &AccountSettings::metadata, &ExtraMetadata::annotations>()),
    api_value("controlPlane.advanced.serviceAccount.imagePullSecrets", "ServiceAccount imagePullSecrets",
              control<&ControlPlane::syncer_account, &AccountSettings::pull_secrets>()),
    {"controlPlane.advanced.workloadServiceAccount.enabled", Takes::only_true,
     "pods of tenants run under an account of the virtual cluster's own, which has no rights"},
    word("controlPlane.advanced.workloadServiceAccount.name", "name",
         control<&ControlPlane::workload_account, &AccountSettings::name>()),
    api_value("controlPlane.advanced.workloadServiceAccount.labels", kLabels,
              control<&ControlPlane::workload_account, &AccountSettings::metadata, &ExtraMetadata::labels>()),
    api_value("controlPlane.advanced.workloadServiceAccount.annotations", kAnnotations,
              control<&ControlPlane::workload_account, &AccountSettings::metadata, &ExtraMetadata::annotations>()),
    api_value("controlPlane.advanced.workloadServiceAccount.imagePullSecrets", "ServiceAccount imagePullSecrets",
              control<&ControlPlane::workload_account, &AccountSettings::pull_secrets>()),
    api_value("controlPlane.advanced.globalMetadata.annotations", kAnnotations, control<&ControlPlane::annotations>()),
    {"controlPlane.statefulSet.*", Takes::nothing, kNoPod},
    {"controlPlane.coredns.enabled", Takes::boolean, "", &SyncConfig::cluster_dns},
    api_value("controlPlane.coredns.service.labels", kLabels,
              control<&ControlPlane::dns_service, &ExtraMetadata::labels>()),
    api_value("controlPlane.coredns.service.annotations", kAnnotations,
              control<&ControlPlane::dns_service, &ExtraMetadata::annotations>()),
    {"controlPlane.coredns.*", Takes::nothing, "sublet's DNS server is a process beside the API server, not CoreDNS"},
    {"controlPlane.advanced.virtualScheduler.enabled", Takes::only_false, "the host's schedulers place all pods"},
    {"controlPlane.distro.*", Takes::nothing, kOwnControlPlane},
    {"controlPlane.backingStore.*", Takes::nothing, "sublet's store is SQLite; there is nothing to choose yet"},
    {"controlPlane.*", Takes::nothing, kOwnControlPlane},
    word("networking.advanced.clusterDomain", "name", part_of<&SyncConfig::cluster_domain>),
    {"networking.*", Takes::nothing, "sublet has nothing to configure there yet"},
    of_policies("policies.resourceQuota.enabled", &Policies::resource_quota),
    of_policies("policies.resourceQuota.quota", &Policies::quota),
    api_value("policies.resourceQuota.scopes", "ResourceQuota spec.scopes",
              part_of<&SyncConfig::policies, &Policies::quota_scopes>),
    api_value("policies.resourceQuota.scopeSelector.matchExpressions",
              "ResourceQuota spec.scopeSelector.matchExpressions",
              part_of<&SyncConfig::policies, &Policies::quota_scope_expressions>),
    api_value("policies.resourceQuota.labels", kLabels,
              part_of<&SyncConfig::policies, &Policies::quota_metadata, &ExtraMetadata::labels>),
    api_value("policies.resourceQuota.annotations", kAnnotations,
              part_of<&SyncConfig::policies, &Policies::quota_metadata, &ExtraMetadata::annotations>),
    of_policies("policies.limitRange.enabled", &Policies::limit_range),
    of_policies("policies.limitRange.default", &Policies::limit_default),
    of_policies("policies.limitRange.defaultRequest", &Policies::limit_default_request),
    of_policies("policies.limitRange.min", &Policies::limit_min),
    of_policies("policies.limitRange.max", &Policies::limit_max),
    api_value("policies.limitRange.labels", kLabels,
              part_of<&SyncConfig::policies, &Policies::limit_metadata, &ExtraMetadata::labels>),
    api_value("policies.limitRange.annotations", kAnnotations,
              part_of<&SyncConfig::policies, &Policies::limit_metadata, &ExtraMetadata::annotations>),
    of_policies("policies.networkPolicy.enabled", &Policies::network_policy),
    api_value("policies.networkPolicy.labels", kLabels,
              part_of<&SyncConfig::policies, &Policies::network_metadata, &ExtraMetadata::labels>),
    api_value("policies.networkPolicy.annotations", kAnnotations,
              part_of<&SyncConfig::policies, &Policies::network_metadata, &ExtraMetadata::annotations>),
    {"policies.networkPolicy.fallbackDns", Takes::address, "pods may ask any DNS server"},
    {"policies.networkPolicy.controlPlane.*", Takes::nothing,
     "sublet's API server and syncer are no pods of the host, so no NetworkPolicy is about them"},
    toggle("policies.networkPolicy.workload.publicEgress.enabled",
           part_of<&SyncConfig::policies, &Policies::public_egress, &PublicEgress::enabled>),
    network("policies.networkPolicy.workload.publicEgress.cidr",
            part_of<&SyncConfig::policies, &Policies::public_egress, &PublicEgress::cidr>),
    networks("policies.networkPolicy.workload.publicEgress.except",
             part_of<&SyncConfig::policies, &Policies::public_egress, &PublicEgress::except>),
    api_value("policies.networkPolicy.workload.egress", "NetworkPolicy spec.egress",
              part_of<&SyncConfig::policies, &Policies::workload_egress>),
    api_value("policies.networkPolicy.workload.ingress", "NetworkPolicy spec.ingress",
              part_of<&SyncConfig::policies, &Policies::workload_ingress>),
    {"policies.networkPolicy.*", Takes::nothing,
     "sublet's policy lets pods reach each other, DNS, their API server and public addresses; rules beside these "
     "stand under workload.egress and workload.ingress"},
    of_policies("policies.podSecurityStandard", "baseline restricted privileged", &Policies::pod_security_standard),
    {"policies.*", Takes::nothing, kNoSuchPolicy},
    {"rbac.role.enabled", Takes::only_true, "the syncer could not work without its rights in the host namespace"},
    {"rbac.*", Takes::nothing, "sublet gives its syncer exactly the rights that it needs"},
    word("exportKubeConfig.context", "name", exported<&ExportedKubeconfig::context>()),
    word("exportKubeConfig.server", "url", exported<&ExportedKubeconfig::server>()),
    toggle("exportKubeConfig.insecure", exported<&ExportedKubeconfig::insecure>()),
    word("exportKubeConfig.serviceAccount.name", "name",
         exported<&ExportedKubeconfig::account, &ExportedAccount::name>()),
    word("exportKubeConfig.serviceAccount.namespace", "name",
         exported<&ExportedKubeconfig::account, &ExportedAccount::tenant_namespace>()),
    word("exportKubeConfig.serviceAccount.clusterRole", "role",
         exported<&ExportedKubeconfig::account, &ExportedAccount::cluster_role>()),
    word("exportKubeConfig.secret.name", "name", exported<&ExportedKubeconfig::secret_name>()),
    word("exportKubeConfig.secret.namespace", "name", exported<&ExportedKubeconfig::secret_namespace>()),
    {"exportKubeConfig.additionalSecrets", Takes::exports, ""},
    {"logging.encoding", Takes::choice, "console json", nullptr, &SyncConfig::log_encoding},
    {"logging.*", Takes::nothing, "sublet has no such setting"},
    {"deploy", Takes::nothing, "sublet deploys nothing into virtual clusters; apply it with kubectl"},
    {"integrations.metricsServer.enabled", Takes::boolean, "", &SyncConfig::metrics},
    {"integrations.metricsServer.nodes", Takes::boolean, "", &SyncConfig::node_metrics},
    {"integrations.metricsServer.pods", Takes::boolean, "", &SyncConfig::pod_metrics},
    {"integrations.metricsServer.*", Takes::nothing, "the host's metrics API is asked as the host serves it"},
    {"integrations.certManager.enabled", Takes::boolean, "", &SyncConfig::cert_manager},
    {"integrations.certManager.sync.toHost.certificates.enabled", Takes::boolean, "",
     &SyncConfig::certificates_to_host},
    {"integrations.certManager.sync.toHost.issuers.enabled", Takes::boolean, "", &SyncConfig::issuers_to_host},
    {"integrations.certManager.sync.fromHost.clusterIssuers.enabled", Takes::boolean, "",
     &SyncConfig::cluster_issuers_from_host},
    {"integrations.certManager.sync.fromHost.clusterIssuers.selector.labels", Takes::labels, "", nullptr,
     &SyncConfig::cluster_issuers_selector},
    {"integrations.externalSecrets.enabled", Takes::boolean, "", &SyncConfig::external_secrets},
    {"integrations.externalSecrets.webhook.enabled", Takes::only_false,
     "the host's webhook judges what crosses; a refusal becomes an event in the tenant"},
    {"integrations.externalSecrets.sync.toHost.externalSecrets.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::external_secrets_selector},
    {"integrations.externalSecrets.sync.toHost.stores.enabled", Takes::boolean, "", &SyncConfig::secret_stores_to_host},
    {"integrations.externalSecrets.sync.toHost.stores.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::secret_stores_selector},
    {"integrations.externalSecrets.sync.fromHost.clusterStores.enabled", Takes::boolean, "",
     &SyncConfig::cluster_stores_from_host},
    {"integrations.externalSecrets.sync.fromHost.clusterStores.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::cluster_stores_selector},
    {"integrations.*", Takes::nothing,
     "sublet has no such integration; what crosses of an operator's objects stands under sync.toHost.customResources"},
    {"privateNodes.enabled", Takes::only_false, "sublet's virtual clusters share the host's nodes"},
    {"privateNodes.*", Takes::nothing, "sublet's virtual clusters share the host's nodes"},
    {"plugins", Takes::only_empty, "sublet has no plugins"},
    {"plugin", Takes::only_empty, "sublet has no plugins"},
    {"sleep", Takes::nothing, "sublet does not put virtual clusters to sleep yet"},
    {"sleepMode", Takes::nothing, "sublet does not put virtual clusters to sleep yet"},
    {"snapshots", Takes::nothing, "sublet makes no snapshots yet"},
    {"deletion", Takes::nothing, "sublet has no such setting"},
    {"platform", Takes::nothing, "it belongs to vCluster Platform"},
    {"external", Takes::nothing, "it belongs to vCluster Platform"},
    {"pro", Takes::only_false, "everything in sublet is free"},
};

}  // namespace

std::span<const KeyRow> key_rows() { return kRows; }

}  // namespace sublet::patches
