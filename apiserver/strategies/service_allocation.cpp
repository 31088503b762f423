#include "apiserver/strategies/service_allocation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apiserver/strategies/claims.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::string owner_of(const Value& service) {
  return "services/" + service["metadata"]["namespace"].string() + "/" + service["metadata"]["name"].string();
}

tl::unexpected<Status> invalid_service(const Value& service, std::string field, const BadValue& value,
                                       const std::string& why) {
  Causes causes;
  invalid(causes, std::move(field), value, why);
  return fail(invalid_status("", "Service", service["metadata"]["name"].text(), std::move(causes)));
}

std::set<std::string> cluster_ips(const Value& spec) {
  std::set<std::string> ips;
  if (!needs_cluster_ip(spec)) return ips;
  for (auto ip : spec["clusterIPs"])
    if (parse_ip(ip.text())) ips.insert(ip.string());
  return ips;
}

std::set<int> node_ports(const Value& spec) {
  std::set<int> ports;
  for (auto port : spec["ports"])
    if (auto number = port["nodePort"].integer()) ports.insert(static_cast<int>(number));
  if (auto number = spec["healthCheckNodePort"].integer()) ports.insert(static_cast<int>(number));
  return ports;
}

Outcome claim_ip(WriteContext& context, const Value& service, const AddressRange& range, const std::string& ip) {
  auto ips = service["spec"]["clusterIPs"];
  auto address = parse_ip(ip);
  auto why = "failed to allocate IP " + ip + ": ";
  if (!range.contains(*address))
    return invalid_service(service, "spec.clusterIPs", ips,
                           why + "the provided IP (" + ip + ") is not in the valid range. The range of valid IPs is " +
                               context.options.service_cidr);
  if (is_claimed(context, kClusterIpClaims, ip_text(*address)))
    return invalid_service(service, "spec.clusterIPs", ips, why + "provided IP is already allocated");
  claim(context, kClusterIpClaims, ip_text(*address), owner_of(service));
  return {};
}

/// Of a virtual cluster whose range is the address of its API server alone, as its pods know it: all others are the
/// host's, which is not asked.
tl::unexpected<Status> no_address_to_give(const Value& service) {
  Causes causes;
  required(causes, "spec.clusterIP",
           "no Service of this virtual cluster crosses to its host, which would give the address "
           "(sync.toHost.services.enabled: false): only None can be had");
  return fail(invalid_status("", "Service", service["metadata"]["name"].text(), std::move(causes)));
}

Outcome allocate_ips(WriteContext& context, Value service, const std::set<std::string>& kept) {
  auto spec = service["spec"];
  if (!needs_cluster_ip(spec)) return {};
  auto range = AddressRange::parse(context.options.service_cidr);
  if (!range) return internal_error("service network \"" + context.options.service_cidr + "\" is no CIDR");
  if (is_headless(spec) || context.options.service_addresses_of_host) return {};
  for (const auto& ip : cluster_ips(spec))
    if (!kept.contains(ip))
      if (auto outcome = claim_ip(context, service, *range, ip); !outcome) return outcome;
  if (!spec["clusterIP"].text().empty() || !spec["clusterIPs"].empty()) return {};
  auto ip = free_cluster_ip(context, *range);
  if (ip.empty() && range->size() == 1) return no_address_to_give(service);
  if (ip.empty()) return internal_error("failed to allocate a serviceIP: range is full");
  claim(context, kClusterIpClaims, ip, owner_of(service));
  spec.put("clusterIP", ip);
  spec.array("clusterIPs").push(ip);
  return {};
}

Outcome claim_port(WriteContext& context, const Value& service, const std::string& field, int port) {
  if (port < kNodePortFirst || port > kNodePortLast)
    return invalid_service(service, field, port,
                           "provided port is not in the valid range. The range of valid ports is 30000-32767");
  if (is_claimed(context, kNodePortClaims, std::to_string(port)))
    return invalid_service(service, field, port, "provided port is already allocated");
  claim(context, kNodePortClaims, std::to_string(port), owner_of(service));
  return {};
}

