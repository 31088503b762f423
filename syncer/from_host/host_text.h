// What a text of the host (an event, a refusal, a condition) may say to a tenant: the tenant's own objects by the
// tenant's names, nobody else's at all. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sublet::syncer {

class NodeNames;

struct TenantObjectName {
  std::string namespace_name, name, uid;  // uid "": not known
};

struct HostTextNames {
  std::string host_namespace;
  /// The tenant's object that has that name on the host; nullopt for every other name.
  std::function<std::optional<TenantObjectName>(const std::string& host_name)> tenant_object;
  /// What the text is about, and its name on the host: said as it stands, without its namespace.
  std::string host_name{};
  TenantObjectName about{};
  /// What the tenant calls the host's nodes; null: as the host does.
  const NodeNames* nodes = nullptr;
};

/// A host name of ours becomes the tenant's, also as kubelets write it ("pod_namespace(uid)"), and the host's namespace
/// that of what the text is about; one of another virtual cluster, and a pod of the host's that is told as "pod
/// namespace/name", become "another pod", or "pod (not yours)"; of the host's accounts none is named. Nodes are named
/// as the tenant knows them.
std::string tenant_text(std::string_view message, const HostTextNames& names);

}  // namespace sublet::syncer
