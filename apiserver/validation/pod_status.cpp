// What an update may leave in a Pod's status. Upstream also forbids that a terminated container runs again and that a
// bound pod is nominated; here a host's word, which may be of an older release, is carried as it is (docs/limits.md).
#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void validate_conditions_of(Causes& causes, const Value& conditions) {
  std::size_t index = 0;
  for (auto condition : conditions) {
    const auto at = item("status.conditions", index++);
    if (condition["observedGeneration"].integer() < 0)
      invalid(causes, child(at, "observedGeneration"), condition["observedGeneration"],
              "must be a non-negative integer");
    const auto type = condition["type"].text();
    invalid_each(causes, child(at, "Type"), type, qualified_name(type));
  }
}

/// Addresses that were not there before are judged; of two, one is of each family.
void validate_status_ips(Causes& causes, const std::string& path, const Value& ips, const Value& old) {
  std::size_t index = 0;
  bool v4 = false, v6 = false;
  std::string unreadable;
  for (auto entry : ips) {
    const auto at = item(path, index);
    const auto ip = entry["ip"].text();
    bool known = false;
    for (auto before : old) known |= before["ip"].text() == ip;
    if (!known) invalid_each(causes, at, ip, ip_address(ip));
    if (!parse_ip(ip) && unreadable.empty())
      unreadable = "invalid IP[" + std::to_string(index) + "]: " + std::string(ip);
    (ip.find(':') == std::string_view::npos ? v4 : v6) = true;
    ++index;
  }
  if (ips.size() < 2) return;
  if (!unreadable.empty())
    causes.push_back(
        {"InternalError", "Internal error: failed to check for dual stack with error:" + unreadable, path});
  if (ips.size() > 2 || !v4 || !v6 || !unreadable.empty())
    invalid(causes, path, ips, "may specify no more than one IP for each IP family");
}

void validate_claim_statuses(Causes& causes, const Value& statuses, const Value& claims) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto entry : statuses) {
    const auto at = item("status.resourceClaimStatuses", index++);
    const auto name = entry["name"].text();
    bool known = false;
    for (auto claim : claims) known |= claim["name"].text() == name;
    if (!known) invalid(causes, child(at, "name"), name, "must match the name of an entry in `spec.resourceClaims`");
    if (!names.insert(name).second) duplicate(causes, child(at, "name"), name);
    if (const auto claim = entry["resourceClaimName"])
      invalid_each(causes, child(at, "resourceClaimName"), claim.text(), dns1123_subdomain(claim.text()));
  }
}

Value container_named(const Value& spec, std::string_view name) {
  for (auto list : {"containers", "initContainers"})
    for (auto container : spec[list])
      if (container["name"].text() == name) return container;
  return {};
}

/// The claim that was made for extended resources of the pod's containers.
void validate_extended_claim(Causes& causes, const Value& status, const Value& spec) {
  if (!status) return;
  const std::string path = "status.extendedResourceClaimStatus", mappings = child(path, "requestMappings");
  if (status["requestMappings"].empty()) required(causes, mappings, "at least one request mapping is required");
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  std::size_t index = 0;
  for (auto mapping : status["requestMappings"]) {
    const auto at = item(mappings, index++);
    const auto name = mapping["containerName"].text(), resource = mapping["resourceName"].text(),
               request = mapping["requestName"].text();
    if (const auto container = container_named(spec, name); !container)
      invalid(causes, child(at, "containerName"), name,
              "must match the name of an entry in spec.initContainers.name or spec.containers.name");
    else if (!container["resources"]["requests"].has(resource))
      invalid(causes, child(at, "resourceName"), resource,
              "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
              "spec.containers.resources.requests");
    invalid_each(causes, child(path, "requestName"), request, dns1123_label(request));
    if (seen.insert({name, resource, request}).second) continue;
    for (auto field : {"containerName", "resourceName", "requestName"})
      duplicate(causes, child(at, field), mapping[field].text());
  }
  const auto claim = status["resourceClaimName"].text();
  if (claim.empty())
    required(causes, child(path, "resourceClaimName"));
  else
    invalid_each(causes, child(path, "resourceClaimName"), claim, dns1123_subdomain(claim));
}

void validate_user(Causes& causes, const std::string& path, const Value& user, std::string_view os) {
  const auto linux_user = user["linux"];
  if (!linux_user) return;
  const auto at = child(path, "user.linux");
  if (os == "windows") return forbidden(causes, at, "cannot be set for a windows pod");
  if (os != "linux" && !os.empty()) return;
  const auto judge = [&](const std::string& field, const Value& id) {
    invalid_each(causes, field, id.integer(), in_range(id.integer(), 0, kInt32Max));
  };
  for (auto field : {"uid", "gid"}) judge(child(at, field), linux_user[field]);
  std::size_t index = 0;
  for (auto group : linux_user["supplementalGroups"]) judge(item(child(at, "supplementalGroups"), index++), group);
}

