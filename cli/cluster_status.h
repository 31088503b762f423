// ClusterStatus: what a virtual cluster is doing right now, by asking it. Threads: one.
#pragma once

#include <string>

#include "sublet/syncer/virtual_cluster.h"

namespace sublet::cli {

struct ClusterStatus {
  std::string status;      // Running, Starting, Stopped
  std::string version;     // Kubernetes version it serves; "-" when it does not answer
  bool connected = false;  // the current kubeconfig context is its
};

ClusterStatus probe(const syncer::VirtualCluster& cluster, const std::string& current_context);
/// The current context of the user's kubeconfig, "" when there is none.
std::string current_context();

}  // namespace sublet::cli
