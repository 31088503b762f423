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
  /// Uid of the host object that the text is about; "": not known. The text has the tenant's uid instead.
  std::string host_uid{};
};

/// Returns a host text as the tenant may read it:
/// - Host names of the tenant's objects become the tenant's, also as kubelets ("pod_namespace(uid)") and log folders
///   ("namespace_pod") write them; the uid of the host pod becomes the tenant pod's.
/// - Every other NAMESPACE/NAME becomes "(not yours)", and translated names of other virtual clusters "another pod".
///   Images, paths, API versions and the like stay.
/// - The host's namespace becomes the tenant's namespace; accounts of the host are not named; nodes have the names that
///   the tenant knows.
std::string tenant_text(std::string_view message, const HostTextNames& names);

}  // namespace sublet::syncer
