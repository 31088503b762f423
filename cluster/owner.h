// Owner: whose a name in a host namespace is. A ConfigMap on the host says it, since two state folders do not know of
// each other: taken once by create, which only one can do, kept for the virtual cluster's life and never renewed, so
// that a stopped or lost owner keeps its name until somebody gives it back.
// Blocking. Threads: one.
#pragma once

#include <string>

#include "cluster/host.h"

namespace sublet::cluster {

/// Name of the ConfigMap.
std::string owner_record_name(const std::string& virtual_cluster);

/// The name becomes, or is, this virtual cluster's. already_exists says whose it is and how it could be taken over.
Outcome take_name(const Host& host, const VirtualCluster& cluster);
/// Gives it back where it is this one's; else nothing.
Outcome give_name_back(const Host& host, const VirtualCluster& cluster);

}  // namespace sublet::cluster
