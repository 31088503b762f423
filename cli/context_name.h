// Names of virtual clusters in kubeconfigs: `sublet_<name>_<namespace>_<host context>`. No name contains '_', so a
// prefix identifies the virtual cluster of a context. Pure.
#pragma once

#include <string>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cli {

/// The prefix of every context of sublet.
inline constexpr const char* kContextPrefix = "sublet_";

/// The prefix of every context of this virtual cluster, on any host.
inline std::string context_prefix(const std::string& name, const std::string& host_namespace) {
  return kContextPrefix + name + "_" + host_namespace + "_";
}

/// Its host, for people.
inline std::string host_text(const cluster::VirtualCluster& cluster) {
  return cluster.embedded_host ? "embedded" : cluster.host_context;
}

inline std::string context_name(const cluster::VirtualCluster& cluster) {
  return context_prefix(cluster.name, cluster.host_namespace) + cluster.host_context;
}

}  // namespace sublet::cli
