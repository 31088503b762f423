#include "patches/template/config_keys.h"

#include <algorithm>
#include <charconv>

#include "patches/template/custom_keys.h"
#include "patches/template/export_keys.h"
#include "patches/template/key_rows.h"
#include "patches/template/known_resources.h"
#include "patches/template/mapping_keys.h"
#include "patches/template/value_check.h"
#include "sublet/base/nearest.h"
#include "sublet/base/text.h"
#include "sublet/net/address_rules.h"
#include "sublet/schema/engine.h"

namespace sublet::patches {

namespace {

const KeyRow* row_of(const std::vector<std::string_view>& path) {
  for (const KeyRow& row : key_rows())
    if (split(row.path, '.') == path) return &row;
  return nullptr;
}

// The row, such as "policies.*", that speaks for all keys below its parent that have none of their own.
const KeyRow* general_row_of(const std::vector<std::string_view>& path) {
  for (const KeyRow& row : key_rows()) {
    const auto parts = split(row.path, '.');
    if (parts.back() == "*" && parts.size() <= path.size() && std::equal(parts.begin(), parts.end() - 1, path.begin()))
      return &row;
  }
  return nullptr;
}

// The keys that may follow this path.
std::vector<std::string_view> keys_below(const std::vector<std::string_view>& path) {
  std::vector<std::string_view> keys;
  for (const KeyRow& row : key_rows()) {
    const auto parts = split(row.path, '.');
    if (parts.size() <= path.size() || !std::equal(path.begin(), path.end(), parts.begin())) continue;
    const std::string_view next = parts[path.size()];
    if (next != "*" && std::find(keys.begin(), keys.end(), next) == keys.end()) keys.push_back(next);
  }
  return keys;
}

bool rows_below(const std::vector<std::string_view>& path) {
  return std::ranges::any_of(key_rows(), [&](const KeyRow& row) {
    const auto parts = split(row.path, '.');
    return parts.size() > path.size() && std::equal(path.begin(), path.end(), parts.begin());
  });
}

// Of "NetworkPolicy spec.ingress".
Shape shape_at(std::string_view place) {
  const auto words = split(place, ' ');
  Shape shape = Shape::of_kind(words.at(0));
  for (const std::string_view member : split(words.at(1), '.')) shape = shape.member(member).value_or(Shape());
  return shape;
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
    keep_apart();
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
      case Takes::only_zero:
        if (node.is_null() || (node.kind == schema::NodeKind::integer && node.integer == 0)) return;
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
        return custom_resources(node, key, row.reason == "toHost");
      case Takes::mappings:
        return read_mappings(node, key, row.reason, config_.mappings, problems_);
      case Takes::api_value:
        return api_value(row, node, key);
      case Takes::network:
        return network(row, node, key);
      case Takes::networks:
        return networks(row.items(config_), node, key);
      case Takes::images:
        return images(node, key);
      case Takes::tolerations:
        return tolerations(node, key);
      case Takes::exports:
        return read_exports(node, key, config_.exported_also, problems_);
      case Takes::manifests:
        return manifests(node, key);
      case Takes::word:
        return word(row, node, key);
      case Takes::hosts:
        return hosts(row.hosts(config_), node, key);
      case Takes::port:
        return port(row.port(config_), node, key);
      case Takes::address:
        if (!node.is_null() && !(node.is_string() && node.text.empty()) && !is_address(node.text))
          problems_.add(node.mark, key, "must be an address, such as 8.8.8.8");
        return;
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
    if (row.flag && !on) off_.push_back({&node, key, row.flag, ""});
    if (row.policy) config_.policies.*row.policy = on;
    if (row.on) row.on(config_) = on;
    if (row.on && &row.on(config_) == &config_.control_plane.ingress.enabled) ingress_ = &node;
    if (row.on && &row.on(config_) == &config_.control_plane.route.enabled) route_ = &node;
    if (row.policy == &Policies::network_policy && on) asked_policy_ = true;
    if (row.flag == &SyncConfig::network_policies_to_host) network_policies_ = &node;
    if (row.flag == &SyncConfig::nodes_all) nodes_all_ = &node;
    if (row.flag == &SyncConfig::workloads_to_host) workloads_ = &node;
    if (row.flag == &SyncConfig::volumes_to_host) volumes_ = &node;
    if (row.flag == &SyncConfig::config_maps_from_host) config_maps_ = &node;
    if (row.flag == &SyncConfig::secrets_from_host) secrets_ = &node;
    if (row.flag == &SyncConfig::gateways_from_host) gateways_ = &node;
    if (row.flag == &SyncConfig::priority_classes_to_host || row.flag == &SyncConfig::priority_classes_from_host)
      priority_classes_ = &node;
    if (row.flag == &SyncConfig::storage_classes_to_host || row.flag == &SyncConfig::storage_classes_from_host)
      storage_classes_ = &node;
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
    if (row.list == &SyncConfig::controller_arguments) check_arguments(node, key);
  }

