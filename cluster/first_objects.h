// FirstObjects: what a template puts into a virtual cluster itself, when it is made and whenever it is started again
// (experimental.deploy.vcluster.manifests): applied as a person would by `kubectl apply --server-side`, in the file's
// order; a kind or namespace that another of them brings is waited for. What is taken out of a template stays.
// Blocking.
#pragma once

#include <chrono>
#include <vector>

#include "sublet/cluster/virtual_cluster.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

/// Each with apiVersion, kind, name and, where the text has one, namespace.
std::vector<schema::Document> first_objects(const patches::SyncConfig& config);
/// The virtual cluster runs.
Outcome apply_first_objects(const VirtualCluster& cluster, std::chrono::steady_clock::time_point deadline);

}  // namespace sublet::cluster
