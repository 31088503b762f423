// FirstObjects: the objects that a template creates in a virtual cluster (experimental.deploy.vcluster.manifests), at
// create and at each start: applied as by `kubectl apply --server-side`, in the file's order. An object waits for a
// kind or namespace that another of them makes. An object that is removed from the template stays in the virtual
// cluster. Blocking.
#pragma once

#include <chrono>
#include <vector>

#include "sublet/cluster/virtual_cluster.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

/// Each with apiVersion, kind, name and, where the text has one, namespace.
std::vector<schema::Document> first_objects(const patches::SyncConfig& config);
/// The virtual cluster runs; `admin` is an administrator's access to it.
Outcome apply_first_objects(const VirtualCluster& cluster, const kube::ClusterAccess& admin,
                            std::chrono::steady_clock::time_point deadline);

}  // namespace sublet::cluster
