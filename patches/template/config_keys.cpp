#include "patches/template/config_keys.h"

#include <algorithm>
#include <charconv>

#include "patches/template/custom_keys.h"
#include "patches/template/known_resources.h"
#include "patches/template/mapping_keys.h"
#include "sublet/base/nearest.h"
#include "sublet/schema/engine.h"

namespace sublet::patches {

namespace {

enum class Takes : std::uint8_t {
  only_true,   // what sublet does anyway; false is refused
  only_false,  // what sublet does not do; true is refused. "auto" and null count as false
  only_empty,  // "", [], {} and null are fine
  boolean,     // honoured; "auto" and null leave the default
  either,      // true or false: sublet does what is safe of the two, and neither asks for more
  integer,     // honoured
  strings,     // a list of strings, honoured
  labels,      // a map of labels, honoured
  selector,    // a label selector's expressions, honoured
  choice,      // one of the words in `reason`, honoured
  count,       // a whole number from 1 to 1,000,000, honoured
  quantities,  // a map of resources to quantities, honoured
  custom,      // custom resources (custom_keys.h)
  mappings,    // of objects of the kind in `reason` (mapping_keys.h)
  nothing,     // refused with all below it, but for what asks for nothing
};

struct KeyRow {
  std::string_view path;  // a last '*' stands for all keys that have no row
  Takes takes;
  std::string_view reason;  // completes "... because" for what is refused
  bool SyncConfig::*flag = nullptr;
  std::string SyncConfig::*text = nullptr;
  std::int64_t SyncConfig::*number = nullptr;
  std::vector<std::string> SyncConfig::*list = nullptr;
  int SyncConfig::*count = nullptr;
  bool Policies::*policy = nullptr;  // of the policies
  Quantities Policies::*map = nullptr;
  std::string Policies::*word = nullptr;
};

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

constexpr std::string_view kAlways = "sublet always does this";
constexpr std::string_view kOurPatches = "sublet's patches stand under \"patches\"";
constexpr std::string_view kShownAsTheyAre = "what comes from the host is shown as it is";
constexpr std::string_view kNotShown = "sublet does not show this kind of the host yet";
constexpr std::string_view kUsePatch = "write it as a patch of the template, which can also have a condition";
constexpr std::string_view kNoSuchPolicy = "sublet has no such policy; set it on the host namespace";
constexpr std::string_view kOwnControlPlane =
    "sublet brings its own API server and store; there is nothing to configure";

constexpr KeyRow kRows[] = {
    // To the host.
    {"sync.toHost.pods.enabled", Takes::only_true, "carrying pods is what a virtual cluster is for"},
    {"sync.toHost.pods.patches", Takes::only_empty,
     "sublet's patches stand under \"patches\" and are CEL, not JavaScript"},
    {"sync.toHost.pods.translateImage", Takes::only_empty, kUsePatch},
    {"sync.toHost.pods.enforceTolerations", Takes::only_empty, kUsePatch},
    {"sync.toHost.pods.runtimeClassName", Takes::only_empty, kUsePatch},
    {"sync.toHost.pods.priorityClassName", Takes::only_empty, kUsePatch},
    {"sync.toHost.pods.useSecretsForSATokens", Takes::either, "sublet keeps tokens in Secrets, never in annotations"},
    {"sync.toHost.pods.rewriteHosts.enabled", Takes::only_false, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.rewriteHosts.initContainer", Takes::nothing, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.hybridScheduling.enabled", Takes::only_false, "the host's schedulers place all pods"},
    {"sync.toHost.pods.hybridScheduling.hostSchedulers", Takes::only_empty, "the host's schedulers place all pods"},
    {"sync.toHost.services.enabled", Takes::only_true, kAlways},
    {"sync.toHost.services.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.configMaps.enabled", Takes::only_true, kAlways},
    {"sync.toHost.configMaps.all", Takes::boolean, "", &SyncConfig::config_maps_all},
    {"sync.toHost.configMaps.patches", Takes::only_empty, kOurPatches},
    {"sync.toHost.secrets.enabled", Takes::only_true, kAlways},
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
    {"sync.toHost.persistentVolumes", Takes::nothing,
     "a volume names disks, servers and paths of the host; claims cross, and the host binds its own volumes to them"},
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
    {"sync.toHost.storageClasses", Takes::nothing,
     "the parameters of a class name Secrets, servers and settings of the host; show tenants the host's classes by "
     "sync.fromHost.storageClasses"},
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
    {"sync.toHost.namespaces", Takes::nothing, "all of a virtual cluster lives in one host namespace"},
    {"sync.toHost.customResources", Takes::custom, "toHost"},
    // From the host.
    {"sync.fromHost.nodes.enabled", Takes::boolean, "", &SyncConfig::nodes_from_host},
    {"sync.fromHost.nodes.syncBackChanges", Takes::only_false, "a tenant must not change nodes of the host"},
    {"sync.fromHost.nodes.clearImageStatus", Takes::either, "sublet never shows the images of a node"},
    {"sync.fromHost.nodes.selector.all", Takes::boolean, "", &SyncConfig::nodes_all},
    {"sync.fromHost.nodes.selector.labels", Takes::labels, "", nullptr, &SyncConfig::nodes_selector},
    {"sync.fromHost.nodes.labels", Takes::strings, "", nullptr, nullptr, nullptr, &SyncConfig::node_labels},
    {"sync.fromHost.nodes.patches", Takes::only_empty, "nodes are shown as they are"},
    {"sync.fromHost.runtimeClasses.enabled", Takes::boolean, "", &SyncConfig::runtime_classes_from_host},
    {"sync.fromHost.runtimeClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.patches", Takes::only_empty, "runtime classes are shown as they are"},
    {"sync.fromHost.events.enabled", Takes::only_true, "tenants need the host's events to understand their pods"},
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
    {"sync.fromHost.gateways", Takes::nothing, kNotShown},
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
    {"controlPlane.distro.k8s.controllerManager.enabled", Takes::only_true,
     "write controllers: none (nobody runs workloads) or controllers: upstream"},
    {"experimental.syncSettings.setOwner", Takes::only_false,
     "owner references on host objects break KAI's pod grouping and delete too much or too little; sublet finds what "
     "belongs to a virtual cluster by label",
     &SyncConfig::set_owner},
    {"experimental.syncSettings.*", Takes::nothing, "sublet has no such setting"},
    {"experimental.*", Takes::nothing, "sublet knows of experimental only syncSettings.setOwner"},
    {"telemetry.enabled", Takes::only_false, "sublet sends no telemetry"},
    {"controlPlane.coredns.enabled", Takes::only_false, "sublet does not run a DNS server in virtual clusters yet"},
    {"controlPlane.advanced.virtualScheduler.enabled", Takes::only_false, "the host's schedulers place all pods"},
    {"controlPlane.distro.*", Takes::nothing, kOwnControlPlane},
    {"controlPlane.backingStore.*", Takes::nothing, "sublet's store is SQLite; there is nothing to choose yet"},
    {"controlPlane.*", Takes::nothing, kOwnControlPlane},
    {"networking.*", Takes::nothing, "sublet has nothing to configure there yet"},
    of_policies("policies.resourceQuota.enabled", &Policies::resource_quota),
    of_policies("policies.resourceQuota.quota", &Policies::quota),
    of_policies("policies.limitRange.enabled", &Policies::limit_range),
    of_policies("policies.limitRange.default", &Policies::limit_default),
    of_policies("policies.limitRange.defaultRequest", &Policies::limit_default_request),
    of_policies("policies.limitRange.min", &Policies::limit_min),
    of_policies("policies.limitRange.max", &Policies::limit_max),
    of_policies("policies.networkPolicy.enabled", &Policies::network_policy),
    {"policies.networkPolicy.*", Takes::nothing,
     "sublet's policy lets pods reach each other, DNS, their API server and public addresses; write others on the host "
     "namespace, policies add up"},
    of_policies("policies.podSecurityStandard", "baseline restricted privileged", &Policies::pod_security_standard),
    {"policies.*", Takes::nothing, kNoSuchPolicy},
    {"rbac.role.enabled", Takes::only_true, "the syncer could not work without its rights in the host namespace"},
    {"rbac.*", Takes::nothing, "sublet gives its syncer exactly the rights that it needs"},
    {"exportKubeConfig", Takes::nothing, "use sublet connect --print"},
    {"logging.*", Takes::nothing, "sublet has one log format"},
    {"deploy", Takes::nothing, "sublet deploys nothing into virtual clusters; apply it with kubectl"},
    {"integrations", Takes::nothing, "sublet has no integrations yet"},
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

std::vector<std::string_view> split(std::string_view path, char at = '.') {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dot = path.find(at);
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

const KeyRow* row_of(const std::vector<std::string_view>& path) {
  for (const KeyRow& row : kRows)
    if (split(row.path) == path) return &row;
  return nullptr;
}

// The row, such as "policies.*", that speaks for all keys below its parent that have none of their own.
const KeyRow* general_row_of(const std::vector<std::string_view>& path) {
  for (const KeyRow& row : kRows) {
    const auto parts = split(row.path);
    if (parts.back() == "*" && parts.size() <= path.size() && std::equal(parts.begin(), parts.end() - 1, path.begin()))
      return &row;
  }
  return nullptr;
}

// The keys that may follow this path.
std::vector<std::string_view> keys_below(const std::vector<std::string_view>& path) {
  std::vector<std::string_view> keys;
  for (const KeyRow& row : kRows) {
    const auto parts = split(row.path);
    if (parts.size() <= path.size() || !std::equal(path.begin(), path.end(), parts.begin())) continue;
    const std::string_view next = parts[path.size()];
    if (next != "*" && std::find(keys.begin(), keys.end(), next) == keys.end()) keys.push_back(next);
  }
  return keys;
}

bool rows_below(const std::vector<std::string_view>& path) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const KeyRow& row) {
    const auto parts = split(row.path);
    return parts.size() > path.size() && std::equal(path.begin(), path.end(), parts.begin());
  });
}

class ConfigReader {
 public:
  ConfigReader(std::vector<std::string_view> others, Problems& problems, Problems& refused)
      : others_(std::move(others)), problems_(problems), refused_(refused) {}

