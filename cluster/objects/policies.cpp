#include "cluster/objects/policies.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "cluster/host/host_manifest.h"
#include "sublet/base/host_port.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

// Networks that tenants must not reach: private ones hold the host's nodes, its API server and other tenants' pods,
// link-local ones the cloud's metadata service; fc00::/7 contains fd00:ec2::254.
constexpr const char* kPrivateFour[] = {"10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8",
                                        "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"};
constexpr const char* kPrivateSix[] = {"::1/128", "fc00::/7", "fe80::/10"};

const std::array<kube::Resource, 3>& limit_resources() {
  static const std::array<kube::Resource, 3> all{
      {{"", "v1", "resourcequotas"}, {"", "v1", "limitranges"}, {"networking.k8s.io", "v1", "networkpolicies"}}};
  return all;
}

void put_all(Value map, const patches::Quantities& quantities) {
  for (const auto& [resource, quantity] : quantities) map.put(resource, quantity);
}

void put_limits(Value limit, std::string_view member, const patches::Quantities& quantities) {
  if (!quantities.empty()) put_all(limit.object(member), quantities);
}

// "https://203.0.113.7:6443" -> "203.0.113.7"; "" when it is a name.
std::string address_in(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  return std::string(split_host_port(url.substr(0, url.find('/'))).host);
}

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

// A network of one family without some parts of it, each of which the API wants to be within, and not the whole.
void allow_public(Value egress, const std::string& network, const std::vector<std::string>& except) {
  Value block = egress.push_object().array("to").push_object().object("ipBlock");
  block.put("cidr", network);
  for (const std::string& one : except)
    if (one != network && patches::covers(network, one)) block.array("except").push(one);
}

bool is_six(std::string_view network) { return network.find(':') != network.npos; }

bool covered(const char* network, const std::vector<std::string>& by) {
  return std::ranges::any_of(by, [&](const std::string& one) { return patches::covers(one, network); });
}

// What the template leaves out replaces what is private, family by family; link-local networks and the host's API
// server stay out whatever it says.
std::vector<std::string> left_out(const patches::PublicEgress& egress, bool six, const std::string& host) {
  std::vector<std::string> out;
  if (egress.except)
    for (const std::string& network : *egress.except)
      if (is_six(network) == six) out.push_back(network);
  const bool by_default = !egress.except || (six && out.empty());
  if (six && by_default) out.assign(std::begin(kPrivateSix), std::end(kPrivateSix));
  if (!six && by_default) out.assign(std::begin(kPrivateFour), std::end(kPrivateFour));
  for (const char* always : patches::kMetadataNetworks)
    if (is_six(always) == six && !covered(always, out)) out.emplace_back(always);
  if (is_address(six ? AF_INET6 : AF_INET, host)) out.push_back(host + (six ? "/128" : "/32"));
  return out;
}

void allow_world(Value egress, const patches::PublicEgress& world, const std::string& host) {
  if (!world.enabled) return;
  const bool all = world.cidr.empty() || world.cidr == "0.0.0.0/0";
  const std::string first = world.cidr.empty() ? "0.0.0.0/0" : world.cidr;
  allow_public(egress, first, left_out(world, is_six(first), host));
  if (all) allow_public(egress, "::/0", left_out(world, true, host));
}

void allow_own_pods(Value rule, const char* peers, const VirtualCluster& cluster) {
  rule.array(peers)
      .push_object()
      .object("podSelector")
      .object("matchLabels")
      .put(syncer::kLabelManagedBy, cluster.name);
}

// Any DNS server, and their own API server.
void allow_egress(Value egress, const VirtualCluster& cluster, bool dns_server) {
  Value ports = egress.push_object().array("ports");
  for (const char* protocol : {"UDP", "TCP"}) {
    Value port = ports.push_object();
    port.put("protocol", protocol);
    port.put("port", kDnsPort);
  }
  const bool open = cluster.pod_access.given();
  const std::string own = open ? cluster.pod_access.address : address_in(cluster.listen);
  if (cluster.listen_port() != 0 && (is_address(AF_INET, own) || is_address(AF_INET6, own))) {
    Value api = egress.push_object();
    api.array("to").push_object().object("ipBlock").put("cidr", own + (is_address(AF_INET, own) ? "/32" : "/128"));
    Value port = api.array("ports").push_object();
    port.put("protocol", "TCP");
    port.put("port", cluster.listen_port());
    // Policies see where a Service leads, not its own port.
    for (const char* protocol : {"UDP", "TCP"}) {
      if (!open || !dns_server) break;
      Value dns = api["ports"].push_object();
      dns.put("protocol", protocol);
      dns.put("port", cluster.pod_access.dns_port);
    }
  }
}

void put_rules(Value rules, const patches::ApiValue& given) {
  if (given.empty()) return;
  const auto parsed = Document::parse_json(given);
  if (!parsed) return;  // load() has written it
  for (const Value rule : parsed->root()) rules.push_object().set(rule);
}

