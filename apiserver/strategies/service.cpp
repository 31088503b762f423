#include <set>

#include "apiserver/strategies/rows.h"
#include "apiserver/strategies/service_allocation.h"
#include "apiserver/strategies/service_families.h"
#include "apiserver/validation/endpoints.h"
#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/names.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr int kAffinitySeconds = 10800, kAffinitySecondsMax = 86400;
constexpr std::string_view kTrafficDistributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode"};

void default_session_affinity(Value spec) {
  default_text(spec, "sessionAffinity", "None");
  if (spec["sessionAffinity"].text() == "None") spec.erase("sessionAffinityConfig");
  if (spec["sessionAffinity"].text() == "ClientIP")
    default_number(spec.object("sessionAffinityConfig").object("clientIP"), "timeoutSeconds", kAffinitySeconds);
}

void default_service(Value object) {
  auto spec = object.object("spec");
  default_session_affinity(spec);
  default_text(spec, "type", "ClusterIP");
  for (auto port : spec["ports"]) {
    default_text(port, "protocol", "TCP");
    auto target = port["targetPort"];
    if (target.missing() || (target.is_string() ? target.text().empty() : target.integer() == 0))
      port.put("targetPort", port["port"].integer());
  }
  if (is_external(spec)) default_text(spec, "externalTrafficPolicy", "Cluster");
  if (spec["type"].text() != "ExternalName") default_text(spec, "internalTrafficPolicy", "Cluster");
  if (spec["type"].text() == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].missing())
    spec.put("allocateLoadBalancerNodePorts", true);
  for (auto ingress : object["status"]["loadBalancer"]["ingress"])
    if (!ingress["ip"].text().empty()) default_text(ingress, "ipMode", "VIP");
  if (object["status"].missing()) object.object("status").object("loadBalancer");
}

// Upstream stores the field and never shows it; managedFields still lists its manager.
void hide_internal_policy(Value spec) {
  if (spec["type"].text() == "ExternalName") spec.erase("internalTrafficPolicy");
}

Outcome prepare_service_create(WriteContext& context, Value object) {
  hide_internal_policy(object["spec"]);
  auto status = object.object("status");
  status.clear();
  status.object("loadBalancer");
  return settle_families(object, {}, context.options.service_cidr);
}

Outcome prepare_service_update(WriteContext& context, Value object, const Value& old) {
  hide_internal_policy(object["spec"]);
  copy_field(object, old, "status");
  if (object["spec"]["type"].text() != "LoadBalancer") object.object("status").object("loadBalancer").clear();
  keep_allocation(object, old);
  return settle_families(object, old, context.options.service_cidr);
}

void validate_service_port(Causes& causes, const std::string& path, const Value& port, bool name_required,
                           std::set<std::string_view>& names) {
  auto name = port["name"].text();
  if (name.empty()) {
    if (name_required) required(causes, child(path, "name"));
  } else {
    invalid_each(causes, child(path, "name"), name, dns1123_label(name));
    if (!names.insert(name).second) duplicate(causes, child(path, "name"), name);
  }
  auto number = port["port"].integer();
  invalid_each(causes, child(path, "port"), number, port_number(number));
  validate_protocol(causes, child(path, "protocol"), port["protocol"].text());
  auto target = port["targetPort"];
  std::string at = child(path, "targetPort");
  if (target.is_string())
    invalid_each(causes, at, target.text(), port_name(target.text()));
  else
    invalid_each(causes, at, target.integer(), port_number(target.integer()));
  const auto protocol = port["appProtocol"];
  if (protocol) invalid_each(causes, child(path, "appProtocol"), protocol.text(), qualified_name(protocol.text()));
}

/// A port as upstream's messages show it.
std::string port_text(const Value& port) {
  return R"({"Name":"","Protocol":")" + port["protocol"].string() + R"(","AppProtocol":null,"Port":)" +
         std::to_string(port["port"].integer()) + R"(,"TargetPort":0,"NodePort":0})";
}

