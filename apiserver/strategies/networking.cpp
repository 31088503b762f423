// networking.k8s.io: Ingress, IngressClass, NetworkPolicy, IPAddress, ServiceCIDR.

#include <algorithm>
#include <array>
#include <charconv>

#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kNetworkingGroup = "networking.k8s.io";

// --- Ingress ---

constexpr std::string_view kClassAnnotation = "kubernetes.io/ingress.class";
constexpr std::string_view kForbiddenSequences[] = {"//", "/./", "/../", "%2f", "%2F"},
                           kForbiddenEnds[] = {"/..", "/."},
                           kPathTypes[] = {"Exact", "ImplementationSpecific", "Prefix"};
constexpr FieldRule kTypedReference[] = {optional_name("apiGroup", dns1123_subdomain),
                                         required_name("kind", path_segment_name),
                                         required_name("name", path_segment_name)};
// As above, where even an empty group is judged.
constexpr FieldRule kGroupEvenEmpty[] = {{"apiGroup", is_named_even_empty, dns1123_subdomain}};

void validate_typed_reference(Causes& causes, const std::string& path, const Value& reference) {
  check_rules(causes, path, reference, kGroupEvenEmpty);
  check_rules(causes, path, reference, std::span(kTypedReference).subspan(1));
}

void validate_service_backend(Causes& causes, const std::string& path, const Value& service) {
  const auto at = child(path, "service");
  const auto name = service["name"].text();
  if (name.empty())
    required(causes, child(at, "name"));
  else
    invalid_each(causes, child(at, "name"), name, dns1123_label(name));
  const auto port_text = service["port"]["name"].text();
  const auto number = service["port"]["number"].integer();
  if (!port_text.empty() && number != 0)
    invalid(causes, path, "", "cannot set both port name & port number");
  else if (!port_text.empty())
    invalid_each(causes, child(at, "port.name"), port_text, port_name(port_text));
  else if (number != 0)
    invalid_each(causes, child(at, "port.number"), number, port_number(number));
  else
    required(causes, path, "port name or number is required");
}

void validate_backend(Causes& causes, const std::string& path, const Value& backend) {
  const auto resource = backend["resource"], service = backend["service"];
  if (resource && service)
    invalid(causes, path, "", "cannot set both resource and service backends");
  else if (resource)
    validate_typed_reference(causes, child(path, "resource"), resource);
  else if (service)
    validate_service_backend(causes, path, service);
  else
    invalid(causes, path, "", "resource or service backend is required");
}

/// A backend with both a resource and a service has no further errors.
void leave_out_backends(const Value& object, ReportedFields& reported) {
  const auto judge = [&](const Value& backend, std::string place) {
    if (backend.has("resource") && backend.has("service")) reported.leave_out(std::move(place));
  };
  judge(object["spec"]["defaultBackend"], "spec.defaultBackend");
  std::size_t rule_index = 0;
  for (auto rule : object["spec"]["rules"]) {
    const auto at = child(item("spec.rules", rule_index++), "http.paths");
    std::size_t index = 0;
    for (auto path : rule["http"]["paths"]) judge(path["backend"], child(item(at, index++), "backend"));
  }
}

void validate_path_text(Causes& causes, const std::string& field, std::string_view type, std::string_view path) {
  const bool own = type == "ImplementationSpecific";
  if ((!own || !path.empty()) && !path.starts_with('/')) invalid(causes, field, path, "must be an absolute path");
  if (own || path.empty()) return;
  for (const auto sequence : kForbiddenSequences)
    if (path.find(sequence) != std::string_view::npos)
      invalid(causes, field, path, "must not contain '" + std::string(sequence) + "'");
  for (const auto end : kForbiddenEnds)
    if (path.ends_with(end)) invalid(causes, field, path, "cannot end with '" + std::string(end) + "'");
}

void validate_path(Causes& causes, const std::string& at, const Value& path) {
  const auto type = path["pathType"];
  if (!type || type.is_null()) return required(causes, child(at, "pathType"), "pathType must be specified");
  if (std::ranges::find(kPathTypes, type.text()) == std::end(kPathTypes))
    not_supported(causes, child(at, "pathType"), type.text(), kPathTypes);
  else
    validate_path_text(causes, child(at, "path"), type.text(), path["path"].text());
  validate_backend(causes, child(at, "backend"), path["backend"]);
}

void validate_host(Causes& causes, const std::string& field, std::string_view host) {
  const bool wildcard = host.find('*') != std::string_view::npos;
  invalid_each(causes, field, host, wildcard ? wildcard_dns1123_subdomain(host) : dns1123_subdomain(host));
}

