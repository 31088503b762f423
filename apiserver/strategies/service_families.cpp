#include "apiserver/strategies/service_families.h"

#include <set>
#include <string>
#include <utility>

#include "apiserver/strategies/claims.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/strategies/service_allocation.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kIps = "spec.clusterIPs", kFamiliesPath = "spec.ipFamilies", kPolicy = "spec.ipFamilyPolicy",
                           kNames[] = {"IPv4", "IPv6"},
                           kFamilyPolicies[] = {"PreferDualStack", "RequireDualStack", "SingleStack"};

std::string_view family_of(std::string_view ip) { return kNames[ip.find(':') != std::string_view::npos]; }

Outcome refused(const Value& service, Causes causes) {
  if (causes.empty()) return {};
  return fail(invalid_status("", "Service", service["metadata"]["name"].text(), std::move(causes)));
}

bool is_open_headless(const Value& spec) {
  return spec["clusterIP"].text() == "None" && spec["selector"].empty();  // its addresses come from elsewhere
}

void default_policy(Value spec, const Value& old_spec) {
  if (!spec["ipFamilyPolicy"].missing()) return;
  if (const auto before = old_spec["ipFamilyPolicy"])
    spec.put("ipFamilyPolicy", before);
  else
    spec.put("ipFamilyPolicy", is_open_headless(spec) ? "RequireDualStack" : "SingleStack");
}

void validate_families(Causes& causes, const Value& spec) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (auto family : spec["ipFamilies"]) {
    const auto at = item(std::string(kFamiliesPath), index++);
    const auto name = family.text();
    if (name != kNames[0] && name != kNames[1]) not_supported(causes, at, name, kNames);
    if (!seen.insert(name).second) duplicate(causes, at, name);
  }
  const auto policy = spec["ipFamilyPolicy"];
  bool known = policy.missing();
  for (auto name : kFamilyPolicies) known |= policy.text() == name;
  if (!known) not_supported(causes, std::string(kPolicy), policy.text(), kFamilyPolicies);
}

/// Whether each is an address; those that were there before may stay.
bool are_addresses(Causes& causes, const Value& ips, const Value& old_ips) {
  const auto before = causes.size();
  std::size_t index = 0;
  for (auto ip : ips) {
    const auto place = index++;
    if (place == 0 && ip.text() == "None") {
      if (ips.size() > 1) invalid(causes, std::string(kIps), ips, "'None' must be the first and only value");
      continue;
    }
    bool known = false;
    for (auto old : old_ips) known |= old.text() == ip.text();
    if (!known) invalid_each(causes, item(std::string(kIps), place), ip.text(), ip_address(ip.text()));
  }
  return causes.size() == before;
}

/// Who makes it of one family only takes the first address; anything else must be said.
void settle_reduction(Causes& causes, Value spec, const Value& old_spec) {
  const bool single = spec["ipFamilyPolicy"].text() == "SingleStack";
  for (const std::string_view field : {"clusterIPs", "ipFamilies"}) {
    auto list = spec[field];
    if (single && same_field(spec, old_spec, field) && list.size() > 1) {
      std::size_t place = 0;
      list.retain([&](const Value&) { return place++ == 0; });
    } else if (!single && list.size() == 1 && old_spec[field].size() == 2) {
      invalid(causes, std::string(kPolicy), spec["ipFamilyPolicy"],
              field == "clusterIPs" ? "must be 'SingleStack' to release the secondary cluster IP"
                                    : "must be 'SingleStack' to release the secondary IP family");
    }
  }
}

void infer_families(Causes& causes, Value spec, std::string_view own) {
  if (spec["ipFamilyPolicy"].text() == "SingleStack") {
    constexpr std::string_view kMust = "must be 'RequireDualStack' or 'PreferDualStack' when multiple ";
    if (spec["clusterIPs"].size() == 2)
      invalid(causes, std::string(kPolicy), "SingleStack", std::string(kMust) + "cluster IPs are specified");
    if (spec["ipFamilies"].size() == 2)
      invalid(causes, std::string(kPolicy), "SingleStack", std::string(kMust) + "IP families are specified");
  }
  std::size_t index = 0;
  for (auto ip : spec["clusterIPs"]) {
    if (ip.text() == "None") break;
    const auto place = index++;
    if (place < spec["ipFamilies"].size()) continue;
    const auto family = family_of(ip.text());
    if (family != own)
      invalid(causes, item(std::string(kIps), place), spec["clusterIPs"],
              std::string(family) + " is not configured on this cluster");
    else
      spec.array("ipFamilies").push(family);
  }
}

/// One network, one family: what asks for another is refused before anything is given.
void validate_configured(Causes& causes, const Value& spec, std::string_view own) {
  if (spec["ipFamilyPolicy"].text() == "RequireDualStack")
    invalid(causes, std::string(kPolicy), "RequireDualStack", "this cluster is not configured for dual-stack services");
  std::size_t index = 0;
  for (auto family : spec["ipFamilies"]) {
    const auto at = item(std::string(kFamiliesPath), index++);
    if (family.text() != own) invalid(causes, at, family.text(), "not configured on this cluster");
  }
}

