// Removing: the daemons, then the objects on the host, then the record; each step can be repeated.
#include <algorithm>

#include "cluster/lifecycle/sweep.h"
#include "cluster/local/cluster_lock.h"
#include "cluster/local/local_driver.h"

namespace sublet::cluster {

namespace {

constexpr std::chrono::seconds kDamagedPatience{60};  // for another command on a virtual cluster with a damaged record

}  // namespace

// A damaged record counts, because it may be of a virtual cluster in the namespace.
bool LocalDriver::others_in_namespace(const VirtualCluster& cluster) const {
  const Records records = read_records(state_folder_);
  return std::ranges::any_of(records.clusters,
                             [&](const auto& other) {
                               return other.uid != cluster.uid && other.host_namespace == cluster.host_namespace &&
                                      other.host_context == cluster.host_context;
                             }) ||
         std::ranges::any_of(records.damaged,
                             [&](const auto& other) { return other.host_namespace == cluster.host_namespace; });
}

bool LocalDriver::last_on_embedded_host(const VirtualCluster& cluster) const {
  const Records records = read_records(state_folder_);  // a damaged one may be on it
  return records.damaged.empty() && std::ranges::none_of(records.clusters, [&](const auto& other) {
           return other.embedded_host && other.uid != cluster.uid;
         });
}

Outcome LocalDriver::sweep(const LocalCluster& cluster, const RemoveOptions& options, Progress& progress) {
  const VirtualCluster& record = cluster.record;
  auto host = record.embedded_host ? embedded({}, options.patience, progress) : recorded_host(cluster, options.host);
  auto swept =
      host ? sweep_host(*host, record, !others_in_namespace(record), options.patience, progress) : fail(host.error());
  if (swept) return swept;
  const std::string what_stays = "host objects (label " + host_selector(record) + ")";
  if (options.force) {
    progress.warn(swept.error().message + "; going on because of --force: its " + what_stays + " stay");
    return {};
  }
  Status status = swept.error();
  status.message += "; --force forgets the virtual cluster and leaves its " + what_stays;
  return fail(std::move(status));
}

// Marks the record, so that nothing starts the virtual cluster again. False: another command has deleted it.
Result<bool> LocalDriver::begin_removal(LocalCluster& cluster) {
  auto record = cluster.layout.load();
  if (!record && record.error().is(Reason::not_found)) return false;
  if (!record) return fail(record.error());
  if (record->uid != cluster.record.uid)
    return fail(Reason::conflict, "virtual cluster " + record->name + " in namespace " + record->host_namespace +
                                      " was deleted and created again while this command waited; run it again to "
                                      "delete the new one");
  cluster.record = std::move(*record);
  cluster.record.deleting = true;
  (void)cluster.layout.save(cluster.record);  // a full disk must not prevent a deletion
  return true;
}

// Removes the record, and the embedded host with its last virtual cluster. Exclusive: two deletes at once would each
// take the other for a user of the host.
Outcome LocalDriver::remove_state(const LocalCluster& cluster, bool keep_host, Progress& progress) {
  if (!cluster.record.embedded_host) return remove_cluster_folder(cluster.layout);
  const auto alone = embedded_host_.lock(EmbeddedHost::Use::exclusive);
  if (!alone) return fail(alone.error());
  const bool stop_host = !keep_host && last_on_embedded_host(cluster.record);
  if (auto removed = remove_cluster_folder(cluster.layout); !removed || !stop_host) return removed;
  progress.begin("stop embedded host");
  return embedded_host_.remove();
}

Outcome LocalDriver::remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) {
  if (auto own = check_own_folder(); !own) return own;
  LocalCluster deleted = local(cluster);
  progress.begin("stop virtual cluster " + cluster.name);
  const auto lock = ClusterLock::take(deleted.layout, options.patience);
  if (!lock) return fail(lock.error());
  const auto begun = begin_removal(deleted);
  if (!begun) return fail(begun.error());
  if (!*begun) return {};
  if (auto stopped = stop_daemons(deleted.layout); !stopped) return stopped;
  progress.begin("remove its objects from the host");
  if (auto swept = sweep(deleted, options, progress); !swept) return swept;
  progress.begin("remove its state");
  progress.leaving(cluster.name, cluster.host_namespace);
  return remove_state(deleted, options.keep_host, progress);
}

Outcome LocalDriver::remove_damaged(const DamagedRecord& record, Progress& progress) {
  const LocalLayout layout = layout_of(record.name, record.host_namespace);
  progress.begin("stop virtual cluster " + record.name);
  const auto lock = ClusterLock::take(layout, kDamagedPatience);
  if (!lock) return fail(lock.error());
  if (auto stopped = stop_daemons(layout); !stopped) return stopped;
  progress.begin("remove its state");
  progress.leaving(record.name, record.host_namespace);
  if (auto removed = remove_cluster_folder(layout); !removed) return removed;
  progress.warn("host objects in namespace " + record.host_namespace + " with label " +
                std::string(syncer::kLabelManagedBy) + "=" + record.name + " stay");
  return {};
}

}  // namespace sublet::cluster
