// Sweep: removes the objects that a virtual cluster has on its host: only those with its uid label, each by its own
// uid. Blocking; may be interrupted and repeated. Threads: one.
#pragma once

#include <chrono>

#include "cluster/host/host.h"

namespace sublet::cluster {

/// Pods first, then what they use and the service account, then the name (owner.h); the namespace too when
/// `may_take_namespace`, sublet made it and nothing of any kind is in it but what every namespace has. Waits until all
/// is gone; timeout says how many are not.
Outcome sweep_host(const Host& host, const VirtualCluster& cluster, bool may_take_namespace,
                   std::chrono::seconds patience, Progress& progress);

}  // namespace sublet::cluster
