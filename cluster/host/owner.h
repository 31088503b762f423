// Owner: which virtual cluster owns a name in a host namespace. A ConfigMap on the host records it, because two state
// folders do not know of each other. create claims the name once; only one can. The claim lasts for the virtual
// cluster's life and is not renewed, so that a stopped or lost owner keeps its name until it is released.
// Blocking. Threads: one.
#pragma once

#include <string>

#include "cluster/host/host.h"

namespace sublet::cluster {

/// Name of the ConfigMap.
std::string owner_record_name(const std::string& virtual_cluster);

/// Claims the name, or finds it claimed by this virtual cluster. already_exists names the owner and how to take over.
/// `place`: where this one is kept, for people.
Outcome take_name(const Host& host, const VirtualCluster& cluster, const std::string& place);
/// Releases the name if this virtual cluster owns it.
Outcome release_name(const Host& host, const VirtualCluster& cluster);

}  // namespace sublet::cluster
