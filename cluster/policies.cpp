#include "cluster/policies.h"

#include <arpa/inet.h>

#include <array>

#include "sublet/patches/patch.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

constexpr int kDnsPort = 53;

// Where a host keeps what tenants must not reach: private networks hold its nodes, its API server and other tenants'
// pods, link-local ones the cloud's metadata; fc00::/7 has fd00:ec2::254.
constexpr const char* kPrivateFour[] = {"10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8",
                                        "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"};
constexpr const char* kPrivateSix[] = {"::1/128", "fc00::/7", "fe80::/10"};

const std::array<kube::Resource, 3>& resources() {
  static const std::array<kube::Resource, 3> all{
      {{"", "v1", "resourcequotas"}, {"", "v1", "limitranges"}, {"networking.k8s.io", "v1", "networkpolicies"}}};
  return all;
}

Document manifest(const VirtualCluster& cluster, std::string_view api_version, std::string_view kind,
                  const std::string& name) {
  Document object = Document::object();
  object.root().put("apiVersion", api_version);
  object.root().put("kind", kind);
  Value metadata = object.root().object("metadata");
  metadata.put("name", name);
  Value labels = metadata.object("labels");
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  return object;
}

void put_all(Value map, const patches::Quantities& quantities) {
  for (const auto& [resource, quantity] : quantities) map.put(resource, quantity);
}

void put_limits(Value limit, std::string_view member, const patches::Quantities& quantities) {
  if (!quantities.empty()) put_all(limit.object(member), quantities);
}

// "https://203.0.113.7:6443" -> "203.0.113.7"; "" when it is a name.
std::string address_in(std::string url) {
  if (const auto scheme = url.find("://"); scheme != std::string::npos) url.erase(0, scheme + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with("[")) return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.rfind(':'));
}

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

void allow_public(Value egress, const char* network, std::span<const char* const> except, const std::string& host_api) {
  Value block = egress.push_object().array("to").push_object().object("ipBlock");
  block.put("cidr", network);
  Value exceptions = block.array("except");
  for (const char* one : except) exceptions.push(one);
  if (!host_api.empty()) exceptions.push(host_api);
}

// Pods reach each other, any DNS server, their own API server, and what is public but for the host's API server.
void allow_egress(Value egress, const VirtualCluster& cluster, const std::string& host_server) {
  egress.push_object()
      .array("to")
      .push_object()
      .object("podSelector")
      .object("matchLabels")
      .put(syncer::kLabelManagedBy, cluster.name);
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
      if (!open) break;
      Value dns = api["ports"].push_object();
      dns.put("protocol", protocol);
      dns.put("port", cluster.pod_access.dns_port);
    }
  }
  const std::string host = address_in(host_server);
  allow_public(egress, "0.0.0.0/0", kPrivateFour, is_address(AF_INET, host) ? host + "/32" : "");
  allow_public(egress, "::/0", kPrivateSix, is_address(AF_INET6, host) ? host + "/128" : "");
}

Document quota(const VirtualCluster& cluster, const patches::Policies& policies, const std::string& name) {
  Document object = manifest(cluster, "v1", "ResourceQuota", name);
  put_all(object.root().object("spec").object("hard"), policies.quota);
  return object;
}

Document limit_range(const VirtualCluster& cluster, const patches::Policies& policies, const std::string& name) {
  Document object = manifest(cluster, "v1", "LimitRange", name);
  Value limit = object.root().object("spec").array("limits").push_object();
  limit.put("type", "Container");
  put_limits(limit, "max", policies.limit_max);
  put_limits(limit, "min", policies.limit_min);
  put_limits(limit, "default", policies.limit_default);
  put_limits(limit, "defaultRequest", policies.limit_default_request);
  return object;
}

Document network_policy(const VirtualCluster& cluster, const std::string& host_server, const std::string& name) {
  Document object = manifest(cluster, "networking.k8s.io/v1", "NetworkPolicy", name);
  Value spec = object.root().object("spec");
  spec.object("podSelector").object("matchLabels").put(syncer::kLabelManagedBy, cluster.name);
  spec.array("policyTypes").push("Egress");
  allow_egress(spec.array("egress"), cluster, host_server);
  return object;
}

Outcome keep(const Host& host, const VirtualCluster& cluster, const PolicyObject& policy) {
  const std::string& place = cluster.host_namespace;
  const auto there = host.client.get(policy.resource, place, policy.name);
  if (!there && !there.error().is(Reason::not_found)) return fail(there.error());
  if (there && there->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() != cluster.uid) {
    if (!policy.object) return {};
    return fail(Reason::already_exists, policy.resource.resource + " " + policy.name + " exists in namespace " + place +
                                            " and does not belong to this virtual cluster; remove or rename it");
  }
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
  if (spec.root().empty()) return {};
  patch.root().put("spec", spec.root());
  const auto patched = host.client.patch(policy.resource, place, policy.name, kube::PatchType::merge, patch.to_json());
  return patched ? Outcome() : fail(patched.error());
}

}  // namespace

std::span<const kube::Resource> policy_resources() { return resources(); }

std::vector<PolicyObject> policy_objects(const VirtualCluster& cluster, const patches::Policies& policies,
                                         const std::string& host_server) {
  const std::string name = "sublet-" + cluster.name;
  std::vector<PolicyObject> objects;
  objects.push_back({resources()[0], name, std::nullopt});
  if (policies.resource_quota) objects.back().object = quota(cluster, policies, name);
  objects.push_back({resources()[1], name, std::nullopt});
  if (policies.limit_range) objects.back().object = limit_range(cluster, policies, name);
  objects.push_back({resources()[2], name, std::nullopt});
  if (policies.network_policy) objects.back().object = network_policy(cluster, host_server, name);
  return objects;
}

Outcome keep_policies(const Host& host, const VirtualCluster& cluster) {
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  const patches::Policies policies =
      context->resolved_template ? context->resolved_template->config().policies : patches::Policies();
  for (const PolicyObject& policy : policy_objects(cluster, policies, host.access.server)) {
    const auto kept = keep(host, cluster, policy);
    if (kept || (!policy.object && kept.error().is(Reason::forbidden))) continue;
    Status status = kept.error();
    if (status.is(Reason::forbidden))
      status.message += "; ask for that right, or switch the policy off in the template";
    return fail(std::move(status));
  }
  return {};
}

}  // namespace sublet::cluster