void validate_ingress_rule(Causes& causes, const std::string& at, const Value& rule) {
  if (const auto host = rule["host"].text(); !host.empty()) {
    if (parse_ip(host)) invalid(causes, child(at, "host"), host, "must be a DNS name, not an IP address");
    validate_host(causes, child(at, "host"), host);
  }
  const auto http = rule["http"];
  if (!http) return;
  const auto paths = child(at, "http.paths");
  if (http["paths"].empty()) required(causes, paths);
  std::size_t index = 0;
  for (auto path : http["paths"]) validate_path(causes, item(paths, index++), path);
}

void validate_ingress(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  if (spec["rules"].empty() && !spec.has("defaultBackend"))
    invalid(causes, "spec", BadValue::raw("null"), "either `defaultBackend` or `rules` must be specified");
  if (const auto backend = spec["defaultBackend"]) validate_backend(causes, "spec.defaultBackend", backend);
  std::size_t index = 0;
  for (auto rule : spec["rules"]) validate_ingress_rule(causes, item("spec.rules", index++), rule);
  index = 0;
  for (auto tls : spec["tls"]) {
    const auto at = item("spec.tls", index++);
    std::size_t host_index = 0;
    for (auto host : tls["hosts"]) validate_host(causes, item(child(at, "hosts"), host_index++), host.text());
    if (const auto name = tls["secretName"].text(); !name.empty())
      invalid_each(causes, child(at, "secretName"), name, dns1123_subdomain(name));
  }
  constexpr static FieldRule kRules[] = {{"spec.ingressClassName", is_named_even_empty, dns1123_subdomain}};
  check_rules(causes, "", object, kRules);
}

void validate_ingress_create(const Value& object, Causes& causes) {
  const auto annotation = object["metadata"]["annotations"][kClassAnnotation],
             name = object["spec"]["ingressClassName"];
  if (annotation && name && annotation.text() != name.text())
    invalid(causes, "annotations." + std::string(kClassAnnotation), annotation.text(),
            "must match `ingressClassName` when both are specified");
}

void validate_ingress_status(const Value& object, const Value&, Causes& causes) {
  std::size_t index = 0;
  for (auto ingress : object["status"]["loadBalancer"]["ingress"]) {
    const auto at = item("status.loadBalancer.ingress", index++);
    if (const auto ip = ingress["ip"].text(); !ip.empty()) invalid_each(causes, child(at, "ip"), ip, ip_address(ip));
    const auto host = ingress["hostname"].text();
    if (host.empty()) continue;
    invalid_each(causes, child(at, "hostname"), host, dns1123_subdomain(host));
    if (parse_ip(host)) invalid(causes, child(at, "hostname"), host, "must be a DNS name, not an IP address");
  }
}

// --- IngressClass ---

constexpr DefaultFact kIngressClass[] = {{"spec?.parameters?.scope", "\"Cluster\"", {}, {}, false, true}};
constexpr std::string_view kParameterScopes[] = {"Cluster", "Namespace"};
constexpr std::int64_t kControllerMax = 250;

void validate_ingress_class(const Value& object, Causes& causes) {
  const auto controller = object["spec"]["controller"].text();
  if (controller.size() > static_cast<std::size_t>(kControllerMax))
    too_long(causes, "spec.controller", static_cast<int>(kControllerMax));
  validate_domain_path(causes, "spec.controller", controller);
  const auto parameters = object["spec"]["parameters"];
  if (!parameters) return;
  const std::string at = "spec.parameters";
  validate_typed_reference(causes, at, parameters);
  const auto scope = parameters["scope"].text(), name = parameters["namespace"].text();
  if (std::ranges::find(kParameterScopes, scope) == std::end(kParameterScopes))
    return not_supported(causes, child(at, "scope"), scope, kParameterScopes);
  const bool has_namespace = parameters.has("namespace");
  if (scope == "Cluster" && has_namespace)
    forbidden(causes, child(at, "namespace"), "`parameters.scope` is set to 'Cluster'");
  if (scope == "Namespace" && !has_namespace)
    required(causes, child(at, "namespace"), "`parameters.scope` is set to 'Namespace'");
  if (scope == "Namespace" && has_namespace) invalid_each(causes, child(at, "namespace"), name, dns1123_label(name));
}

void keep_controller(const Value& object, const Value& old, Causes& causes) {
  const auto now = object["spec"]["controller"].text();
  if (now != old["spec"]["controller"].text()) invalid(causes, "spec.controller", now, kImmutable);
}

