// ExportedAccess: vcluster.yaml's exportKubeConfig: kubeconfigs that are written into Secrets of the host, for GitOps
// tools there. Values; immutable once a template is loaded.
#pragma once

#include <string>

namespace sublet::patches {

/// Of the virtual cluster: whose token the kubeconfig has.
struct ExportedAccount {
  std::string name;                            // "": sublet's own, an administrator
  std::string tenant_namespace, cluster_role;  // "": kube-system; bound to nothing
};

struct ExportedKubeconfig {
  std::string secret_name, secret_namespace;  // "": vc-NAME; the virtual cluster's host namespace
  std::string context, server;                // "": the virtual cluster's name; where pods of the host reach it
  bool insecure = false;                      // its certificate is not verified
  ExportedAccount account;
  bool given() const {
    return !secret_name.empty() || !secret_namespace.empty() || !context.empty() || !server.empty() || insecure ||
           !account.name.empty();
  }
};

}  // namespace sublet::patches