  SyncConfig run(const YamlNode& root) {
    std::vector<std::string_view> path;
    walk(root, path, "");
    check_together();
    add_known_resources();
    return std::move(config_);
  }

 private:
  void walk(const YamlNode& map, std::vector<std::string_view>& path, const std::string& key) {
    for (const YamlNode& child : map.children) {
      if (path.empty() && std::find(others_.begin(), others_.end(), child.key) != others_.end()) continue;
      path.push_back(child.key);
      const std::string child_key = key.empty() ? child.key : key + '.' + child.key;
      if (const KeyRow* row = row_of(path))
        take(*row, child, child_key);
      else if (!rows_below(path))
        unknown(child, path, child_key);
      else if (child.is_map())
        walk(child, path, child_key);
      else if (!child.is_null())
        problems_.add(child.mark, child_key, "must be a map, not " + std::string(child.kind_text()));
      path.pop_back();
    }
  }

  void unknown(const YamlNode& node, std::vector<std::string_view> path, const std::string& key) {
    const KeyRow* general = general_row_of(path);
    path.pop_back();
    auto candidates = keys_below(path);
    if (path.empty()) candidates.insert(candidates.end(), others_.begin(), others_.end());
    const std::string hint = suggestion(node.key, candidates);
    if (general && hint.empty()) return take(*general, node, key);
    refused_.add(node.key_mark, key, "unknown key" + hint);
  }

