// Host: the cluster that a virtual cluster stands on, as a driver sees it, and the objects there that belong to a
// virtual cluster as such (namespace, workload service account). sweep.h takes them and all others away again.
// Blocking. Threads: one.
#pragma once

#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/local_driver.h"
#include "sublet/kube/client.h"

namespace sublet::cluster {

struct Host {
  kube::ClusterAccess access;
  std::string context;  // as in context names
  bool embedded = false;
  kube::Client client;
};

/// The embedded host, by the access that it gave.
Result<Host> embedded_host(const HostConnector& connect, kube::ClusterAccess access);
/// From a kubeconfig; checks that it answers.
Result<Host> host_from_kubeconfig(const HostConnector& connect, const std::string& path, const std::string& context);
/// The host that a virtual cluster stands on, by its own host.kubeconfig.
Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster);

/// Namespace and service account without rights; both may be there already.
Outcome prepare_host(const Host& host, const VirtualCluster& cluster);
/// The namespace carries the mark that sublet made it.
bool made_by_sublet(const Host& host, const std::string& host_namespace);

extern const kube::Resource kNamespaces, kServiceAccounts;

}  // namespace sublet::cluster
