// LocalDriver: virtual clusters as processes of this machine, each with a folder under one state folder.
//
//   clusters/<host namespace>/<name>/   one virtual cluster (local_layout.h)
//   host/                               the embedded host: its data, admin.kubeconfig, daemon.lock
// Folders are 0700, files 0600.
#pragma once

#include <memory>
#include <string>

#include "sublet/cluster/driver.h"
#include "sublet/cluster/host_connector.h"

namespace sublet::cluster {

/// `state_folder`: absolute; one that is unsafe (another user's, or replaceable by others) is refused by every call.
std::unique_ptr<Driver> make_local_driver(std::string state_folder, HostConnector connect_host);

}  // namespace sublet::cluster