  void refuse(const YamlNode& node, const std::string& key, std::string_view what, std::string_view reason) {
    refused_.add(node.key_mark, key, std::string(what) + ": " + std::string(reason));
  }

  void take(const KeyRow& row, const YamlNode& node, const std::string& key) {
    const bool automatic = node.is_null() || (node.is_string() && node.text == "auto");
    switch (row.takes) {
      case Takes::only_true:
        if (automatic || (node.is_boolean() && node.boolean)) return;
        return refuse(node, key, node.is_boolean() ? "cannot be false" : "must be true", row.reason);
      case Takes::only_false:
        if (automatic || (node.is_boolean() && !node.boolean)) return;
        return refuse(node, key, node.is_boolean() ? "cannot be true" : "must be false", row.reason);
      case Takes::only_empty:
        if (node.is_null() || (node.is_string() ? node.text.empty() : !node.is_scalar() && node.children.empty()))
          return;
        return refuse(node, key, "not supported", row.reason);
      case Takes::boolean:
      case Takes::either:
        return boolean(row, node, key, automatic);
      case Takes::integer:
        return integer(row, node, key);
      case Takes::strings:
        return strings(row, node, key);
      case Takes::quantities:
        return quantities(config_.policies.*row.map, node, key);
      case Takes::labels:
        return labels(row, node, key);
      case Takes::selector:
        return expressions(row, node, key);
      case Takes::choice:
        return choice(row, node, key);
      case Takes::count:
        return count(row, node, key);
      case Takes::custom:
        return read_custom_resources(node, key, row.reason == "toHost", config_.custom_resources, problems_, refused_);
      case Takes::mappings:
        return read_mappings(node, key, row.reason, config_.mappings, problems_);
      case Takes::nothing:
        return refuse_wishes(row, node, key);
    }
  }

