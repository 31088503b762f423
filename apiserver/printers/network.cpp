// Services, their endpoints and Ingresses.
#include <cctype>
#include <set>

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kServiceColumns[] = {
    kNameColumn,
    {"Type", "string", "", "How the service can be reached"},
    {"Cluster-IP", "string", "", "Address inside the cluster"},
    {"External-IP", "string", "", "Addresses or name outside the cluster"},
    {"Port(s)", "string", "", "Ports, with node ports where there are any"},
    kAgeColumn,
    kSelectorColumn,
};

/// Addresses of a load balancer, each once and sorted.
std::vector<std::string> balancer_addresses(const Value& balancer) {
  std::set<std::string> found;
  for (Value ingress : balancer["ingress"]) {
    std::string address = ingress["ip"].string();
    if (address.empty()) address = ingress["hostname"].string();
    if (!address.empty()) found.insert(address);
  }
  return {found.begin(), found.end()};
}

std::string external_address(const Value& object) {
  Value spec = object["spec"];
  std::string_view type = spec["type"].text();
  if (type == "ExternalName") return spec["externalName"].string();
  bool balanced = type == "LoadBalancer";
  if (!balanced && type != "ClusterIP" && type != "NodePort") return std::string(kUnknown);
  std::vector<std::string> addresses;
  if (balanced) addresses = balancer_addresses(object["status"]["loadBalancer"]);
  for (Value address : spec["externalIPs"]) addresses.push_back(address.string());
  if (!addresses.empty()) return join(addresses, ",");
  return balanced ? "<pending>" : std::string(kNone);
}

std::string service_ports(const Value& ports) {
  std::vector<std::string> parts;
  for (Value port : ports) {
    std::string text = std::to_string(port["port"].integer());
    if (port["nodePort"].integer() > 0) text += ":" + std::to_string(port["nodePort"].integer());
    parts.push_back(text + "/" + port["protocol"].string());
  }
  return join(parts, ",");
}

void service_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["type"].text());
  cells.text(spec["clusterIPs"].at(0).text(kNone)).text(external_address(object));
  cells.text_or(service_ports(spec["ports"]), kNone).age().text(labels_text(spec["selector"]));
}

constexpr Column kEndpointsColumns[] = {
    kNameColumn, {"Endpoints", "string", "", "Addresses and ports that are ready"}, kAgeColumn};

std::string host_and_port(const std::string& host, std::int64_t port) {
  bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string endpoints_text(const Value& subsets) {
  if (subsets.empty()) return std::string(kNone);
  std::vector<std::string> parts;
  for (Value subset : subsets) {
    if (subset["ports"].empty())
      for (Value address : subset["addresses"]) parts.push_back(address["ip"].string());
    for (Value port : subset["ports"])
      for (Value address : subset["addresses"])
        parts.push_back(host_and_port(address["ip"].string(), port["port"].integer()));
  }
  return clipped(parts, 3);
}

void endpoints_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(endpoints_text(object["subsets"])).age();
}

constexpr Column kEndpointSliceColumns[] = {
    kNameColumn,
    {"AddressType", "string", "", "Family of the addresses"},
    {"Ports", "string", "", "Ports of every endpoint"},
    {"Endpoints", "string", "", "Addresses"},
    kAgeColumn,
};

std::string slice_ports(const Value& ports) {
  std::vector<std::string> parts;
  for (Value port : ports) {
    if (port["port"].is_integer())
      parts.push_back(std::to_string(port["port"].integer()));
    else
      parts.push_back(port["name"].string("*"));
  }
  return clipped(parts, 3);
}

std::string slice_addresses(const Value& endpoints) {
  std::vector<std::string> parts;
  for (Value endpoint : endpoints)
    for (Value address : endpoint["addresses"]) parts.push_back(address.string());
  return clipped(parts, 3);
}

void endpoint_slice_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.name().text(object["addressType"].text()).text_or(slice_ports(object["ports"]), kUnset);
  cells.text_or(slice_addresses(object["endpoints"]), kUnset).age();
}