/// Gives a port its node port. One number may serve one service port over several protocols.
Outcome allocate_port(WriteContext& context, const Value& service, Value port, const std::string& field,
                      std::map<std::int64_t, int>& by_port, std::set<int>& held) {
  auto wanted = static_cast<int>(port["nodePort"].integer());
  auto shared = by_port.find(port["port"].integer());
  if (wanted == 0 && shared != by_port.end()) wanted = shared->second;
  if (wanted == 0) {
    wanted = free_node_port(context);
    if (wanted == 0) return internal_error("failed to allocate a nodePort: range is full");
  }
  if (held.insert(wanted).second)
    if (auto outcome = claim_port(context, service, field, wanted); !outcome) return outcome;
  port.put("nodePort", wanted);
  by_port.emplace(port["port"].integer(), wanted);
  return {};
}

Outcome allocate_ports(WriteContext& context, Value service, std::set<int> held) {
  if (context.options.service_addresses_of_host) return {};
  auto spec = service["spec"];
  std::map<std::int64_t, int> by_port;
  std::size_t index = 0;
  for (auto port : spec["ports"]) {
    std::string field = child(item("spec.ports", index++), "nodePort");
    bool wanted = port["nodePort"].integer() != 0;
    if (!needs_node_ports(spec) && !(wanted && spec["type"].text() == "LoadBalancer")) continue;
    if (auto outcome = allocate_port(context, service, port, field, by_port, held); !outcome) return outcome;
  }
  if (!needs_health_check_port(spec)) return {};
  auto number = static_cast<int>(spec["healthCheckNodePort"].integer());
  if (number == 0) number = free_node_port(context);
  if (held.insert(number).second)
    if (auto outcome = claim_port(context, service, "spec.healthCheckNodePort", number); !outcome) return outcome;
  spec.put("healthCheckNodePort", number);
  return {};
}

/// What only the old type could have, when the writer merely sent it back.
void drop_fields_of_old_type(Value spec, const Value& old) {
  bool same_ips = same_field(spec, old, "clusterIP") && same_field(spec, old, "clusterIPs");
  if (needs_cluster_ip(old) && !needs_cluster_ip(spec)) {
    for (auto field : {"clusterIP", "clusterIPs"})
      if (same_ips) spec.erase(field);
    for (auto field : {"ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"})
      if (same_field(spec, old, field)) spec.erase(field);
  }
  auto type = spec["type"].text();
  bool node_port_type = type == "NodePort" || type == "LoadBalancer";
  auto old_ports = node_ports(old), ports = node_ports(spec);
  if (!node_port_type && std::includes(old_ports.begin(), old_ports.end(), ports.begin(), ports.end()))
    for (auto port : spec["ports"]) port.erase("nodePort");
  if (needs_health_check_port(old) && !needs_health_check_port(spec) && same_field(spec, old, "healthCheckNodePort"))
    spec.erase("healthCheckNodePort");
  if (type != "LoadBalancer")
    for (auto field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"})
      if (old.has(field) && same_field(spec, old, field)) spec.erase(field);
  if (is_external(old) && !is_external(spec) && same_field(spec, old, "externalTrafficPolicy"))
    spec.erase("externalTrafficPolicy");
}

/// Lets a client PUT a manifest that does not know what the server has allocated.
void keep_allocated(Value spec, const Value& old) {
  if (needs_cluster_ip(old) && needs_cluster_ip(spec)) {
    if (spec["clusterIP"].text().empty()) copy_field(spec, old, "clusterIP");
    if (spec["clusterIPs"].empty()) copy_field(spec, old, "clusterIPs");
    // Who changes only the one field means both; validation then says what it thinks of the change.
    if (!same_field(spec, old, "clusterIP") && same_field(spec, old, "clusterIPs")) {
      auto ip = spec["clusterIP"].string();
      spec.array("clusterIPs").clear();
      spec["clusterIPs"].push(ip);
    }
    for (auto field : {"ipFamilyPolicy", "ipFamilies"})
      if (spec[field].missing()) copy_field(spec, old, field);
  }
  if (needs_node_ports(old) && needs_node_ports(spec)) {
    auto used = node_ports(spec);
    std::map<std::string, std::int64_t> by_name;
    for (auto port : old["ports"]) by_name[port["name"].string()] = port["nodePort"].integer();
    for (auto port : spec["ports"]) {
      auto number = by_name[port["name"].string()];
      if (port["nodePort"].integer() == 0 && number != 0 && !used.contains(static_cast<int>(number)))
        port.put("nodePort", number);
    }
  }
  if (needs_health_check_port(old) && needs_health_check_port(spec) && spec["healthCheckNodePort"].integer() == 0)
    copy_field(spec, old, "healthCheckNodePort");
}

bool same_port(const Value& a, const Value& b) {
  return a["port"].integer() == b["port"].integer() && a["protocol"].text("TCP") == b["protocol"].text("TCP");
}

}  // namespace

