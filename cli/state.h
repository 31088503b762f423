// State: where the CLI keeps what it knows: $SUBLET_STATE_DIR, else $XDG_STATE_HOME/sublet, else ~/.local/state/sublet.
//
//   clusters/<host namespace>/<name>/   one virtual cluster (include/sublet/syncer/virtual_cluster.h)
//   host/                               the embedded host: its data, admin.kubeconfig, daemon.lock
//   previous-contexts.json              what `disconnect` goes back to, by kubeconfig file
// Folders are 0700, files 0600. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/syncer/virtual_cluster.h"

namespace sublet::cli {

std::string state_folder();
std::string cluster_folder(const std::string& host_namespace, const std::string& name);
std::string embedded_host_folder();

/// A record that cannot be read; where it lies says whose it is.
struct DamagedRecord {
  std::string name, host_namespace, folder, why;
};
struct Records {
  std::vector<syncer::VirtualCluster> clusters;  // by namespace and name
  std::vector<DamagedRecord> damaged;
};
Records all_records();
/// The damaged record of that name, and namespace when given.
std::optional<DamagedRecord> find_damaged(const std::string& name, const std::string& host_namespace);
/// By name, and namespace when given. not_found names the nearest; bad_request when the name alone is ambiguous;
/// internal_error when its record is damaged.
Result<syncer::VirtualCluster> find_cluster(const std::string& name, const std::string& host_namespace);

/// `sublet_<name>_<namespace>_<host context>`.
std::string context_name(const syncer::VirtualCluster& cluster);

}  // namespace sublet::cli