constexpr Column kIngressColumns[] = {
    kNameColumn,
    {"Class", "string", "", "Class that takes care of it"},
    {"Hosts", "string", "", "Hosts that its rules are for"},
    {"Address", "string", "", "Addresses where requests come in"},
    {"Ports", "string", "", "Ports that are open"},
    kAgeColumn,
};

/// Hosts of the first rules. The count behind them is of rules, not hosts.
std::string ingress_hosts(const Value& rules) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> hosts;
  bool more = false;
  for (Value rule : rules) {
    more |= hosts.size() == kMost;
    if (!more && !rule["host"].text().empty()) hosts.push_back(rule["host"].string());
  }
  if (hosts.empty()) return "*";
  return join(hosts, ",") + (more ? " + " + std::to_string(rules.size() - kMost) + " more..." : "");
}

void ingress_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["ingressClassName"].text(kNone)).text(ingress_hosts(spec["rules"]));
  cells.text(join(balancer_addresses(object["status"]["loadBalancer"]), ","));
  cells.text(spec["tls"].empty() ? "80" : "80, 443").age();
}

constexpr Column kIngressClassColumns[] = {
    kNameColumn,
    {"Controller", "string", "", "Controller that serves the class"},
    {"Parameters", "string", "", "Object with more settings"},
    kAgeColumn,
};

std::string class_parameters(const Value& parameters) {
  if (!parameters.is_object()) return std::string(kNone);
  std::string kind = parameters["kind"].string();
  if (parameters["apiGroup"].is_string()) kind += "." + parameters["apiGroup"].string();
  return kind + "/" + parameters["name"].string();
}

void ingress_class_cells(const Value& object, WallTime now, Value row) {
  bool by_default = annotation(object, "ingressclass.kubernetes.io/is-default-class").text() == "true";
  Cells cells(object, now, row);
  cells.text(object["metadata"]["name"].string() + (by_default ? " (default)" : ""));
  cells.text(object["spec"]["controller"].text()).text(class_parameters(object["spec"]["parameters"])).age();
}

constexpr Column kPolicyColumns[] = {
    kNameColumn, {"Pod-Selector", "string", "", "Labels of the pods that it is for"}, kAgeColumn};

void network_policy_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(selector_or_none(object["spec"]["podSelector"])).age();
}

constexpr Column kServiceCidrColumns[] = {
    kNameColumn, {"CIDRs", "string", "", "Ranges that addresses are taken from"}, kAgeColumn};

void service_cidr_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(join(texts_of(object["spec"]["cidrs"]), ",")).age();
}

constexpr Column kAddressColumns[] = {kNameColumn, {"ParentRef", "string", "", "Object that uses the address"}};

/// "services/namespace/name", with the group behind a dot where there is one.
std::string parent_text(const Value& parent) {
  if (!parent.is_object()) return std::string(kNone);
  std::string made = parent["resource"].string();
  if (!parent["group"].text().empty()) made += "." + parent["group"].string();
  for (char& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!parent["namespace"].text().empty()) made += "/" + parent["namespace"].string();
  return made + "/" + parent["name"].string();
}

void address_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(parent_text(object["spec"]["parentRef"]));
}

constexpr Printer kNetworkPrinters[] = {
    {"", "services", kServiceColumns, service_cells},
    {"", "endpoints", kEndpointsColumns, endpoints_cells},
    {"discovery.k8s.io", "endpointslices", kEndpointSliceColumns, endpoint_slice_cells},
    {"networking.k8s.io", "ingresses", kIngressColumns, ingress_cells},
    {"networking.k8s.io", "ingressclasses", kIngressClassColumns, ingress_class_cells},
    {"networking.k8s.io", "networkpolicies", kPolicyColumns, network_policy_cells},
    {"networking.k8s.io", "servicecidrs", kServiceCidrColumns, service_cidr_cells},
    {"networking.k8s.io", "ipaddresses", kAddressColumns, address_cells},
};

}  // namespace

std::span<const Printer> network_printers() { return kNetworkPrinters; }

}  // namespace sublet::apiserver
