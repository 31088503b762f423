// WorkloadAccount: the ServiceAccount on the host under which a virtual cluster's pods run. It has no rights and mounts
// no token.
#pragma once

#include "cluster/host/host.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

schema::Document workload_account(const VirtualCluster& cluster, const patches::SyncConfig& config);
/// Makes it. already_exists when one of its name does not belong to the virtual cluster: pods would get the
/// rights of that one. Blocking.
Outcome ensure_workload_account(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config);

}  // namespace sublet::cluster
