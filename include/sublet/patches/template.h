// Template: a platform team's file of parameters, configuration and patches, and the pure engine that applies it.
//
// load() reads YAML, checks every key, type, CEL expression and parameter, and reports mistakes with file, line, key,
// cause and nearest valid key before anything starts. resolve() binds parameter values for one virtual cluster; the
// result is immutable and shared. apply() runs the patches for one object: pure, no I/O, so the syncer, admission, dry
// run and `explain` give one answer. docs/templates.md is the language's reference.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/patches/allowed.h"
#include "sublet/patches/control_plane.h"
#include "sublet/patches/custom_resources.h"
#include "sublet/patches/exported_access.h"
#include "sublet/patches/host_mappings.h"
#include "sublet/patches/pod_settings.h"
#include "sublet/patches/policies.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

/// What a patch's expressions can see beside the object.
struct PatchContext {
  std::string virtual_cluster;   // name of the virtual cluster
  std::string tenant_namespace;  // of the object
  std::string host_namespace;
  /// Told after each patch whose condition held, with the object as it has left it: who explains asks for it.
  std::function<void(std::string_view patch, const schema::Value& object)> after_patch = {};
};

/// What applying did.
struct PatchReport {
  std::vector<std::string> applied;   // names of the patches whose condition held
  std::vector<std::string> warnings;  // for the tenant, e.g. an annotation without effect
  std::vector<std::string> denials;   // not empty: refuse the object with these reasons
};

/// Configuration in vcluster.yaml's keys, as far as sublet reads it; every key is accepted or refused by name.
struct SyncConfig {
  bool set_owner = false;  // experimental.syncSettings.setOwner; true is refused with the reason
  PodSettings pods;        // sync.toHost.pods (pod_settings.h)
  // sync.toHost.<kind>.enabled, with vcluster.yaml's defaults.
  bool services_to_host = true, config_maps_to_host = true, secrets_to_host = true;
  bool claims_to_host = true, endpoints_to_host = true, endpoint_slices_to_host = true;
  bool ingresses_to_host = false, network_policies_to_host = false, disruption_budgets_to_host = false;
  bool service_accounts_to_host = false, priority_classes_to_host = false, storage_classes_to_host = false;
  bool volumes_to_host = false;  // sync.toHost.persistentVolumes.enabled
  // sync.toHost.gatewayApi (HTTP routes, gateways and their classes; or one kind), sync.toHost.volumeSnapshots, and
  // their classes from the host.
  bool gateway_api_to_host = false, http_routes_to_host = false, gateways_to_host = false, tls_routes_to_host = false,
       backend_tls_to_host = false, gateway_classes_from_host = false;
  bool snapshots_to_host = false, snapshot_classes_from_host = false;
  std::string gateway_classes_selector, snapshot_classes_selector;
  // integrations.certManager and integrations.externalSecrets: operators of the host that work for tenants.
  bool cert_manager = false, certificates_to_host = true, issuers_to_host = true, cluster_issuers_from_host = true;
  bool external_secrets = false, secret_stores_to_host = false, cluster_stores_from_host = false;
  std::string cluster_issuers_selector, external_secrets_selector, secret_stores_selector, cluster_stores_selector;
  /// sync.{toHost,fromHost}.customResources, and the ones behind the keys above.
  std::vector<CustomResource> custom_resources;
  bool device_claims_to_host = false, device_claim_templates_to_host = false;  // sync.toHost.resourceClaim*.enabled
  /// sync.toHost.{podGroups,workloads}.enabled: with the first the tenant's API server serves both kinds.
  bool pod_groups_to_host = false, workloads_to_host = false;
  // sync.fromHost.gateways: which, and what of them tenants see.
  bool gateways_from_host = false, gateway_addresses = false, gateway_sources = false;
  bool gateway_certificates_hidden = true, gateway_infrastructure_hidden = true;
  std::string gateways_selector;
  // sync.fromHost.{configMaps,secrets}.enabled, and the mappings of those that are.
  bool config_maps_from_host = false, secrets_from_host = false;
  std::vector<HostMapping> mappings;
  bool config_maps_all = false, secrets_all = false;  // sync.toHost.{configMaps,secrets}.all: else those in use
  // sync.toHost.priorityClasses.{minValue,maxValue}: where the tenant's values are brought within.
  std::int64_t priority_min = -1'000'000'000, priority_max = 1'000'000'000;
  // integrations.metricsServer: of what tenants are told what it uses (`kubectl top`), as far as the host measures it.
  bool metrics = true, node_metrics = true, pod_metrics = true;
  // sync.fromHost.<kind>.enabled.
  bool events_from_host = true;
  bool runtime_classes_from_host = true, nodes_from_host = true;
  bool storage_classes_from_host = false, ingress_classes_from_host = false, priority_classes_from_host = false;
  bool csi_drivers_from_host = false, csi_nodes_from_host = false, device_classes_from_host = false;
  // sync.fromHost.<kind>.selector as a label selector.
  std::string runtime_classes_selector, nodes_selector, storage_classes_selector, ingress_classes_selector,
      priority_classes_selector, csi_drivers_selector, csi_nodes_selector, device_classes_selector;
  bool nodes_all = true;           // sync.fromHost.nodes.selector.all; false goes with labels
  bool pseudo_node_names = false;  // sync.fromHost.nodes.pseudoNames: tenants do not learn the host's (node_names.h)
  std::vector<std::string> node_labels;  // sync.fromHost.nodes.labels: keys shown beside the usual ones; "a/*" for all
  std::string controllers = "builtin";   // controllers: who runs workloads: builtin, upstream or none
  // controlPlane.distro.k8s.controllerManager: false is `controllers: none`; what upstream's is called with beside ours
  bool controller_manager = true;
  std::vector<std::string> controller_arguments;
  std::string cluster_domain = "cluster.local";  // networking.advanced.clusterDomain: what pods' names end in
  bool cluster_dns = true;    // controlPlane.coredns.enabled: a DNS server, where pods have a way to it
  std::string first_objects;  // experimental.deploy.vcluster.manifests: YAML, of objects to be in the virtual cluster
  // sync.toHost.pods.hybridScheduling: the schedulers of the host that pods may name, beside those that are allowed
  bool hybrid_scheduling = false;
  std::vector<std::string> host_schedulers;
  Allowed allowed;                       // allow: what tenants may decide (allowed.h)
  std::string log_encoding = "console";  // logging.encoding
  // unauthenticated: what peers of the API server may hold before they have shown who they are; 0: as it is by default
  int unauthenticated_connections = 0, unauthenticated_connections_per_address = 0, unauthenticated_kib = 0;
  ExportedKubeconfig exported;  // exportKubeConfig, and its additionalSecrets
  std::vector<ExportedKubeconfig> exported_also;
  ControlPlane control_plane;  // controlPlane: objects on the host (control_plane.h)
  Policies policies;           // policies: what is kept on the host namespace (policies.h)
};

