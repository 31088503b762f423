// HostMappings: ConfigMaps, Secrets and custom resources of the host that a template shows to its tenants
// (sync.fromHost.{configMaps,secrets,gateways}.mappings.byName of vcluster.yaml, and that of customResources). Values;
// immutable once a template is loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sublet::patches {

struct HostMapping {
  std::string kind;                           // "ConfigMap", "Secret", or a definition's name
  std::string key;                            // as a synced kind
  std::string host_namespace, host_name;      // "": the virtual cluster's own; every name
  std::string tenant_namespace, tenant_name;  // no name: the host's

  /// "": the mapping is not for an object of that name.
  std::string tenant_name_of(std::string_view name) const {
    if (!host_name.empty() && host_name != name) return {};
    return tenant_name.empty() ? std::string(name) : tenant_name;
  }
  std::string host_name_of(std::string_view name) const {
    if (!tenant_name.empty() && tenant_name != name) return {};
    return host_name.empty() ? std::string(name) : host_name;
  }
};

/// A mapping as vcluster.yaml writes it: "ns/name": "ns/name", "ns/*": "ns/*", "/name": "ns/name", "": "ns/*" or "ns".
/// False: it is none.
bool parse_mapping(std::string_view from, std::string_view to, HostMapping& mapping);

}  // namespace sublet::patches
