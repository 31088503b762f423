// Host: a host cluster, with the access by which a driver works on it. Blocking. Threads: one.
#pragma once

#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/driver.h"
#include "sublet/cluster/host_connector.h"
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

/// The embedded host, by the access that it wrote.
Result<Host> embedded_host(const HostConnector& connect, kube::ClusterAccess access);
/// From a kubeconfig; checks that it answers.
Result<Host> host_from_kubeconfig(const HostConnector& connect, const std::string& path, const std::string& context);
/// Warns when the host's certificate is not verified.
void warn_if_unverified(const Host& host, Progress& progress);
/// The host of a virtual cluster, with its operator's access: by the kubeconfig that `choice` names, else the one that
/// create was given. `stored`: the host's address as the record's owner keeps it. conflict when the kubeconfig is of
/// another host.
Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster, const kube::ClusterAccess& stored,
                     const HostChoice& choice);

}  // namespace sublet::cluster