// --- NetworkPolicy ---

void default_network_policy(Value object) {
  auto spec = object.object("spec");
  if (spec["policyTypes"].empty()) {
    auto types = spec.array("policyTypes");
    types.push("Ingress");
    if (!spec["egress"].empty()) types.push("Egress");
  }
  for (auto list : {"ingress", "egress"})
    for (auto rule : spec[list])
      for (auto port : rule["ports"]) default_text(port, "protocol", "TCP");
}

void validate_policy_port(Causes& causes, const std::string& at, const Value& port) {
  constexpr static std::string_view kProtocols[] = {"TCP", "UDP", "SCTP"};
  const auto protocol = port["protocol"], number = port["port"], end = port["endPort"];
  if (protocol && std::ranges::find(kProtocols, protocol.text()) == std::end(kProtocols))
    not_supported(causes, child(at, "protocol"), protocol.text(), kProtocols);
  if (!number) {
    if (end) invalid(causes, child(at, "endPort"), end, "may not be specified when `port` is not specified");
  } else if (number.is_string()) {
    if (end) invalid(causes, child(at, "endPort"), end, "may not be specified when `port` is non-numeric");
    invalid_each(causes, child(at, "port"), number.text(), port_name(number.text()));
  } else {
    invalid_each(causes, child(at, "port"), number.integer(), port_number(number.integer()));
    if (!end) return;
    if (end.integer() < number.integer())
      invalid(causes, child(at, "endPort"), number.integer(), "must be greater than or equal to `port`");
    invalid_each(causes, child(at, "endPort"), end.integer(), port_number(end.integer()));
  }
}

/// Parses a network; bits behind the prefix length are ignored.
struct IpNetwork {
  IpAddress base;
  int bits = 0;
};

std::optional<IpNetwork> read_network(std::string_view text) {
  const auto slash = text.find('/');
  const auto base = parse_ip(text.substr(0, slash));
  if (!base || slash == std::string_view::npos) return std::nullopt;
  text.remove_prefix(slash + 1);
  int bits = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  const bool fits = error == std::errc() && end == text.data() + text.size() && bits <= (base->v6 ? 128 : 32);
  if (!fits || bits < 0) return std::nullopt;
  return IpNetwork{*base, bits};
}

/// Whether every address of the second network is one of the first, which is the larger.
bool is_strictly_inside(const IpNetwork& outer, const IpNetwork& inner) {
  const int bits = outer.bits;
  const IpAddress *base = &outer.base, *other = &inner.base;
  if (base->v6 != other->v6 || bits >= inner.bits) return false;
  for (int bit = 0; bit < bits + (base->v6 ? 0 : 96); ++bit)
    if (((base->bytes[bit / 8] ^ other->bytes[bit / 8]) & (0x80 >> (bit % 8))) != 0) return false;
  return true;
}

void validate_ip_block(Causes& causes, const std::string& at, const Value& block) {
  const auto range = block["cidr"].text();
  if (range.empty()) return required(causes, child(at, "cidr"));
  invalid_each(causes, child(at, "cidr"), range, cidr(range));
  const auto outer = read_network(range);
  if (!outer) return;
  std::size_t index = 0;
  for (auto except : block["except"]) {
    const auto field = item(child(at, "except"), index++);
    invalid_each(causes, field, except.text(), cidr(except.text()));
    if (const auto inner = read_network(except.text()); inner && !is_strictly_inside(*outer, *inner))
      invalid(causes, field, except.text(), "must be a strict subset of `cidr`");
  }
}

void validate_peer(Causes& causes, const std::string& at, const Value& peer) {
  int count = 0;
  for (auto field : {"podSelector", "namespaceSelector"}) {
    if (!peer.has(field)) continue;
    ++count;
    validate_label_selector(causes, child(at, field), peer[field]);
  }
  if (const auto block = peer["ipBlock"]) {
    ++count;
    validate_ip_block(causes, child(at, "ipBlock"), block);
  }
  if (count == 0)
    required(causes, at, "must specify a peer");
  else if (count > 1 && peer.has("ipBlock"))
    forbidden(causes, at, "may not specify both ipBlock and another peer");
}

void validate_policy_rules(Causes& causes, const Value& spec, std::string_view list, std::string_view peers) {
  std::size_t index = 0;
  for (auto rule : spec[list]) {
    const auto at = item(child("spec", list), index++);
    std::size_t inner = 0;
    for (auto port : rule["ports"]) validate_policy_port(causes, item(child(at, "ports"), inner++), port);
    inner = 0;
    for (auto peer : rule[peers]) validate_peer(causes, item(child(at, peers), inner++), peer);
  }
}

