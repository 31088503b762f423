// Records: the virtual clusters of a state folder, as their files say. Pure functions over files. Threads: one.
#pragma once

#include <string>

#include "sublet/cluster/driver.h"
#include "sublet/cluster/local_layout.h"

namespace sublet::cluster {

/// A virtual cluster of this machine and its folder.
struct LocalCluster {
  VirtualCluster record;
  LocalLayout layout;
};

LocalLayout layout_of(const std::string& state_folder, const std::string& host_namespace, const std::string& name);
/// All of them; a folder without a record is being made or removed and is left out.
Records read_records(const std::string& state_folder);
/// Removes all but the lock, the record last: an interrupted removal can be repeated, and no later create finds an old
/// store.
Outcome empty_cluster_folder(const LocalLayout& layout);
/// Removes the folder of a virtual cluster, and the namespace's when it was the last in it. A command that waits for
/// the folder's lock may make it again at once.
Outcome remove_cluster_folder(const LocalLayout& layout);

/// Refuses a state folder of another user, or one that others can replace: they could decide which of our processes are
/// started, stopped and deleted.
Outcome check_state_folder(const std::string& state_folder);

}  // namespace sublet::cluster
