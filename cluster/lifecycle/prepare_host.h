// PrepareHost: everything that a virtual cluster needs on its host before its daemons start. Blocking. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "cluster/host/host.h"

namespace sublet::cluster {

/// Makes or updates the namespace (host_namespace.h), the claim of the name (owner.h), the workload account, the way
/// of pods and people to the API server (pod_access.h, api_access.h), the syncer's identity (identity.h) and the
/// template's policies (policies.h). Everything but the claim of the name may be there already.
/// The host assigns pod_access.service_address of `cluster`: the caller stores the record before it starts a daemon.
/// `place`: where the virtual cluster is kept, for a user who finds its name taken.
Outcome prepare_host(const Host& host, VirtualCluster& cluster, const std::string& place,
                     std::chrono::steady_clock::time_point deadline, Progress& progress);

}  // namespace sublet::cluster