/// A node port that two of a new Service's ports ask for is given to the first. That one serves several protocols of
/// one port is no second asking.
void validate_wanted_ports(Causes& causes, const Value& spec) {
  if (spec["type"].text() != "NodePort" && spec["type"].text() != "LoadBalancer") return;
  std::set<std::pair<std::int64_t, std::int64_t>> given;
  std::set<std::int64_t> taken;
  std::size_t index = 0;
  for (auto port : spec["ports"]) {
    const auto at = child(item("spec.ports", index++), "nodePort");
    const auto wanted = port["nodePort"].integer();
    if (wanted == 0 || given.contains({port["port"].integer(), wanted})) continue;
    if (!taken.insert(wanted).second) return invalid(causes, at, wanted, "provided port is already allocated");
    given.insert({port["port"].integer(), wanted});
  }
}

}  // namespace

void validate_cluster_ips(Causes& causes, const Value& spec, const Value& old_spec) {
  const auto ip = spec["clusterIP"].text();
  const auto ips = spec["clusterIPs"], families = spec["ipFamilies"];
  const std::string at(kIps);
  if (!ip.empty() && ips.empty()) required(causes, at);
  if (!ip.empty() && !ips.empty() && ips.at(0).text() != ip)
    invalid(causes, at, ips, "first value must match `clusterIP`");
  if (ip.empty() && !ips.empty()) invalid(causes, at, ips, "must be empty when `clusterIP` is not specified");
  validate_families(causes, spec);
  const bool sound = are_addresses(causes, ips, old_spec["clusterIPs"]);
  if (ips.size() > 2) invalid(causes, at, ips, "may only hold up to 2 values");
  if (!sound) return;
  if (ips.size() > 1) {
    std::set<std::string_view> met;
    for (auto entry : ips) met.insert(family_of(entry.text()));
    if (met.size() < 2) invalid(causes, at, ips, "may specify no more than one IP for each IP family");
  }
  if (is_headless(spec)) return;
  for (std::size_t i = 0; i < ips.size() && i < families.size(); ++i) {
    const auto family = families.at(i).text(), address = ips.at(i).text();
    if ((family == kNames[0] || family == kNames[1]) && family != family_of(address))
      invalid(causes, item(at, i), address,
              "expected an " + std::string(family) + " value as indicated by `ipFamilies[" + std::to_string(i) + "]`");
  }
}

void validate_cluster_ips_update(Causes& causes, const Value& spec, const Value& old_spec) {
  if (!needs_cluster_ip(spec) || !needs_cluster_ip(old_spec)) return;
  if (is_headless(spec) && is_headless(old_spec)) return;
  constexpr std::string_view kOnce = "may not change once set";
  const auto ips = spec["clusterIPs"], old_ips = old_spec["clusterIPs"];
  const auto shown = [](const Value& list) { return list ? BadValue(list) : BadValue::raw("null"); };
  const std::string at(kIps);
  if (!old_ips.empty() && ips.empty()) invalid(causes, item(at, 0), shown(ips), "primary clusterIP can not be unset");
  const std::size_t compared =
      ips.size() == old_ips.size() ? ips.size() : std::size_t{!ips.empty() && !old_ips.empty()};
  for (std::size_t i = 0; i < compared; ++i)
    if (ips.at(i).text() != old_ips.at(i).text()) invalid(causes, item(at, i), ips, kOnce);
  if (is_headless(spec) != is_headless(old_spec)) return;
  const auto families = spec["ipFamilies"], old_families = old_spec["ipFamilies"];
  const bool same_length = families.size() == old_families.size();
  const std::size_t judged = same_length ? families.size() : std::size_t{!families.empty() && !old_families.empty()};
  for (std::size_t i = 0; i < judged; ++i)
    if (families.at(i).text() != old_families.at(i).text())
      invalid(causes, item(std::string(kFamiliesPath), 0), shown(same_length ? families : ips), kOnce);
}

Outcome settle_families(Value service, const Value& old, std::string_view cidr) {
  auto spec = service["spec"];
  const auto old_spec = old["spec"];
  if (!needs_cluster_ip(spec)) return {};
  const auto range = AddressRange::parse(cidr);
  if (!range) return internal_error("service network \"" + std::string(cidr) + "\" is no CIDR");
  const auto own = kNames[range->v6()];
  // clusterIP and clusterIPs are one fact in two fields.
  if (!spec["clusterIP"].text().empty() && spec["clusterIPs"].empty())
    spec.array("clusterIPs").push(spec["clusterIP"].string());
  if (old && spec["ipFamilyPolicy"].text() == "PreferDualStack" && same_field(spec, old_spec, "ipFamilyPolicy") &&
      same_field(spec, old_spec, "clusterIPs") && same_field(spec, old_spec, "ipFamilies"))
    return {};
  default_policy(spec, old_spec);
  Causes causes;
  validate_cluster_ips(causes, spec, old_spec);
  if (!causes.empty()) return refused(service, std::move(causes));
  if (old) settle_reduction(causes, spec, old_spec);
  infer_families(causes, spec, own);
  if (!causes.empty()) return refused(service, std::move(causes));
  const auto policy = spec["ipFamilyPolicy"].text();
  if (is_open_headless(spec)) {
    auto families = spec.array("ipFamilies");
    if (families.empty()) families.push(own);
    if (families.size() == 1 && policy != "SingleStack")
      families.push(families.at(0).text() == kNames[0] ? kNames[1] : kNames[0]);
    return {};
  }
  validate_configured(causes, spec, own);
  if (causes.empty() && !old) validate_wanted_ports(causes, spec);
  if (!causes.empty()) return refused(service, std::move(causes));
  if (auto families = spec.array("ipFamilies"); families.empty()) families.push(own);
  return {};
}

}  // namespace sublet::apiserver
