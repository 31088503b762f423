#include "patches/template/config_keys.h"

#include <algorithm>
#include <charconv>

#include "sublet/base/nearest.h"
#include "sublet/schema/engine.h"

namespace sublet::patches {

namespace {

enum class Takes : std::uint8_t {
  only_true,   // what sublet does anyway; false is refused
  only_false,  // what sublet does not do; true is refused. "auto" and null count as false
  only_empty,  // "", [], {} and null are fine
  boolean,     // honoured
  labels,      // a map of labels, honoured
  selector,    // a label selector's expressions, honoured
  choice,      // one of the words in `reason`, honoured
  count,       // a whole number from 1 to 1,000,000, honoured
  quantities,  // a map of resources to quantities, honoured
  nothing,     // refused with all below it, whatever it says
};

struct KeyRow {
  std::string_view path;  // a last '*' stands for all keys that have no row
  Takes takes;
  std::string_view reason;  // completes "... because" for what is refused
  bool SyncConfig::*flag = nullptr;
  std::string SyncConfig::*text = nullptr;
  int SyncConfig::*number = nullptr;
  bool Policies::*policy = nullptr;  // the same, of the policies
  Quantities Policies::*map = nullptr;
  std::string Policies::*word = nullptr;
};

constexpr std::string_view kAlways = "sublet always does this";
constexpr std::string_view kNotCarried = "sublet does not carry this kind to the host yet";
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
    {"sync.toHost.pods.useSecretsForSATokens", Takes::only_true,
     "tokens in annotations can be read by everyone who may read host pods"},
    {"sync.toHost.pods.rewriteHosts.enabled", Takes::only_false, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.rewriteHosts.initContainer", Takes::nothing, "sublet does not add init containers to pods"},
    {"sync.toHost.pods.hybridScheduling.enabled", Takes::only_false, "the host's schedulers place all pods"},
    {"sync.toHost.pods.hybridScheduling.hostSchedulers", Takes::only_empty, "the host's schedulers place all pods"},
    {"sync.toHost.services.enabled", Takes::only_true, kAlways},
    {"sync.toHost.services.patches", Takes::only_empty, "sublet's patches stand under \"patches\""},
    {"sync.toHost.configMaps.enabled", Takes::only_true, kAlways},
    {"sync.toHost.configMaps.all", Takes::only_false, "sublet carries the ConfigMaps that pods use, no others"},
    {"sync.toHost.configMaps.patches", Takes::only_empty, "sublet's patches stand under \"patches\""},
    {"sync.toHost.secrets.enabled", Takes::only_true, kAlways},
    {"sync.toHost.secrets.all", Takes::only_false, "sublet carries the Secrets that pods use, no others"},
    {"sync.toHost.secrets.patches", Takes::only_empty, "sublet's patches stand under \"patches\""},
    {"sync.toHost.serviceAccounts.enabled", Takes::only_false,
     "host pods run under one ServiceAccount without rights, so that no tenant speaks to the host's API"},
    {"sync.toHost.endpoints.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.endpointSlices.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.persistentVolumeClaims.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.persistentVolumes.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.ingresses.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.gatewayApi.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.priorityClasses.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.storageClasses.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.networkPolicies.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.volumeSnapshots.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.volumeSnapshotContents.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.podDisruptionBudgets.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.resourceClaims.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.resourceClaimTemplates.enabled", Takes::only_false, kNotCarried},
    {"sync.toHost.namespaces.enabled", Takes::only_false, "all of a virtual cluster lives in one host namespace"},
    {"sync.toHost.customResources", Takes::only_empty, "sublet carries no custom resources yet"},
    // From the host.
    {"sync.fromHost.nodes.enabled", Takes::boolean, "", &SyncConfig::nodes_from_host},
    {"sync.fromHost.nodes.syncBackChanges", Takes::only_false, "a tenant must not change nodes of the host"},
    {"sync.fromHost.nodes.clearImageStatus", Takes::only_false, "sublet never shows the images of a node"},
    {"sync.fromHost.nodes.selector.all", Takes::only_true, "leave it out and give labels"},
    {"sync.fromHost.nodes.selector.labels", Takes::labels, "", nullptr, &SyncConfig::nodes_selector},
    {"sync.fromHost.nodes.patches", Takes::only_empty, "nodes are shown as they are"},
    {"sync.fromHost.runtimeClasses.enabled", Takes::boolean, "", &SyncConfig::runtime_classes_from_host},
    {"sync.fromHost.runtimeClasses.selector.matchLabels", Takes::labels, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.selector.matchExpressions", Takes::selector, "", nullptr,
     &SyncConfig::runtime_classes_selector},
    {"sync.fromHost.runtimeClasses.patches", Takes::only_empty, "runtime classes are shown as they are"},
    {"sync.fromHost.events.enabled", Takes::only_true, "tenants need the host's events to understand their pods"},
    {"sync.fromHost.events.patches", Takes::only_empty, "events are shown with the tenant's names, else as they are"},
    {"sync.fromHost.csiDrivers.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.csiNodes.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.csiStorageCapacities.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.storageClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.ingressClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.priorityClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.gatewayClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.gateways.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.deviceClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.volumeSnapshotClasses.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.configMaps.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.configMaps.mappings", Takes::nothing, kNotShown},
    {"sync.fromHost.secrets.enabled", Takes::only_false, kNotShown},
    {"sync.fromHost.secrets.mappings", Takes::nothing, kNotShown},
    {"sync.fromHost.customResources", Takes::only_empty, kNotShown},
    // The rest.
    {"controllers", Takes::choice, "builtin upstream none", nullptr, &SyncConfig::controllers},
    {"unauthenticated.connections", Takes::count, "", nullptr, nullptr, &SyncConfig::unauthenticated_connections},
    {"unauthenticated.connectionsPerAddress", Takes::count, "", nullptr, nullptr,
     &SyncConfig::unauthenticated_connections_per_address},
    {"unauthenticated.kib", Takes::count, "", nullptr, nullptr, &SyncConfig::unauthenticated_kib},
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
    {"policies.resourceQuota.enabled", Takes::boolean, "", nullptr, nullptr, &Policies::resource_quota},
    {"policies.resourceQuota.quota", Takes::quantities, "", nullptr, nullptr, nullptr, &Policies::quota},
    {"policies.limitRange.enabled", Takes::boolean, "", nullptr, nullptr, &Policies::limit_range},
    {"policies.limitRange.default", Takes::quantities, "", nullptr, nullptr, nullptr, &Policies::limit_default},
    {"policies.limitRange.defaultRequest", Takes::quantities, "", nullptr, nullptr, nullptr,
     &Policies::limit_default_request},
    {"policies.limitRange.min", Takes::quantities, "", nullptr, nullptr, nullptr, &Policies::limit_min},
    {"policies.limitRange.max", Takes::quantities, "", nullptr, nullptr, nullptr, &Policies::limit_max},
    {"policies.networkPolicy.enabled", Takes::boolean, "", nullptr, nullptr, &Policies::network_policy},
    {"policies.networkPolicy.*", Takes::nothing,
     "sublet's policy lets pods reach each other, DNS, their API server and public addresses; write others on the host "
     "namespace, policies add up"},
    {"policies.podSecurityStandard", Takes::choice, "baseline restricted privileged", nullptr, nullptr, nullptr,
     nullptr, &Policies::pod_security_standard},
    {"policies.*", Takes::nothing, kNoSuchPolicy},
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
  ConfigReader(std::vector<std::string_view> others, Problems& problems)
      : others_(std::move(others)), problems_(problems) {}

  SyncConfig run(const YamlNode& root) {
    std::vector<std::string_view> path;
    walk(root, path, "");
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
    problems_.add(node.key_mark, key, "unknown key" + hint);
  }

  void refuse(const YamlNode& node, const std::string& key, std::string_view what, std::string_view reason) {
    problems_.add(node.key_mark, key, std::string(what) + ": " + std::string(reason));
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
        if (automatic && row.policy) return;
        if (!node.is_boolean())
          return problems_.add(node.mark, key, "must be true or false, not " + std::string(node.kind_text()));
        (row.policy ? config_.policies.*row.policy : config_.*row.flag) = node.boolean;
        return;
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
      case Takes::nothing:
        if (!node.is_null()) refuse(node, key, "not supported", row.reason);
        return;
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
    config_.*row.number = value;
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
  Problems& problems_;
  SyncConfig config_;
};

}  // namespace

SyncConfig read_config(const YamlNode& root, const std::vector<std::string_view>& others, Problems& problems) {
  return ConfigReader(others, problems).run(root);
}

}  // namespace sublet::patches
