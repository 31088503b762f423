// LocalDriver: virtual clusters as processes of this machine, each with a folder under one state folder.
//
//   clusters/<host namespace>/<name>/   one virtual cluster (virtual_cluster.h)
//   host/                               the embedded host: its data, admin.kubeconfig, daemon.lock
// Folders are 0700, files 0600.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/cluster/driver.h"

namespace sublet::cluster {

/// How the host's API is spoken to: the caller's choice, so that no driver brings an HTTP client of its own.
using HostConnector = std::function<Result<std::shared_ptr<net::Transport>>(const kube::ClusterAccess&)>;

/// $SUBLET_STATE_DIR, else $XDG_STATE_HOME/sublet, else ~/.local/state/sublet; absolute.
std::string default_state_folder();

std::unique_ptr<Driver> make_local_driver(std::string state_folder, HostConnector connect_host);

}  // namespace sublet::cluster
