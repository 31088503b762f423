// Host: the host cluster as a command sees it: the embedded one, started on demand, or one by kubeconfig; and the host
// objects that belong to a virtual cluster as such (namespace, workload service account), made and swept here.
// Blocking. Threads: one.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/syncer/virtual_cluster.h"

namespace sublet::cli {

struct Host {
  kube::ClusterAccess access;
  std::string context;  // as in context names
  bool embedded = false;
  kube::Client client;
};

/// Starts the embedded host when it does not run, and waits until it is ready.
Result<Host> embedded_host(const EmbeddedHostShape& shape, std::chrono::seconds timeout);
/// From a kubeconfig; checks that it answers.
Result<Host> host_from_kubeconfig(const std::string& path, const std::string& context);
/// The host that a virtual cluster stands on, by its own host.kubeconfig.
Result<Host> host_of(const syncer::VirtualCluster& cluster);

/// Namespace and service account without rights; both may be there already.
Outcome prepare_host(const Host& host, const syncer::VirtualCluster& cluster);
/// Removes every object of this virtual cluster, by its uid label; pods first; then the service account, and the
/// namespace when sublet made it and nobody else's objects are in it. Waits until all is gone.
Outcome sweep_host(const Host& host, const syncer::VirtualCluster& cluster, std::chrono::seconds timeout);

}  // namespace sublet::cli