  void check_arguments(const YamlNode& node, const std::string& key) {
    arguments_ = &node;
    constexpr std::string_view kOurs[] = {"controllers",
                                          "kubeconfig",
                                          "authentication-kubeconfig",
                                          "authorization-kubeconfig",
                                          "root-ca-file",
                                          "use-service-account-credentials",
                                          "secure-port"};
    for (const YamlNode& item : node.children) {
      const std::string_view flag = std::string_view(item.text).substr(0, item.text.find('='));
      if (!flag.starts_with("--") || flag.size() == 2)
        problems_.add(item.mark, key, "must be flags, such as --concurrent-deployment-syncs=10");
      else if (flag.starts_with("--cluster-signing-") || std::ranges::find(kOurs, flag.substr(2)) != std::end(kOurs))
        refuse(item, key, std::string(flag) + " is not supported", "sublet gives that flag itself");
    }
  }

  void manifests(const YamlNode& node, const std::string& key) {
    if (node.is_null() || (node.is_string() && node.text.empty())) return;
    const auto objects = node.is_string() ? schema::parse_yaml_stream(node.text)
                                          : Result<std::vector<schema::Document>>(bad_request("it is no text"));
    if (!objects) return problems_.add(node.mark, key, "must be a text of objects in YAML: " + objects.error().message);
    for (const schema::Document& object : *objects)
      if (object.root()["apiVersion"].text().empty() || object.root()["kind"].text().empty() ||
          object.root()["metadata"]["name"].text().empty())
        return problems_.add(node.mark, key, "each object has apiVersion, kind and metadata.name");
    config_.first_objects = node.text;
  }

