// ExportedAccess: Secrets of the host with a kubeconfig of the virtual cluster (sublet/patches/exported_access.h), as
// GitOps tools there want them: keys `config`, `certificate-authority`, `token`. The token is of an account in the
// virtual cluster; deleting that takes the access back. Blocking where it writes.
#pragma once

#include <vector>

#include "cluster/host/host.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

/// Those that the template asks for, with defaults filled in.
std::vector<patches::ExportedKubeconfig> exports_of(const VirtualCluster& cluster, const patches::SyncConfig& config);
/// Of controlPlane.serviceMonitor: its token may read the API server's metrics.
std::string metrics_secret_name(const VirtualCluster& cluster);
/// What makes the account in the virtual cluster: itself, and perhaps a ClusterRoleBinding.
std::vector<schema::Document> account_manifests(const patches::ExportedAccount& account);
/// The Secret, with the access that an administrator of the virtual cluster has but for whose it is.
schema::Document export_secret(const VirtualCluster& cluster, const patches::SyncConfig& config,
                               const patches::ExportedKubeconfig& wanted, const kube::ClusterAccess& admin,
                               const std::string& token);
/// Makes the Secrets that are missing and replaces those that differ. The virtual cluster runs; `admin` is an
/// administrator's access to it.
Outcome export_access(const Host& host, const VirtualCluster& cluster, const kube::ClusterAccess& admin);

}  // namespace sublet::cluster
