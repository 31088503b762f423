// What a text of the host (an event, a refusal) may say to a tenant: the tenant's own pods by the tenant's names,
// nobody else's at all. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sublet::syncer {

struct HostTextNames {
  std::string host_namespace;
  /// The tenant's "namespace/name" of a host pod of this virtual cluster; nullopt for every other name.
  std::function<std::optional<std::string>(const std::string& host_pod)> tenant_pod;
};

/// A host name of ours becomes the tenant's; one of another virtual cluster, and a pod of the host's that is told as
/// "pod namespace/name", become "another pod", or "pod (not yours)".
std::string tenant_text(std::string_view message, const HostTextNames& names);

}  // namespace sublet::syncer