void validate_health(Causes& causes, const std::string& path, const Value& resources) {
  constexpr static std::string_view kHealths[] = {"Healthy", "Unhealthy", "Unknown"};
  constexpr int kMessageMax = 1024;
  std::set<std::string_view> ids;
  std::size_t index = 0;
  for (auto resource : resources) {
    const auto at = item(path, index++);
    const auto health = resource["health"].text(), id = resource["resourceID"].text();
    if (std::ranges::find(kHealths, health) == std::end(kHealths))
      not_supported(causes, child(at, "health"), health, kHealths);
    if (const auto message = resource["message"]; message && message.text().empty())
      required(causes, child(at, "message"), "must be non-empty if specified");
    else if (message.text().size() > static_cast<std::size_t>(kMessageMax))
      too_long(causes, child(at, "message"), kMessageMax);
    if (!ids.insert(id).second) duplicate(causes, child(at, "resourceID"), id);
  }
}

bool asks_for(const Value& container, std::string_view name) {
  if (!name.starts_with("claim:")) return container["resources"]["requests"].has(name);
  for (auto claim : container["resources"]["claims"]) {
    auto known = "claim:" + claim["name"].string();
    if (const auto request = claim["request"].text(); !request.empty()) known.append("/").append(request);
    if (known == name) return true;
  }
  return false;
}

void validate_allocated(Causes& causes, const std::string& path, const Value& status, const Value& containers) {
  Value container;
  for (auto candidate : containers)
    if (!container && candidate["name"].text() == status["name"].text()) container = candidate;
  std::size_t index = 0;
  for (auto allocated : status["allocatedResourcesStatus"]) {
    const auto at = item(child(path, "allocatedResourcesStatus"), index++);
    const auto name = allocated["name"].text();
    if (container && !asks_for(container, name))
      invalid(causes, child(at, "name"), name,
              name.starts_with("claim:")
                  ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
                    "'claim:<claimName>' if request is empty"
                  : "must match one of the container's resource requests");
    validate_health(causes, child(at, "resources"), allocated["resources"]);
  }
}

struct StatusList {
  std::string_view statuses, containers;
};
constexpr StatusList kStatusLists[] = {{"containerStatuses", "containers"},
                                       {"initContainerStatuses", "initContainers"},
                                       {"ephemeralContainerStatuses", ""}};

}  // namespace

void validate_pod_status_update(Causes& causes, const Value& pod, const Value& old_pod) {
  const auto status = pod["status"], before = old_pod["status"], spec = pod["spec"];
  validate_conditions_of(causes, status["conditions"]);
  const auto nominated = status["nominatedNodeName"].text();
  if (nominated != before["nominatedNodeName"].text() && !nominated.empty())
    invalid_each(causes, "status.nominatedNodeName", nominated, dns1123_subdomain(nominated));
  if (status["observedGeneration"].integer() < 0)
    invalid(causes, "status.observedGeneration", status["observedGeneration"], "must be a non-negative integer");
  if (!before["qosClass"].text().empty()) immutable(causes, "status.qosClass", status["qosClass"], before["qosClass"]);
  validate_claim_statuses(causes, status["resourceClaimStatuses"], spec["resourceClaims"]);
  validate_extended_claim(causes, status["extendedResourceClaimStatus"], spec);
  validate_status_ips(causes, "status.podIPs", status["podIPs"], before["podIPs"]);
  const auto host_ips = status["hostIPs"];
  if (!host_ips.empty() && host_ips.at(0)["ip"].text() != status["hostIP"].text())
    invalid(causes, "status.hostIPs[0].ip", host_ips.at(0)["ip"].text(), "must be equal to `hostIP`");
  validate_status_ips(causes, "status.hostIPs", host_ips, before["hostIPs"]);
  for (const auto& list : kStatusLists) {
    std::size_t index = 0;
    for (auto container : status[list.statuses]) {
      const auto at = item(child("status", list.statuses), index++);
      validate_user(causes, at, container["user"], spec["os"]["name"].text());
      if (!list.containers.empty())
        validate_allocated(causes, at, container, spec[list.containers]);
      else if (!container["allocatedResourcesStatus"].empty())
        forbidden(causes, child(at, "allocatedResourcesStatus"), "must not be specified in container status");
    }
  }
}

}  // namespace sublet::apiserver