  // Leaf by leaf, what asks for something. Nothing is asked for by an empty value, and by what is switched off, with
  // the settings beside it.
  void refuse_wishes(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (node.is_null() || (node.is_string() && node.text.empty()) || (!node.is_scalar() && node.children.empty()))
      return;
    if (!node.is_map()) {
      if (node.key != "enabled" || !is_off(node)) refuse(node, key, "not supported", row.reason);
      return;
    }
    const YamlNode* const enabled = node.find("enabled");
    if (enabled != nullptr && is_off(*enabled)) return;
    for (const YamlNode& child : node.children) refuse_wishes(row, child, key + '.' + child.key);
  }
  static bool is_off(const YamlNode& node) {
    return node.is_null() || (node.is_boolean() ? !node.boolean : node.text == "auto" || node.text == "false");
  }

  // vcluster.yaml also takes "true", in quotes, where it takes "auto".
  void boolean(const KeyRow& row, const YamlNode& node, const std::string& key, bool automatic) {
    if (automatic) return;
    const bool spelled = node.is_string() && (node.text == "true" || node.text == "false");
    if (!node.is_boolean() && !spelled)
      return problems_.add(node.mark, key, "must be true or false, not " + std::string(node.kind_text()));
    const bool on = spelled ? node.text == "true" : node.boolean;
    if (row.flag) config_.*row.flag = on;
    if (row.policy) config_.policies.*row.policy = on;
    if (row.policy == &Policies::network_policy && on) asked_policy_ = true;
    if (row.flag == &SyncConfig::network_policies_to_host) network_policies_ = &node;
    if (row.flag == &SyncConfig::nodes_all) nodes_all_ = &node;
    if (row.flag == &SyncConfig::config_maps_from_host) config_maps_ = &node;
    if (row.flag == &SyncConfig::secrets_from_host) secrets_ = &node;
    if (row.flag == &SyncConfig::priority_classes_to_host || row.flag == &SyncConfig::priority_classes_from_host)
      priority_classes_ = &node;
  }

  void integer(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (node.kind != schema::NodeKind::integer)
      return problems_.add(node.mark, key, "must be a whole number, not " + std::string(node.kind_text()));
    config_.*row.number = node.integer;
    if (row.number == &SyncConfig::priority_min || row.number == &SyncConfig::priority_max) priority_band_ = &node;
  }

  void strings(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (!node.is_list() && !node.is_null()) return problems_.add(node.mark, key, "must be a list of strings");
    for (const YamlNode& item : node.children) {
      if (!item.is_string()) return problems_.add(item.mark, key, "must be a list of strings");
      (config_.*row.list).push_back(item.text);
    }
  }