void validate_ports(Causes& causes, const Value& spec) {
  std::set<std::string_view> names;
  std::set<std::string> seen_ports, seen_node_ports;
  std::size_t index = 0;
  for (auto port : spec["ports"]) {
    std::string at = item("spec.ports", index++);
    validate_service_port(causes, at, port, spec["ports"].size() > 1, names);
    auto node_port = port["nodePort"].integer();
    if (node_port != 0 && spec["type"].text() == "ClusterIP")
      forbidden(causes, child(at, "nodePort"), "may not be used when `type` is 'ClusterIP'");
    auto protocol = port["protocol"].string();
    if (node_port != 0 && !seen_node_ports.insert(protocol + std::to_string(node_port)).second)
      duplicate(causes, child(at, "nodePort"), node_port);
    if (!seen_ports.insert(protocol + std::to_string(port["port"].integer())).second)
      duplicate(causes, at, BadValue::raw(port_text(port)));
  }
}

void validate_external_name(Causes& causes, const Value& spec) {
  constexpr std::string_view kNotSet = "may not be set for ExternalName services";
  for (auto field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    if (!semantically_equal(spec[field], {})) forbidden(causes, child("spec", field), kNotSet);
  // Upstream has copied the one address into the list by now.
  if (spec["clusterIPs"].empty() && !spec["clusterIP"].text().empty()) forbidden(causes, "spec.clusterIPs", kNotSet);
  auto name = spec["externalName"].text();
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty())
    required(causes, "spec.externalName");
  else
    invalid_each(causes, "spec.externalName", name, dns1123_subdomain(name));
}

void validate_headless(Causes& causes, const Value& spec) {
  const auto type = spec["type"].text();
  if (is_headless(spec) && (type == "LoadBalancer" || type == "NodePort"))
    invalid(causes, "spec.clusterIPs[0]", "None", "may not be set to 'None' for " + std::string(type) + " services");
}

void validate_affinity_seconds(Causes& causes, const Value& spec) {
  if (spec["sessionAffinity"].text() != "ClientIP") return;
  auto seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].integer();
  if (seconds <= 0 || seconds > kAffinitySecondsMax)
    invalid(causes, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds,
            "must be greater than 0 and less than 86400");
}

constexpr std::string_view kOldRanges = "service.beta.kubernetes.io/load-balancer-source-ranges",
                           kOldHints = "service.kubernetes.io/topology-aware-hints",
                           kHints = "service.kubernetes.io/topology-mode";

/// Annotations that became fields, or got another name.
void validate_annotations_of(Causes& causes, const Value& object) {
  const auto annotations = object["metadata"]["annotations"], spec = object["spec"];
  const std::string path = "metadata.annotations";
  if (annotations.has(kHints) && annotations.has(kOldHints) &&
      annotations[kHints].text() != annotations[kOldHints].text())
    invalid(causes, keyed(path, kHints), annotations[kHints].text(),
            "must match annotations[" + std::string(kOldHints) + "] when both are specified");
  if (!annotations.has(kOldRanges) || !spec["loadBalancerSourceRanges"].empty()) return;
  const auto at = keyed(path, kOldRanges);
  if (spec["type"].text() != "LoadBalancer") forbidden(causes, at, "may only be used when `type` is 'LoadBalancer'");
  auto rest = trimmed(annotations[kOldRanges].text());
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto range = trimmed(rest.substr(0, comma));
    invalid_each(causes, at, range, cidr(range));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
}

