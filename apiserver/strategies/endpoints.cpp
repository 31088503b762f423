#include "apiserver/validation/endpoints.h"

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void default_endpoints(Value object) {
  for (auto subset : object["subsets"])
    for (auto port : subset["ports"]) default_text(port, "protocol", "TCP");
}

void validate_subset_address(Causes& causes, const std::string& path, const Value& address, bool own) {
  auto ip = address["ip"].text();
  if (!own) validate_endpoint_ip(causes, child(path, "ip"), ip);
  const auto messages = own ? Messages() : ip_address(ip);
  if (!messages.empty() && messages.front() != "must not have leading 0s")
    invalid(causes, child(path, "ip"), ip, "must be a valid IP address");
  auto hostname = address["hostname"].text(), node = address["nodeName"].text();
  if (!hostname.empty()) invalid_each(causes, child(path, "hostname"), hostname, dns1123_label(hostname));
  if (!node.empty()) invalid_each(causes, child(path, "nodeName"), node, dns1123_subdomain(node));
}

void validate_subset_port(Causes& causes, const std::string& path, const Value& port, bool name_required) {
  const auto name = port["name"].text();
  const auto protocol = port["appProtocol"];
  if (!name.empty())
    invalid_each(causes, child(path, "name"), name, dns1123_label(name));
  else if (name_required)
    required(causes, child(path, "name"));
  invalid_each(causes, child(path, "port"), port["port"].integer(), port_number(port["port"].integer()));
  validate_protocol(causes, child(path, "protocol"), port["protocol"].text());
  if (protocol) invalid_each(causes, child(path, "appProtocol"), protocol.text(), qualified_name(protocol.text()));
}

void validate_endpoints(const Value& object, Causes& causes) {
  bool own = is_server_endpoint(object["metadata"]);
  std::size_t subset_index = 0;
  for (auto subset : object["subsets"]) {
    std::string at = item("subsets", subset_index++);
    if (subset["addresses"].empty() && subset["notReadyAddresses"].empty())
      required(causes, at, "must specify `addresses` or `notReadyAddresses`");
    for (auto list : {"addresses", "notReadyAddresses"}) {
      std::size_t index = 0;
      for (auto address : subset[list]) validate_subset_address(causes, item(child(at, list), index++), address, own);
    }
    std::size_t index = 0;
    for (auto port : subset["ports"])
      validate_subset_port(causes, item(child(at, "ports"), index++), port, subset["ports"].size() > 1);
  }
}

/// A stored object with addresses that newer rules refuse can still be relabelled.
void validate_endpoints_update(const Value& object, const Value& old, Causes& causes) {
  if (!semantically_equal(object["subsets"], old["subsets"])) validate_endpoints(object, causes);
}

}  // namespace

Strategy endpoints_strategy() {
  Strategy row;
  row.resource = "endpoints";
  row.create_on_update = true;
  row.defaults = default_endpoints;
  row.validate_create = validate_endpoints;
  row.validate_update = validate_endpoints_update;
  return row;
}

}  // namespace sublet::apiserver