Document quota(const VirtualCluster& cluster, const patches::SyncConfig& config, const std::string& name) {
  const patches::Policies& policies = config.policies;
  Document object = host_manifest(cluster, "v1", "ResourceQuota", name, with_global(config, policies.quota_metadata));
  Value spec = object.root().object("spec");
  put_all(spec.object("hard"), policies.quota);
  if (const auto scopes = Document::parse_json(policies.quota_scopes)) spec.put("scopes", scopes->root());
  if (const auto terms = Document::parse_json(policies.quota_scope_expressions))
    spec.object("scopeSelector").put("matchExpressions", terms->root());
  return object;
}

Document limit_range(const VirtualCluster& cluster, const patches::SyncConfig& config, const std::string& name) {
  const patches::Policies& policies = config.policies;
  Document object = host_manifest(cluster, "v1", "LimitRange", name, with_global(config, policies.limit_metadata));
  Value limit = object.root().object("spec").array("limits").push_object();
  limit.put("type", "Container");
  put_limits(limit, "max", policies.limit_max);
  put_limits(limit, "min", policies.limit_min);
  put_limits(limit, "default", policies.limit_default);
  put_limits(limit, "defaultRequest", policies.limit_default_request);
  return object;
}

// Ingress is open until the template says from where besides the tenant's own pods.
Document network_policy(const VirtualCluster& cluster, const patches::SyncConfig& config,
                        const std::string& host_server, const std::string& name) {
  const patches::Policies& policies = config.policies;
  Document object = host_manifest(cluster, "networking.k8s.io/v1", "NetworkPolicy", name,
                                  with_global(config, policies.network_metadata));
  Value spec = object.root().object("spec");
  spec.object("podSelector").object("matchLabels").put(syncer::kLabelManagedBy, cluster.name);
  Value types = spec.array("policyTypes");
  types.push("Egress");
  Value egress = spec.array("egress");
  allow_own_pods(egress.push_object(), "to", cluster);
  allow_egress(egress, cluster, config.cluster_dns);
  allow_world(egress, policies.public_egress, address_in(host_server));
  put_rules(egress, policies.workload_egress);
  if (policies.workload_ingress.empty()) return object;
  types.push("Ingress");
  Value ingress = spec.array("ingress");
  allow_own_pods(ingress.push_object(), "from", cluster);
  put_rules(ingress, policies.workload_ingress);
  return object;
}

Outcome keep_policy(const Host& host, const VirtualCluster& cluster, const PolicyObject& policy) {
  const std::string& place = cluster.host_namespace;
  const auto there = host.client.get(policy.resource, place, policy.name);
  if (!there && !there.error().is(Reason::not_found)) return fail(there.error());
  if (there)
    if (auto ours = check_ours(cluster, policy.resource, there->root()); !ours) return policy.object ? ours : Outcome();
  if (!policy.object) {
    if (!there) return {};
    kube::DeleteOptions options;
    options.uid = there->root()["metadata"]["uid"].string();
    const auto removed = host.client.remove(policy.resource, place, policy.name, options);
    return removed || removed.error().is(Reason::not_found) ? Outcome() : fail(removed.error());
  }
  if (!there) {
    const auto made = host.client.create(policy.resource, place, policy.object->root());
    return made ? Outcome() : fail(made.error());
  }
  Document patch = Document::object();
  const Document spec = patches::make_merge_patch(there->root()["spec"], policy.object->root()["spec"]);
  const Document metadata = missing_metadata(there->root(), policy.object->root());
  if (spec.root().empty() && metadata.root().empty()) return {};
  if (!spec.root().empty()) patch.root().put("spec", spec.root());
  if (!metadata.root().empty()) patch.root().put("metadata", metadata.root());
  const auto patched = host.client.patch(policy.resource, place, policy.name, kube::PatchType::merge, patch.to_json());
  return patched ? Outcome() : fail(patched.error());
}

}  // namespace

std::span<const kube::Resource> policy_resources() { return limit_resources(); }

std::vector<PolicyObject> policy_objects(const VirtualCluster& cluster, const patches::SyncConfig& config,
                                         const std::string& host_server) {
  const std::string name = "sublet-" + cluster.name;
  std::vector<PolicyObject> objects;
  objects.push_back({limit_resources()[0], name, std::nullopt});
  if (config.policies.resource_quota) objects.back().object = quota(cluster, config, name);
  objects.push_back({limit_resources()[1], name, std::nullopt});
  if (config.policies.limit_range) objects.back().object = limit_range(cluster, config, name);
  objects.push_back({limit_resources()[2], name, std::nullopt});
  if (config.policies.network_policy) objects.back().object = network_policy(cluster, config, host_server, name);
  return objects;
}

Outcome keep_policies(const Host& host, const VirtualCluster& cluster) {
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  for (const PolicyObject& policy : policy_objects(cluster, syncer::config_of(*context), host.access.server)) {
    const auto kept = keep_policy(host, cluster, policy);
    if (kept || (!policy.object && kept.error().is(Reason::forbidden))) continue;
    Status status = kept.error();
    if (status.is(Reason::forbidden))
      status.message += "; ask for that right, or switch the policy off in the template";
    return fail(std::move(status));
  }
  return {};
}

}  // namespace sublet::cluster
