// Status: what virtual clusters of this machine are doing right now, by asking them, and the hosts that they stand on.
// Threads: one.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "sublet/cluster/local_driver.h"

namespace sublet::cluster {

/// Asked all at once, each on its unix socket: without a TLS handshake two hundred cost what twenty did. One that does
/// not answer within `patience` is Starting. `embedded_host_runs`: of those on the embedded host. Other hosts are asked
/// with the rest, each once however many stand on it; whatever they answer, they are there.
std::vector<ClusterStatus> ask_all(std::span<const VirtualCluster> clusters, bool embedded_host_runs,
                                   const HostConnector& connect_host, std::chrono::milliseconds patience);

}  // namespace sublet::cluster
