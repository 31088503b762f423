#include "syncer/from_host/pod_status.h"

#include <array>
#include <string_view>

namespace sublet::syncer {

using schema::Document;
using schema::Value;

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kStatusLists{{
    {"containerStatuses", "containers"},
    {"initContainerStatuses", "initContainers"},
    {"ephemeralContainerStatuses", "ephemeralContainers"},
}};

bool names(const Value& containers, std::string_view name) {
  for (const Value container : containers)
    if (container["name"].text() == name) return true;
  return false;
}

}  // namespace

Document tenant_pod_status(const Value& host_pod, const Value& tenant_pod) {
  Document status = Document::copy_of(host_pod["status"]);
  Value root = status.root();
  if (!root.is_object()) root.make_object();
  for (const auto& [statuses, containers] : kStatusLists) {
    Value list = root[statuses];
    if (list.missing()) continue;
    list.retain(
        [&, source = containers](Value entry) { return names(tenant_pod["spec"][source], entry["name"].text()); });
    if (list.empty()) root.erase(statuses);
  }
  for (const std::string_view hosts_own :
       {"resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration"})
    root.erase(hosts_own);
  for (Value condition : root["conditions"]) condition.erase("observedGeneration");
  if (const Value qos = tenant_pod["status"]["qosClass"]) root.put("qosClass", qos);
  return status;
}

}  // namespace sublet::syncer