  // What each key for itself may say, and both together not.
  void check_together() {
    if (config_.nodes_from_host && !config_.nodes_all && config_.nodes_selector.empty())
      refuse(*nodes_all_, "sync.fromHost.nodes.selector.all", "cannot be false",
             "sublet shows all nodes, or those with the labels of sync.fromHost.nodes.selector.labels");
    if (config_.network_policies_to_host && asked_policy_) {
      refuse(*network_policies_, "sync.toHost.networkPolicies.enabled",
             "cannot be true together with policies.networkPolicy.enabled",
             "policies add up, so a tenant's would open what the platform's closes; switch one of them off");
      config_.network_policies_to_host = false;
    }
    check_mappings(config_.config_maps_from_host, "ConfigMap", "sync.fromHost.configMaps.mappings.byName",
                   config_maps_);
    check_mappings(config_.secrets_from_host, "Secret", "sync.fromHost.secrets.mappings.byName", secrets_);
    if (config_.priority_classes_to_host && config_.priority_classes_from_host)
      problems_.add(priority_classes_->mark, "sync.fromHost.priorityClasses.enabled",
                    "cannot be true together with sync.toHost.priorityClasses.enabled: a pod's class would be both");
    if (config_.priority_min > config_.priority_max || config_.priority_max > 1'000'000'000)
      problems_.add(
          priority_band_->mark, "sync.toHost.priorityClasses",
          "minValue must not be above maxValue, nor maxValue above 1000000000: what is above is Kubernetes' own");
  }

  void check_mappings(bool on, std::string_view kind, const char* key, const YamlNode* enabled) {
    auto& all = config_.mappings;
    if (on && std::ranges::find(all, kind, &HostMapping::kind) == all.end())
      problems_.add(enabled->mark, key, "is missing: which of the host's tenants see, and where");
    if (!on) std::erase_if(all, [&](const HostMapping& one) { return one.kind == kind; });
  }

  // Those behind keys of their own, unless the template says more of one in its customResources.
  void add_known_resources() {
    for (const KnownResource& known : known_resources()) {
      const bool asked = config_.*known.asked || (known.also && config_.*known.also);
      auto& all = config_.custom_resources;
      if (!asked || std::ranges::find(all, known.resource.name, &CustomResource::name) != all.end()) continue;
      all.push_back(known.resource);
      if (known.selector) all.back().selector = config_.*known.selector;
    }
  }

  void add_term(const KeyRow& row, const std::string& term) {
    std::string& selector = config_.*row.text;
    selector += (selector.empty() ? "" : ",") + term;
  }

  void choice(const KeyRow& row, const YamlNode& node, const std::string& key) {
    const auto words = split(row.reason, ' ');
    if (row.word && (node.is_null() || (node.is_string() && node.text.empty()))) return;
    if (node.is_string() && std::find(words.begin(), words.end(), node.text) != words.end()) {
      (row.word ? config_.policies.*row.word : config_.*row.text) = node.text;
      return;
    }
    std::string all;
    for (const auto word : words) all.append(all.empty() ? "" : ", ").append(word);
    const std::string given = node.is_string() ? '"' + node.text + '"' : std::string(node.kind_text());
    problems_.add(node.mark, key,
                  "must be one of " + all + ", not " + given + (node.is_string() ? suggestion(node.text, words) : ""));
  }

  void count(const KeyRow& row, const YamlNode& node, const std::string& key) {
    int value = 0;
    const char* const last = node.text.data() + node.text.size();
    const auto [end, error] = std::from_chars(node.text.data(), last, value);
    if (!node.is_scalar() || node.is_string() || error != std::errc() || end != last || value < 1 || value > 1'000'000)
      return problems_.add(node.mark, key, "must be a whole number from 1 to 1000000");
    config_.*row.count = value;
  }

  // Those of the template beside the defaults; null takes one away.
  void quantities(Quantities& map, const YamlNode& node, const std::string& key) {
    if (!node.is_map() && !node.is_null())
      return problems_.add(node.mark, key, "must be a map of quantities, not " + std::string(node.kind_text()));
    for (const YamlNode& amount : node.children) {
      std::erase_if(map, [&](const auto& one) { return one.first == amount.key; });
      if (amount.is_null()) continue;
      if (!amount.is_scalar() || amount.is_boolean() || !schema::canonical_quantity(amount.text))
        problems_.add(amount.mark, key + '.' + amount.key, "must be a quantity, such as 10, 500m or 20Gi");
      map.emplace_back(amount.key, amount.text);
    }
  }

  void labels(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (!node.is_map() && !node.is_null())
      return problems_.add(node.mark, key, "must be a map of labels, not " + std::string(node.kind_text()));
    for (const YamlNode& label : node.children) {
      if (!label.is_string())
        problems_.add(label.mark, key + '.' + label.key,
                      "a label's value is a string, not " + std::string(label.kind_text()) + "; put it in quotes");
      add_term(row, label.key + '=' + label.text);
    }
  }

  void expressions(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (!node.is_list() && !node.is_null()) return problems_.add(node.mark, key, "must be a list");
    for (const YamlNode& item : node.children) {
      const YamlNode* name = item.find("key");
      const YamlNode* op = item.find("operator");
      const YamlNode* values = item.find("values");
      std::string set;
      if (values)
        for (const YamlNode& value : values->children) set += (set.empty() ? "" : ",") + value.text;
      const std::string verb = op ? op->text : "";
      if (name == nullptr || ((verb == "In" || verb == "NotIn") && set.empty())) {
        problems_.add(item.mark, key, "an expression has key, operator and, for In and NotIn, values");
      } else if (verb == "Exists") {
        add_term(row, name->text);
      } else if (verb == "DoesNotExist") {
        add_term(row, '!' + name->text);
      } else if (verb == "In" || verb == "NotIn") {
        add_term(row, name->text + (verb == "In" ? " in (" : " notin (") + set + ')');
      } else {
        problems_.add(op ? op->mark : item.mark, key,
                      "unknown operator" + suggestion(verb, {"In", "NotIn", "Exists", "DoesNotExist"}));
      }
    }
  }

  std::vector<std::string_view> others_;
  Problems &problems_, &refused_;
  SyncConfig config_;
  const YamlNode *priority_classes_ = nullptr, *priority_band_ = nullptr, *nodes_all_ = nullptr,
                 *config_maps_ = nullptr, *secrets_ = nullptr,
                 *network_policies_ = nullptr;  // the last that said something of them
  bool asked_policy_ = false;                   // in so many words: it is also there by default
};

}  // namespace

SyncConfig read_config(const YamlNode& root, const std::vector<std::string_view>& others, Problems& problems,
                       Problems& refused) {
  return ConfigReader(others, problems, refused).run(root);
}

}  // namespace sublet::patches
