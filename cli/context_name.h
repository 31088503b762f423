// How virtual clusters are called in kubeconfigs: `sublet_<name>_<namespace>_<host context>`. '_' is in no name, so
// that a prefix says whose a context is. Pure.
#pragma once

#include <string>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cli {

/// What every context of ours begins with.
inline constexpr const char* kContextPrefix = "sublet_";

/// What every context of this virtual cluster begins with, whatever its host.
inline std::string context_prefix(const std::string& name, const std::string& host_namespace) {
  return kContextPrefix + name + "_" + host_namespace + "_";
}

/// Where it stands, for people.
inline std::string host_text(const cluster::VirtualCluster& cluster) {
  return cluster.embedded_host ? "embedded" : cluster.host_context;
}

inline std::string context_name(const cluster::VirtualCluster& cluster) {
  return context_prefix(cluster.name, cluster.host_namespace) + cluster.host_context;
}

}  // namespace sublet::cli
