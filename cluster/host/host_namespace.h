// HostNamespace: the namespace of a virtual cluster on its host: made by sublet when it is missing, and then marked, so
// that only such a namespace is ever deleted. Blocking. Threads: one.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cluster/host/host.h"

namespace sublet::cluster {

/// Makes the namespace, with the template's Pod Security Standard as its label. In one that sublet made and others
/// share, the loosest of their standards applies; in a foreign one the label is its owner's, and a difference is a
/// warning. Waits for the end of a namespace of that name that is terminating.
Outcome ensure_namespace(const Host& host, const VirtualCluster& cluster,
                         std::chrono::steady_clock::time_point deadline, Progress& progress);
/// Returns the uid of the namespace when sublet made it.
std::optional<std::string> uid_of_namespace_by_sublet(const Host& host, const std::string& host_namespace);
/// False at the deadline.
bool wait_until_namespace_is_gone(const Host& host, const std::string& host_namespace,
                                  std::chrono::steady_clock::time_point deadline);

}  // namespace sublet::cluster
