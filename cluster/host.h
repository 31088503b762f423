// Host: the cluster that a virtual cluster stands on, as a driver sees it, and the objects there that belong to a
// virtual cluster as such (namespace, workload service account). sweep.h takes them and all others away again.
// Blocking. Threads: one.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/local_driver.h"
#include "sublet/kube/client.h"

namespace sublet::cluster {

inline const kube::Resource kNamespaces{"", "v1", "namespaces"};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};

struct Host {
  kube::ClusterAccess access;
  std::string context;  // as in context names
  bool embedded = false;
  kube::Client client;
  std::string kubeconfig{};  // the files that it came from, absolute; "": embedded
};

/// The embedded host, by the access that it gave.
Result<Host> embedded_host(const HostConnector& connect, kube::ClusterAccess access);
/// From a kubeconfig; checks that it answers.
Result<Host> host_from_kubeconfig(const HostConnector& connect, const std::string& path, const std::string& context);
/// Says so when the host's certificate is not verified.
void tell_of_unverified(const Host& host, Progress& progress);
/// The host that a virtual cluster stands on, as its operator: by the kubeconfig that `choice` names, else the one that
/// create was given. conflict when that one is of another host.
Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster, const HostChoice& choice);

/// Namespace, the name in it (owner.h), a service account without rights, what leads pods and people to the API server
/// (pod_access.h, whose address it writes into the record; api_access.h), the syncer's identity (identity.h), and what
/// the template's policies keep there; all but the name may be there already. Waits for the end of a namespace of that
/// name that is terminating.
Outcome prepare_host(const Host& host, VirtualCluster& cluster, std::chrono::steady_clock::time_point deadline,
                     Progress& progress);
/// The account without rights, under which tenants' pods run there.
schema::Document workload_account(const VirtualCluster& cluster, const patches::SyncConfig& config);
/// Of the namespace when it carries the mark that sublet made it.
std::optional<std::string> uid_of_namespace_by_sublet(const Host& host, const std::string& host_namespace);
bool wait_until_namespace_is_gone(const Host& host, const std::string& host_namespace,
                                  std::chrono::steady_clock::time_point deadline);

}  // namespace sublet::cluster
