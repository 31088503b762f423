// Pod access: how the pods of a virtual cluster reach their API server and their DNS server: a Service on the host,
// `sublet-<name>`, without a selector, and an EndpointSlice that leads to where subletd listens.
//
// Only where the virtual cluster has an address for that (VirtualCluster::pod_access). Blocking. Threads: one.
#pragma once

#include <span>
#include <string>

#include "cluster/host.h"

namespace sublet::cluster {

/// Kinds to sweep, by the labels of host_selector().
std::span<const kube::Resource> pod_access_resources();

/// Makes them, or brings them to what the record says; gives the Service's address, which a Service that was lost gets
/// again when the host still can.
Result<std::string> keep_pod_access(const Host& host, const VirtualCluster& cluster, bool dns = true,
                                    const patches::ExtraMetadata& extra = {});

/// The two objects, as they are to be. Pure.
schema::Document pod_access_service(const VirtualCluster& cluster, bool dns = true,
                                    const patches::ExtraMetadata& extra = {});
schema::Document pod_access_slice(const VirtualCluster& cluster, bool dns = true);

}  // namespace sublet::cluster
