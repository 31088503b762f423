#include <algorithm>
#include <set>

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/endpoints.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::size_t kEndpointsMax = 1000, kSliceAddressesMax = 100, kPortsMax = 20000, kHintsMax = 8;

void default_endpoint_slice(Value object) {
  for (auto port : object["ports"]) {
    if (port["name"].missing()) port.put("name", "");
    if (port["protocol"].missing()) port.put("protocol", "TCP");
  }
}

Outcome prepare_endpoint_slice_create(WriteContext&, Value object) {
  object.object("metadata").put("generation", 1);
  for (auto endpoint : object["endpoints"]) endpoint.erase("deprecatedTopology");
  return {};
}

/// The generation moves with everything but metadata, and with labels.
Outcome prepare_endpoint_slice_update(WriteContext&, Value object, const Value& old) {
  // Of earlier API versions; it can go, and not come.
  std::size_t index = 0;
  for (auto endpoint : object["endpoints"])
    if (!semantically_equal(endpoint["deprecatedTopology"], old["endpoints"].at(index++)["deprecatedTopology"]))
      endpoint.erase("deprecatedTopology");
  bool changed = !semantically_equal(object["metadata"]["labels"], old["metadata"]["labels"]);
  for (auto field : {"addressType", "endpoints", "ports"}) changed |= !semantically_equal(object[field], old[field]);
  object.object("metadata").put("generation", old["metadata"]["generation"].integer() + (changed ? 1 : 0));
  return {};
}

/// A domain name of at least two parts.
void validate_domain(Causes& causes, const std::string& path, std::string_view name) {
  if (name.empty()) return required(causes, path);
  if (name.ends_with('.')) name.remove_suffix(1);
  auto messages = dns1123_subdomain(name);
  if (!messages.empty()) return invalid_each(causes, path, name, messages);
  if (name.find('.') == std::string_view::npos)
    return invalid(causes, path, name, "should be a domain with at least two segments separated by dots");
  for (std::string_view rest = name; !rest.empty();) {
    const auto dot = rest.find('.');
    const auto label = rest.substr(0, dot);
    if (label.size() > 63) return invalid(causes, path, label, "must be no more than 63 characters");
    rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  }
}

void validate_slice_address(Causes& causes, const std::string& path, const std::string& list, std::string_view type,
                            std::string_view address, bool own) {
  if (type == "FQDN") return validate_domain(causes, path, address);
  if (type != "IPv4" && type != "IPv6") return;
  auto ip = parse_ip(address);
  if (ip && ip->v6 != (type == "IPv6")) invalid(causes, list, address, "must be an " + std::string(type) + " address");
  if (!own) validate_endpoint_ip(causes, path, address);
}

void validate_hints(Causes& causes, const std::string& path, const Value& hints) {
  for (auto list : {"forZones", "forNodes"}) {
    std::string at = child(path, list);
    if (hints[list].size() > kHintsMax) {
      too_many(causes, at, hints[list].size(), kHintsMax);
      continue;
    }
    std::set<std::string_view> names;
    std::size_t index = 0;
    for (auto hint : hints[list]) {
      std::string name_path = child(item(at, index++), "name");
      if (!names.insert(hint["name"].text()).second) duplicate(causes, name_path, hint["name"].text());
      invalid_each(causes, name_path, hint["name"].text(),
                   list == std::string_view("forNodes") ? dns1123_subdomain(hint["name"].text())
                                                        : label_value(hint["name"].text()));
    }
  }
}

void validate_slice_endpoints(Causes& causes, const Value& object) {
  auto endpoints = object["endpoints"];
  bool own = is_server_endpoint(object["metadata"]);
  if (endpoints.size() > kEndpointsMax) return too_many(causes, "endpoints", endpoints.size(), kEndpointsMax);
  std::size_t index = 0;
  for (auto endpoint : endpoints) {
    std::string at = item("endpoints", index++), list = child(at, "addresses");
    auto addresses = endpoint["addresses"];
    if (addresses.empty()) required(causes, list, "must contain at least 1 address");
    if (addresses.size() > kSliceAddressesMax) too_many(causes, list, addresses.size(), kSliceAddressesMax);
    std::size_t address_index = 0;
    for (auto address : addresses)
      validate_slice_address(causes, item(list, address_index++), list, object["addressType"].text(), address.text(),
                             own);
    const auto node = endpoint["nodeName"];
    auto hostname = endpoint["hostname"].text();
    if (node) invalid_each(causes, child(at, "nodeName"), node.text(), dns1123_subdomain(node.text()));
    if (!hostname.empty()) invalid_each(causes, child(at, "hostname"), hostname, dns1123_label(hostname));
    validate_hints(causes, child(at, "hints"), endpoint["hints"]);
  }
}

void validate_endpoint_slice(const Value& object, Causes& causes) {
  constexpr std::string_view kTypes[] = {"FQDN", "IPv4", "IPv6"};
  auto type = object["addressType"].text();
  if (type.empty())
    required(causes, "addressType");
  else if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
    not_supported(causes, "addressType", type, kTypes);
  auto ports = object["ports"];
  if (ports.size() > kPortsMax) return too_many(causes, "ports", ports.size(), kPortsMax);
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto port : ports) {
    std::string at = item("ports", index++);
    const auto name = port["name"].text();
    const auto protocol = port["appProtocol"];
    if (!name.empty()) invalid_each(causes, child(at, "name"), name, dns1123_label(name));
    if (!names.insert(name).second) duplicate(causes, child(at, "name"), name);
    validate_protocol(causes, child(at, "protocol"), port["protocol"].text());
    if (protocol) invalid_each(causes, child(at, "appProtocol"), protocol.text(), qualified_name(protocol.text()));
  }
  validate_slice_endpoints(causes, object);
}

void validate_endpoint_slice_update(const Value& object, const Value& old, Causes& causes) {
  // Endpoints that an update does not touch are not its fault.
  if (semantically_equal(object["endpoints"], old["endpoints"]))
    causes.erase(std::remove_if(causes.begin(), causes.end(),
                                [](const Cause& cause) { return cause.field.starts_with("endpoints"); }),
                 causes.end());
  immutable(causes, "addressType", object["addressType"], old["addressType"]);
}

}  // namespace

Strategy endpoint_slice_strategy() {
  Strategy row;
  row.group = "discovery.k8s.io";
  row.resource = "endpointslices";
  row.defaults = default_endpoint_slice;
  row.prepare_create = prepare_endpoint_slice_create;
  row.prepare_update = prepare_endpoint_slice_update;
  row.validate = validate_endpoint_slice;
  row.validate_update = validate_endpoint_slice_update;
  return row;
}

}  // namespace sublet::apiserver
