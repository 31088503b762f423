// Addresses of Services that a tenant may not choose (chosen_addresses() in translate.h).
#include <algorithm>

#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using schema::Value;

constexpr std::string_view kHeadless = "None";

bool has(const Value& list, std::string_view text) {
  return std::ranges::any_of(list, [&](const Value& item) { return item.text() == text; });
}

bool has_node_port(const Value& spec, std::int64_t number) {
  return spec["healthCheckNodePort"].integer() == number ||
         std::ranges::any_of(spec["ports"], [&](const Value& port) { return port["nodePort"].integer() == number; });
}

}  // namespace

std::vector<Cause> chosen_addresses(const Value& service, const Value& old) {
  std::vector<Cause> causes;
  const auto refuse = [&](std::string field, std::string_view what) {
    causes.push_back(
        {"FieldValueForbidden",
         "the host gives Services their " + std::string(what) + "; leave it out, and read it from the Service",
         std::move(field)});
  };
  const Value spec = service["spec"], old_spec = old["spec"];
  const std::string_view address = spec["clusterIP"].text();
  if (!address.empty() && address != kHeadless && old_spec["clusterIP"].text() != address)
    refuse("spec.clusterIP", "cluster IPs");
  else
    for (const Value one : spec["clusterIPs"])
      if (one.text() != kHeadless && !has(old_spec["clusterIPs"], one.text())) {
        refuse("spec.clusterIPs", "cluster IPs");
        break;
      }
  std::size_t index = 0;
  for (const Value port : spec["ports"]) {
    const std::string at = "spec.ports[" + std::to_string(index++) + "].nodePort";
    const auto number = port["nodePort"].integer();
    if (number != 0 && !has_node_port(old_spec, number)) refuse(at, "node ports");
  }
  const auto health = spec["healthCheckNodePort"].integer();
  if (health != 0 && !has_node_port(old_spec, health)) refuse("spec.healthCheckNodePort", "node ports");
  return causes;
}

}  // namespace sublet::syncer