bool brings_host_addresses(const ServerOptions& options, const User& user, const schema::ResourceFacts& resource) {
  return options.service_addresses_of_host && resource.resource == "services" && resource.group.empty() &&
         user.name == options.unix_socket_user;
}

void take_host_addresses(Value service, const Value& said) {
  const Value spec = service["spec"], host = said["spec"];
  if (needs_cluster_ip(spec) && !is_headless(spec) && !is_headless(host))
    for (auto field : {"clusterIP", "clusterIPs", "ipFamilies"})
      if (host.has(field)) copy_field(spec, host, field);
  const bool node_ports_too = spec["type"].text() == "NodePort" || spec["type"].text() == "LoadBalancer";
  for (auto port : spec["ports"]) {
    for (auto other : host["ports"])
      if (same_port(port, other)) copy_field(port, other, "nodePort");
    if (!node_ports_too) port.erase("nodePort");
  }
  if (needs_health_check_port(spec)) copy_field(spec, host, "healthCheckNodePort");
}

bool lacks_host_addresses(const Value& service) {
  const Value spec = service["spec"];
  if (!needs_cluster_ip(spec)) return false;
  if (!is_headless(spec) && spec["clusterIP"].text().empty()) return true;
  return needs_node_ports(spec) &&
         std::ranges::any_of(spec["ports"], [](const Value& port) { return port["nodePort"].integer() == 0; });
}

bool is_headless(const Value& spec) {
  return spec["clusterIP"].text() == "None" || spec["clusterIPs"].at(0).text() == "None";
}

bool needs_cluster_ip(const Value& spec) { return spec["type"].text() != "ExternalName"; }

bool needs_node_ports(const Value& spec) {
  auto type = spec["type"].text();
  return type == "NodePort" || (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].boolean(true));
}

bool needs_health_check_port(const Value& spec) {
  return spec["type"].text() == "LoadBalancer" && spec["externalTrafficPolicy"].text() == "Local";
}

bool is_external(const Value& spec) {
  auto type = spec["type"].text();
  return type == "NodePort" || type == "LoadBalancer" || (type == "ClusterIP" && !spec["externalIPs"].empty());
}

Outcome allocate_service(WriteContext& context, Value service) {
  if (auto outcome = allocate_ips(context, service, {}); !outcome) return outcome;
  return allocate_ports(context, service, {});
}

void keep_allocation(Value service, const Value& old) {
  drop_fields_of_old_type(service["spec"], old["spec"]);
  keep_allocated(service["spec"], old["spec"]);
}

Outcome reallocate_service(WriteContext& context, Value service, const Value& old) {
  auto spec = service["spec"], old_spec = old["spec"];
  auto old_ips = cluster_ips(old_spec);
  auto old_ports = node_ports(old_spec);
  if (auto outcome = allocate_ips(context, service, old_ips); !outcome) return outcome;
  if (auto outcome = allocate_ports(context, service, old_ports); !outcome) return outcome;
  auto ips = cluster_ips(spec);
  auto ports = node_ports(spec);
  for (const auto& ip : old_ips)
    if (!ips.contains(ip)) release(context, kClusterIpClaims, ip_text(*parse_ip(ip)), owner_of(old));
  for (int port : old_ports)
    if (!ports.contains(port)) release(context, kNodePortClaims, std::to_string(port), owner_of(old));
  return {};
}

void release_service(WriteContext& context, const Value& service) {
  for (const auto& ip : cluster_ips(service["spec"]))
    release(context, kClusterIpClaims, ip_text(*parse_ip(ip)), owner_of(service));
  for (int port : node_ports(service["spec"]))
    release(context, kNodePortClaims, std::to_string(port), owner_of(service));
}

}  // namespace sublet::apiserver