void validate_network_policy(const Value& object, Causes& causes) {
  constexpr static std::string_view kTypes[] = {"Ingress", "Egress"};
  const auto spec = object["spec"], types = spec["policyTypes"];
  validate_label_selector(causes, "spec.podSelector", spec["podSelector"]);
  validate_policy_rules(causes, spec, "ingress", "from");
  validate_policy_rules(causes, spec, "egress", "to");
  if (types.size() > std::size(kTypes))
    return invalid(causes, "spec.policyTypes", types, "may not specify more than two policyTypes");
  constexpr static FieldRule kRules[] = {choice_of("spec.policyTypes[]", kTypes)};
  check_rules(causes, "", object, kRules);
}

// --- IPAddress and ServiceCIDR ---

constexpr FieldRule kIpAddress[] = {{"spec.parentRef", must_be_set},
                                    optional_name("spec.parentRef.group", dns1123_subdomain),
                                    required_name("spec.parentRef.resource", path_segment_name),
                                    required_name("spec.parentRef.name", path_segment_name),
                                    optional_name("spec.parentRef.namespace", path_segment_name)};
constexpr std::string_view kIpAddressKept[] = {"spec.parentRef"};

void validate_ip_address(const Value& object, Causes& causes) {
  if (!object.has("spec")) required(causes, "spec.parentRef");
  check_rules(causes, "", object, kIpAddress);
}

void validate_ranges(Causes& causes, const Value& ranges) {
  const std::string field = "spec.cidrs";
  if (ranges.empty()) return required(causes, field, "at least one CIDR required");
  if (ranges.size() > 2) {
    auto shown = schema::Document::object();
    shown.root().put("CIDRs", ranges);
    return invalid(causes, field, shown.root(), "may only hold up to 2 values");
  }
  std::array<int, 2> families{};
  std::size_t index = 0;
  for (auto range : ranges) {
    const auto text = range.text();
    const auto address = parse_ip(text.substr(0, text.find('/')));
    const auto wrong = cidr(text);
    const bool readable = wrong.empty() || wrong.front().starts_with("must not have bits");
    families[index] = !address || !readable ? 0 : address->v6 ? 6 : 4;
    invalid_each(causes, item(field, index++), text, canonical_cidr(text));
  }
  if (families[0] != 0 && families[0] == families[1])
    invalid(causes, field, ranges,
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
}

void validate_service_cidr(const Value& object, Causes& causes) { validate_ranges(causes, object["spec"]["cidrs"]); }

void validate_service_cidr_update(const Value& object, const Value& old, Causes& causes) {
  const auto ranges = object["spec"]["cidrs"], before = old["spec"]["cidrs"];
  const auto kept_at = [&](std::size_t i) {
    if (ranges.at(i).text() != before.at(i).text())
      invalid(causes, item("spec.cidrs", i), ranges.at(i).text(), kImmutable);
  };
  if (ranges.size() == before.size()) {
    for (std::size_t i = 0; i < ranges.size(); ++i) kept_at(i);
  } else if (before.size() == 1 && ranges.size() == 2) {
    kept_at(0);
    validate_ranges(causes, ranges);
  } else {
    invalid(causes, "spec.cidrs", ranges, kImmutable);
  }
}

constexpr KindFacts kNetworkingKinds[] = {
    {kNetworkingGroup, "ipaddresses", nullptr, 0, NameRule::ip_address, validate_ip_address, kept<kIpAddressKept>},
    {kNetworkingGroup, "servicecidrs", nullptr, kSealsMetadata},
    {kNetworkingGroup, "ingresses", nullptr, kGeneration, NameRule::dns_subdomain, validate_ingress, nullptr,
     validate_ingress_status, validate_ingress_create, nullptr, leave_out_backends},
    {kNetworkingGroup, "ingressclasses", defaults_from<kIngressClass>, kGeneration, NameRule::dns_subdomain,
     validate_ingress_class, keep_controller},
    {kNetworkingGroup, "networkpolicies", default_network_policy, kGeneration, NameRule::dns_subdomain,
     validate_network_policy}};

}  // namespace

std::vector<Strategy> networking_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kNetworkingKinds) rows.push_back(row_of(facts));
  for (auto& row : rows) {
    if (row.resource != "servicecidrs") continue;
    row.validate_create = validate_service_cidr;
    row.validate_update = validate_service_cidr_update;
  }
  return rows;
}

}  // namespace sublet::apiserver
