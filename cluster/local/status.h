// Status: the present state of virtual clusters of this machine, by requests to them and to their hosts. Threads: one.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "cluster/local/records.h"
#include "sublet/cluster/host_connector.h"

namespace sublet::cluster {

/// Asks all at once, each on its unix socket: without a TLS handshake 200 cost as much as 20. One that does not answer
/// within `patience` is Starting. `embedded_host_runs` is for those on the embedded host. Every other host is asked
/// once, however many virtual clusters it has; an answer of any kind means that it is reachable.
std::vector<ClusterStatus> ask_all(std::span<const LocalCluster> clusters, bool embedded_host_runs,
                                   const HostConnector& connect_host, std::chrono::milliseconds patience);

}  // namespace sublet::cluster