/// What the border makes of any template, so that load() can tell which patches would have no effect.
struct BorderFacts {
  /// The kinds whose objects meet apply(). Empty: every kind.
  std::span<const std::string_view> patched_kinds;
  /// Why a patch cannot write this place (`members` from the root: "metadata", "labels", "a/b"), since the border
  /// writes or removes it after all patches; empty: it can. Null: every place.
  std::string (*overrules)(std::string_view kind, std::span<const std::string_view> members) = nullptr;
  /// The kinds whose objects never meet check_update(): nothing of them can be frozen.
  std::span<const std::string_view> judged_late = {};
};

class ResolvedTemplate;

class Template {
 public:
  /// Parses and checks. `file_name` only for messages. Patches that could have no effect at the border are mistakes.
  /// With `left_out`, keys of the configuration that are unknown or refused are left out and told there, each with its
  /// place and the reason; what is written wrongly is a mistake all the same.
  static Result<Template> load(std::string_view yaml, const std::string& file_name, const BorderFacts& border = {},
                               std::vector<std::string>* left_out = nullptr);
  /// The empty template: default configuration, no patches.
  static Template none();
  /// Binds parameters (`--set name=value`); defaults may name cluster.name and cluster.hostNamespace. Unknown, missing
  /// or ill-typed parameters are errors that list what exists.
  Result<std::shared_ptr<const ResolvedTemplate>> resolve(const std::map<std::string, std::string>& parameters,
                                                          const std::string& virtual_cluster,
                                                          const std::string& host_namespace) const;
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

 private:
  Template();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResolvedTemplate {
 public:
  virtual ~ResolvedTemplate() = default;
  virtual const SyncConfig& config() const = 0;
  /// Applies the patches whose target matches (`kind` such as "Pod"). `object` is the translated host object, changed
  /// in place; `tenant_object` is what the tenant wrote, for conditions. A patch that fails at run time (CEL error) is
  /// a denial that names the patch: never half a host object.
  virtual PatchReport apply(std::string_view kind, schema::Value object, const schema::Value& tenant_object,
                            const PatchContext& context) const = 0;
  /// Reasons to refuse an update of a tenant's object because it changes what a patch freezes after creation (e.g. the
  /// GPU share of a pod, which the host's scheduler would read anew while the pod runs). Empty: nothing frozen changed.
  virtual std::vector<std::string> check_update(std::string_view /*kind*/, const schema::Value& /*before*/,
                                                const schema::Value& /*after*/, const PatchContext& /*context*/) const {
    return {};
  }
};

}  // namespace sublet::patches
