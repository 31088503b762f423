// Status: what virtual clusters of this machine are doing right now, by asking them. Threads: one.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "sublet/cluster/driver.h"

namespace sublet::cluster {

/// Asked all at once, each on its unix socket: without a TLS handshake two hundred cost what twenty did. One that does
/// not answer within `patience` is Starting. `host_runs`: of those on the embedded host.
std::vector<ClusterStatus> ask_all(std::span<const VirtualCluster> clusters, bool host_runs,
                                   std::chrono::milliseconds patience);

}  // namespace sublet::cluster