void validate_traffic(Causes& causes, const Value& spec) {
  if (!is_external(spec) && !spec["externalTrafficPolicy"].text().empty())
    invalid(causes, "spec.externalTrafficPolicy", spec["externalTrafficPolicy"],
            "may only be set for externally-accessible services");
  auto health_port = spec["healthCheckNodePort"].integer();
  if (health_port != 0 && !needs_health_check_port(spec))
    invalid(causes, "spec.healthCheckNodePort", health_port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  auto distribution = spec["trafficDistribution"].text();
  bool known = !spec["trafficDistribution"];
  for (auto name : kTrafficDistributions) known |= name == distribution;
  if (!known) not_supported(causes, "spec.trafficDistribution", distribution, kTrafficDistributions);
  const std::string ranges_at = "spec.LoadBalancerSourceRanges";  // upstream writes it so
  const bool balanced = spec["type"].text() == "LoadBalancer";
  if (!balanced && !spec["loadBalancerSourceRanges"].empty())
    forbidden(causes, ranges_at, "may only be used when `type` is 'LoadBalancer'");
  std::size_t index = 0;
  for (auto range : spec["loadBalancerSourceRanges"]) {
    const auto text = trimmed(range.text());
    invalid_each(causes, item(ranges_at, index++), text, cidr(text));
  }
  if (balanced) {
    if (const auto name = spec["loadBalancerClass"])
      invalid_each(causes, "spec.loadBalancerClass", name.text(), qualified_name(name.text()));
    return;
  }
  if (spec.has("allocateLoadBalancerNodePorts"))
    forbidden(causes, "spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'");
  if (spec.has("loadBalancerClass"))
    forbidden(causes, "spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'");
}

void validate_service(const Value& object, Causes& causes) {
  auto spec = object["spec"];
  bool external_name = spec["type"].text() == "ExternalName";
  if (spec["ports"].empty() && !is_headless(spec) && !external_name) required(causes, "spec.ports");
  if (external_name)
    validate_external_name(causes, spec);
  else
    validate_headless(causes, spec);
  validate_annotations_of(causes, object);
  validate_ports(causes, spec);
  validate_labels(causes, "spec.selector", spec["selector"]);
  validate_affinity_seconds(causes, spec);
  std::size_t index = 0;
  for (auto ip : spec["externalIPs"]) validate_endpoint_ip(causes, item("spec.externalIPs", index++), ip.text());
  validate_traffic(causes, spec);
}

void validate_service_update(const Value& object, const Value& old, Causes& causes) {
  auto spec = object["spec"], old_spec = old["spec"];
  if (needs_health_check_port(spec) && needs_health_check_port(old_spec) &&
      spec["healthCheckNodePort"].integer() != old_spec["healthCheckNodePort"].integer())
    forbidden(causes, "spec.healthCheckNodePort", kImmutable);
  if (spec["type"].text() == "LoadBalancer" && old_spec["type"].text() == "LoadBalancer" &&
      !semantically_equal(spec["loadBalancerClass"], old_spec["loadBalancerClass"]))
    invalid(causes, "spec.loadBalancerClass",
            spec.has("loadBalancerClass") ? BadValue(spec["loadBalancerClass"]) : BadValue::raw("null"),
            "may not change once set");
  validate_cluster_ips_update(causes, spec, old_spec);
}

// What the host says of a Service comes by /status, its addresses too; from anybody else's mouth they are not heard.
Outcome prepare_service_status(WriteContext& context, Value object, const Value& old) {
  const auto said = schema::Document::copy_of(object);
  if (auto kept = keep_spec(context, object, old); !kept) return kept;
  if (brings_host_addresses(context.options, context.user, context.resource)) take_host_addresses(object, said.root());
  return {};
}

void validate_service_status(const Value& object, const Value&, Causes& causes) {
  if (!object["status"]["loadBalancer"]["ingress"].empty() && object["spec"]["type"].text() != "LoadBalancer")
    forbidden(causes, "status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'");
}

}  // namespace

Strategy service_strategy() {
  Strategy row;
  row.resource = "services";
  row.name_rule = NameRule::dns_label;  // relaxed from DNS-1035 in v1.36
  row.create_on_update = true;
  row.delete_returns_object = true;
  row.defaults = default_service;
  row.prepare_create = prepare_service_create;
  row.prepare_update = prepare_service_update;
  row.claim_create = allocate_service;
  row.claim_update = reallocate_service;
  row.prepare_status_update = prepare_service_status;
  row.validate = validate_service;
  row.validate_update = validate_service_update;
  row.validate_status_update = validate_service_status;
  row.on_removed = release_service;
  row.selectable_fields = {{"spec.clusterIP", "spec.clusterIP"}, {"spec.type", "spec.type"}};
  return row;
}

}  // namespace sublet::apiserver