  // What each key for itself may say, and both together not.
  void check_together() {
    if (config_.nodes_from_host && !config_.nodes_all && config_.nodes_selector.empty())
      refuse(*nodes_all_, "sync.fromHost.nodes.selector.all", "cannot be false",
             "sublet shows all nodes, or those with the labels of sync.fromHost.nodes.selector.labels");
    if (config_.nodes_all && nodes_all_ && !config_.nodes_selector.empty())
      refuse(*nodes_all_, "sync.fromHost.nodes.selector.all",
             "cannot be true together with sync.fromHost.nodes.selector.labels",
             "nodes are all shown, or those with the labels; leave out one of the two");
    if (config_.network_policies_to_host && asked_policy_) {
      refuse(*network_policies_, "sync.toHost.networkPolicies.enabled",
             "cannot be true together with policies.networkPolicy.enabled",
             "policies add up, so a tenant's would open what the platform's closes; switch one of them off");
      config_.network_policies_to_host = false;
    }
    if (config_.workloads_to_host && !config_.pod_groups_to_host)
      refuse(*workloads_, "sync.toHost.workloads.enabled", "cannot be true without sync.toHost.podGroups.enabled",
             "a Workload is what PodGroups are made of: alone on the host it does nothing");
    if (config_.volumes_to_host && !config_.claims_to_host) {
      refuse(*volumes_, "sync.toHost.persistentVolumes.enabled",
             "cannot be true without sync.toHost.persistentVolumeClaims.enabled",
             "on the host a volume is for the one claim that it names there");
      config_.volumes_to_host = false;
    }
    check_world();
    check_all("sync.toHost.configMaps", config_.config_maps_to_host, config_.config_maps_all);
    check_all("sync.toHost.secrets", config_.secrets_to_host, config_.secrets_all);
    check_ways_in();
    check_exports();
    check_controllers();
    check_mappings(config_.config_maps_from_host, "ConfigMap", "sync.fromHost.configMaps.mappings.byName",
                   config_maps_);
    check_mappings(config_.secrets_from_host, "Secret", "sync.fromHost.secrets.mappings.byName", secrets_);
    check_mappings(config_.gateways_from_host, "gateways.gateway.networking.k8s.io",
                   "sync.fromHost.gateways.mappings.byName", gateways_);
    if (config_.priority_classes_to_host && config_.priority_classes_from_host)
      problems_.add(priority_classes_->mark, "sync.fromHost.priorityClasses.enabled",
                    "cannot be true together with sync.toHost.priorityClasses.enabled: a pod's class would be both");
    if (config_.storage_classes_to_host && config_.storage_classes_from_host)
      problems_.add(storage_classes_->mark, "sync.fromHost.storageClasses.enabled",
                    "cannot be true together with sync.toHost.storageClasses.enabled: a claim's class would be both");
    if (config_.priority_min > config_.priority_max || config_.priority_max > 1'000'000'000)
      problems_.add(
          priority_band_->mark, "sync.toHost.priorityClasses",
          "minValue must not be above maxValue, nor maxValue above 1000000000: what is above is Kubernetes' own");
  }

  // Without a host of its own the route or Ingress would take every name.
  void check_ways_in() {
    const ControlPlane& wanted = config_.control_plane;
    if (wanted.ingress.enabled && wanted.ingress.host.empty() &&
        wanted.ingress.spec.find("\"rules\"") == wanted.ingress.spec.npos)
      problems_.add(ingress_->mark, "controlPlane.ingress.host",
                    "is missing: under which name people reach the API server");
    if (wanted.route.enabled && wanted.route.host.empty() &&
        wanted.route.spec.find("\"hostnames\"") == wanted.route.spec.npos)
      problems_.add(route_->mark, "controlPlane.tlsRoute.host",
                    "is missing: under which name people reach the API server");
  }

  void check_all(const std::string& key, bool enabled, bool all) {
    for (const Off& off : off_)
      if (all && !enabled && off.key == key + ".enabled")
        refuse(*off.node, off.key, "cannot be false together with " + key + ".all",
               "that asks for all of them to cross");
  }

  void check_controllers() {
    for (const Off& off : off_) {
      if (off.flag != &SyncConfig::controller_manager) continue;
      if (controllers_ && config_.controllers != "none")
        refuse(*off.node, off.key, "cannot be false together with controllers: " + config_.controllers,
               "it means controllers: none");
      else
        config_.controllers = "none";
    }
    if (!config_.controller_arguments.empty() && config_.controllers != "upstream")
      refuse(*arguments_, "controlPlane.distro.k8s.controllerManager.extraArgs", "not supported",
             "sublet's own controllers take no flags; write controllers: upstream for kube-controller-manager");
  }

  // What is said of an account that has no name would go nowhere.
  void check_exports() {
    const ExportedAccount& account = config_.exported.account;
    if (account.name.empty() && !(account.tenant_namespace.empty() && account.cluster_role.empty()))
      problems_.add(account_->mark, "exportKubeConfig.serviceAccount.name",
                    "is missing: which account the rest is about");
  }

  // The API wants what is left out to be a part.
  void check_world() {
    const PublicEgress& world = config_.policies.public_egress;
    if (world.cidr.empty() || !world.except) return;
    for (const std::string& one : *world.except)
      if (covers(one, world.cidr))
        problems_.add(except_->mark, "policies.networkPolicy.workload.publicEgress.except",
                      one + " leaves nothing of cidr " + world.cidr + "; switch publicEgress off instead");
  }

  void check_mappings(bool on, std::string_view kind, const char* key, const YamlNode* enabled) {
    auto& all = config_.mappings;
    if (on && std::ranges::find(all, kind, &HostMapping::kind) == all.end())
      problems_.add(enabled->mark, key, "is missing: which of the host's tenants see, and where");
    if (!on) std::erase_if(all, [&](const HostMapping& one) { return one.kind == kind; });
  }

  void custom_resources(const YamlNode& node, const std::string& key, bool to_host) {
    for (const CustomKey& off :
         read_custom_resources(node, key, to_host, config_.custom_resources, config_.mappings, problems_, refused_))
      off_.push_back({off.node, off.key, nullptr, off.name});
  }

  // Those behind keys of their own, unless the template says more of one in its customResources.
  void add_known_resources() {
    for (const KnownResource& known : known_resources()) {
      if (!is_asked_for(known)) continue;
      refuse_contradiction(known);
      auto& all = config_.custom_resources;
      auto found = std::ranges::find_if(all, [&](const CustomResource& one) {
        return one.name == known.resource.name && one.to_host == known.resource.to_host;
      });
      if (found == all.end()) found = all.insert(all.end(), known.resource);
      if (known.asked == &SyncConfig::gateways_from_host) hide_of_gateways(*found);
      if (known.selector && !(config_.*known.selector).empty())
        found->selector += (found->selector.empty() ? "" : ",") + config_.*known.selector;
      std::erase_if(found->references, [&](const CustomReference& one) { return one.of_host && !is_shown(one.kind); });
    }
  }
  void hide_of_gateways(CustomResource& gateways) const {
    if (config_.gateway_certificates_hidden)
      gateways.left_out.push_back(parse_place("spec.listeners[*].tls.certificateRefs"));
    if (config_.gateway_infrastructure_hidden) gateways.left_out.push_back(parse_place("spec.infrastructure"));
    if (!config_.gateway_addresses)
      for (const char* place : {"spec.addresses", "status.addresses"}) gateways.left_out.push_back(parse_place(place));
    gateways.tells_source = config_.gateway_sources;
  }
  // Of a kind that goes both ways, what came is not for the way back.
  void keep_apart() {
    for (CustomResource& one : config_.custom_resources)
      if (one.to_host && std::ranges::any_of(config_.custom_resources, [&](const CustomResource& other) {
            return !other.to_host && other.name == one.name;
          }))
        one.selector += (one.selector.empty() ? "!" : ",!") + std::string("sublet.dev/from-host");
  }
  bool is_asked_for(const KnownResource& known) const {
    if (known.within && !(config_.*known.within)) return false;
    return config_.*known.asked || (known.also && config_.*known.also);
  }
  // What the host does not show is none that a tenant may name.
  bool is_shown(std::string_view kind) const {
    if (kind == "ClusterIssuer") return config_.cluster_issuers_from_host;
    return kind != "ClusterSecretStore" || config_.cluster_stores_from_host;
  }

  // A key that asks for several resources, and another that switches one of them off: vcluster.yaml lets the first win
  // and says nothing.
  void refuse_contradiction(const KnownResource& known) {
    const bool together = known.also && config_.*known.also;
    for (const Off& off : off_) {
      const bool its_key = together && off.flag == known.asked;
      if (!its_key && off.custom_name != known.resource.name) continue;
      const std::string_view asking = path_of(together ? known.also : known.asked);
      refuse(*off.node, off.key, "cannot be false together with " + std::string(asking),
             together ? "that asks for " + known.resource.name + " too; ask for what crosses kind by kind instead"
                      : std::string("it is the same resource"));
    }
  }
  static std::string_view path_of(bool SyncConfig::*flag) {
    return std::ranges::find(key_rows(), flag, &KeyRow::flag)->path;
  }

  void add_term(const KeyRow& row, const std::string& term) {
    std::string& selector = config_.*row.text;
    selector += (selector.empty() ? "" : ",") + term;
  }

  void choice(const KeyRow& row, const YamlNode& node, const std::string& key) {
    const auto words = split(row.reason, ' ');
    if ((row.word || row.said) && (node.is_null() || (node.is_string() && node.text.empty()))) return;
    if (node.is_string() && std::find(words.begin(), words.end(), node.text) != words.end()) {
      if (row.text == &SyncConfig::controllers) controllers_ = &node;
      (row.said ? row.said(config_) : row.word ? config_.policies.*row.word : config_.*row.text) = node.text;
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

  void images(const YamlNode& node, const std::string& key) {
    if (!node.is_map() && !node.is_null())
      return problems_.add(node.mark, key, "must be a map of images, not " + std::string(node.kind_text()));
    for (const YamlNode& image : node.children) {
      if (!image.is_string() || image.text.empty() || image.key.empty())
        problems_.add(image.mark, key + '.' + image.key, "must be an image, such as registry.example.com/nginx:1.27");
      config_.pods.images[image.key] = image.text;
    }
  }

  void tolerations(const YamlNode& node, const std::string& key) {
    if (!node.is_list() && !node.is_null())
      return problems_.add(node.mark, key, "must be a list of tolerations, not " + std::string(node.kind_text()));
    for (const YamlNode& item : node.children) {
      TolerationSetting toleration;
      if (!item.is_string() || !parse_toleration(item.text, toleration))
        problems_.add(item.mark, key,
                      "must be a toleration such as \"gpu=yes:NoSchedule\" or \"gpu:NoExecute\"; the effects are "
                      "NoSchedule, PreferNoSchedule and NoExecute");
      config_.pods.tolerations.push_back(std::move(toleration));
    }
  }

  bool is_network(const YamlNode& node, const std::string& key) {
    const bool good = node.is_string() && net::AddressRange::parse(node.text).has_value();
    if (!good) problems_.add(node.mark, key, "must be addresses, such as 203.0.113.0/24 or 2001:db8::/32");
    return good;
  }

  void word(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (node.is_null() || (node.is_string() && node.text.empty())) return;
    if (key.starts_with("exportKubeConfig.serviceAccount.")) account_ = &node;
    if (const std::string problem = node.is_string() ? word_problem(node.text, row.reason) : "must be a string";
        !problem.empty())
      return problems_.add(node.mark, key, problem);
    row.said(config_) = node.text;
  }

  void hosts(std::vector<std::string>& list, const YamlNode& node, const std::string& key) {
    if (!node.is_list() && !node.is_null()) return problems_.add(node.mark, key, "must be a list of host names");
    for (const YamlNode& item : node.children) {
      if (item.is_string() && (word_problem(item.text, "host").empty() || is_address(item.text)))
        list.push_back(item.text);
      else
        problems_.add(item.mark, key, "must be host names and addresses, such as api.example.com and 203.0.113.7");
    }
  }
  static bool is_address(const std::string& text) {
    return text.find('/') == std::string::npos && net::AddressRange::parse(text).has_value();
  }

  void port(std::int64_t& number, const YamlNode& node, const std::string& key) {
    if (node.is_null()) return;
    if (node.kind != schema::NodeKind::integer || node.integer < 0 || node.integer > 65'535)
      return problems_.add(node.mark, key, "must be a port, from 1 to 65535, or 0 for none in particular");
    number = node.integer;
  }

  void network(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (node.is_null() || !is_network(node, key)) return;
    for (const char* kept : kMetadataNetworks)
      if (covers(kept, node.text))
        return refuse(node, key, "not supported", "clouds tell a machine its credentials there; pods never reach it");
    row.said(config_) = node.text;
  }

  void networks(std::optional<std::vector<std::string>>& items, const YamlNode& node, const std::string& key) {
    if (node.is_null()) return;
    if (!node.is_list()) return problems_.add(node.mark, key, "must be a list of addresses");
    except_ = &node;
    items.emplace();
    for (const YamlNode& item : node.children)
      if (is_network(item, key)) items->push_back(item.text);
  }

  // As the API has it, with what is sublet's own to write left to sublet.
  void api_value(const KeyRow& row, const YamlNode& node, const std::string& key) {
    if (node.is_null() || (!node.is_scalar() && node.children.empty())) return;
    const std::size_t before = problems_.size() + refused_.size();
    const Shape shape = shape_at(row.reason);
    check_literal(node, shape, true, key, problems_);
    refuse_expressions(node, key);
    for (const std::string_view member : split(row.ours, ' '))
      if (const YamlNode* found = member.empty() ? nullptr : node.find(member))
        refuse(*found, key + '.' + std::string(member), "not supported", "sublet writes it itself");
    for (const YamlNode& child : node.children)
      if (row.reason.find(" metadata.") != row.reason.npos && child.key.find("sublet.dev/") != std::string::npos)
        problems_.add(child.key_mark, key, "keys of sublet.dev are sublet's own");
    if (problems_.size() + refused_.size() != before) return;
    schema::Document value = document_of(node);
    (void)fit_built(value.root(), shape);  // found to fit: what is left is to make text of numbers
    row.said(config_) = value.to_json();
  }

  void refuse_expressions(const YamlNode& node, const std::string& key) {
    if (node.is_string() && node.text.find("${") != std::string::npos)
      problems_.add(node.mark, key, "expressions stand in patches only; write the value itself");
    for (const YamlNode& child : node.children) refuse_expressions(child, key);
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

  // What the file switches off in so many words.
  struct Off {
    const YamlNode* node;
    std::string key;
    bool SyncConfig::*flag;   // null: of a custom resource
    std::string custom_name;  // of that
  };

  std::vector<std::string_view> others_;
  Problems &problems_, &refused_;
  SyncConfig config_;
  std::vector<Off> off_;
  const YamlNode *priority_classes_ = nullptr, *storage_classes_ = nullptr, *priority_band_ = nullptr,
                 *nodes_all_ = nullptr, *workloads_ = nullptr, *volumes_ = nullptr, *config_maps_ = nullptr,
                 *secrets_ = nullptr, *gateways_ = nullptr, *except_ = nullptr, *ingress_ = nullptr,
                 *account_ = nullptr, *arguments_ = nullptr, *controllers_ = nullptr, *route_ = nullptr,
                 *network_policies_ = nullptr;  // the last that said something of them
  bool asked_policy_ = false;                   // in so many words: it is also there by default
};

}  // namespace

SyncConfig read_config(const YamlNode& root, const std::vector<std::string_view>& others, Problems& problems,
                       Problems& refused) {
  return ConfigReader(others, problems, refused).run(root);
}

std::vector<HonouredKey> honoured_keys() {
  constexpr std::pair<Takes, HonouredForm> kForms[] = {
      {Takes::boolean, HonouredForm::boolean},     {Takes::integer, HonouredForm::integer},
      {Takes::strings, HonouredForm::strings},     {Takes::labels, HonouredForm::labels},
      {Takes::selector, HonouredForm::selector},   {Takes::choice, HonouredForm::choice},
      {Takes::count, HonouredForm::count},         {Takes::quantities, HonouredForm::quantities},
      {Takes::custom, HonouredForm::custom},       {Takes::mappings, HonouredForm::mappings},
      {Takes::api_value, HonouredForm::api_value}, {Takes::network, HonouredForm::network},
      {Takes::networks, HonouredForm::networks},   {Takes::word, HonouredForm::word},
      {Takes::hosts, HonouredForm::hosts},         {Takes::port, HonouredForm::port},
      {Takes::manifests, HonouredForm::manifests}, {Takes::exports, HonouredForm::exports},
      {Takes::images, HonouredForm::images},       {Takes::tolerations, HonouredForm::tolerations}};
  std::vector<HonouredKey> keys;
  for (const KeyRow& row : key_rows())
    for (const auto& [takes, form] : kForms)
      if (row.takes == takes) keys.push_back({row.path, form, row.reason});
  return keys;
}

Acceptance acceptance_of(std::string_view path) {
  for (const HonouredKey& key : honoured_keys())
    if (path == key.path || (path.starts_with(key.path) && path[key.path.size()] == '.') ||
        (key.path.starts_with(path) && key.path[path.size()] == '.'))  // an empty map of keys that act
      return Acceptance::acts;
  const KeyRow* const row = row_of(split(path, '.'));
  constexpr Takes kAlwaysSo[] = {Takes::only_true, Takes::only_false, Takes::either, Takes::address};
  return row && std::ranges::find(kAlwaysSo, row->takes) != std::end(kAlwaysSo) ? Acceptance::always_so
                                                                                : Acceptance::asks_nothing;
}

}  // namespace sublet::patches
