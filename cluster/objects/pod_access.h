// Pod access: how the pods of a virtual cluster reach their API server and their DNS server: a Service on the host,
// `sublet-<name>`, without a selector, and an EndpointSlice that leads to where subletd listens.
//
// Only if the virtual cluster has an address for pods (VirtualCluster::pod_access). Blocking. Threads: one.
#pragma once

#include <span>
#include <string>

#include "cluster/host/host.h"

namespace sublet::cluster {

/// Kinds to sweep, by the labels of host_selector().
std::span<const kube::Resource> pod_access_resources();

/// Creates or updates them and returns the Service's cluster IP. A lost Service gets its old address again if it is
/// still free.
Result<std::string> keep_pod_access(const Host& host, const VirtualCluster& cluster, bool dns = true,
                                    const patches::ExtraMetadata& extra = {});

/// The two objects as they should be. Pure.
schema::Document pod_access_service(const VirtualCluster& cluster, bool dns = true,
                                    const patches::ExtraMetadata& extra = {});
schema::Document pod_access_slice(const VirtualCluster& cluster, bool dns = true);

}  // namespace sublet::cluster
