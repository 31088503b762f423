// Records: the virtual clusters of a state folder, as their files tell. Pure functions over files. Threads: one.
#pragma once

#include <string>

#include "sublet/cluster/driver.h"

namespace sublet::cluster {

std::string cluster_folder(const std::string& state_folder, const std::string& host_namespace, const std::string& name);
/// All of them; a folder without a record is being made or removed and is left out.
Records read_records(const std::string& state_folder);
/// Held by whoever creates or starts it (create_claim.h).
std::string create_lock_path(const std::string& folder);
/// Removes all but the lock, the record last: what was cut off can be repeated, and no later create finds an old store.
Outcome empty_cluster_folder(const std::string& folder);
/// Removes the folder of a virtual cluster, and the namespace's when it was the last in it.
Outcome remove_cluster_folder(const std::string& folder);

/// Refuses a state folder of somebody else: its owner could say which processes of ours are started, stopped and
/// swept.
Outcome check_state_folder(const std::string& state_folder);

}  // namespace sublet::cluster
