// Removing: the daemons, then the objects on the host, then the record; each step can be repeated.
#include <algorithm>

#include "cluster/local/daemon.h"
#include "cluster/local/local_driver.h"
#include "cluster/local/records.h"
#include "cluster/sweep.h"

namespace sublet::cluster {

// A damaged record may be of one in it.
bool LocalDriver::others_in_namespace(const VirtualCluster& cluster) const {
  const Records records = list();
  return std::ranges::any_of(records.clusters,
                             [&](const auto& other) {
                               return other.uid != cluster.uid && other.host_namespace == cluster.host_namespace &&
                                      other.host_context == cluster.host_context;
                             }) ||
         std::ranges::any_of(records.damaged,
                             [&](const auto& other) { return other.host_namespace == cluster.host_namespace; });
}

bool LocalDriver::last_on_embedded_host(const VirtualCluster& cluster) const {
  const Records records = list();  // a damaged one may be on it
  return records.damaged.empty() && std::ranges::none_of(records.clusters, [&](const auto& other) {
           return other.embedded_host && other.uid != cluster.uid;
         });
}

Outcome LocalDriver::sweep(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) {
  auto host =
      cluster.embedded_host ? embedded({}, options.patience, progress) : host_of(connect_host_, cluster, options.host);
  auto swept =
      host ? sweep_host(*host, cluster, !others_in_namespace(cluster), options.patience, progress) : fail(host.error());
  if (swept) return swept;
  const std::string what_stays = "host objects (label " + host_selector(cluster) + ")";
  if (options.force) {
    progress.warn(swept.error().message + "; going on because of --force: its " + what_stays + " stay");
    return {};
  }
  Status status = swept.error();
  status.message += "; --force forgets the virtual cluster and leaves its " + what_stays;
  return fail(std::move(status));
}

Outcome LocalDriver::remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) {
  if (auto own = check_state_folder(state_folder_); !own) return own;
  progress.begin("stop virtual cluster " + cluster.name);
  if (auto stopped = stop(cluster); !stopped) return stopped;
  progress.begin("remove its objects from the host");
  if (auto swept = sweep(cluster, options, progress); !swept) return swept;
  progress.begin("remove its state");
  progress.leaving(cluster.name, cluster.host_namespace);
  const bool stop_host = cluster.embedded_host && !options.keep_host && last_on_embedded_host(cluster);
  if (auto removed = remove_cluster_folder(cluster.folder); !removed || !stop_host) return removed;
  progress.begin("stop embedded host");
  return embedded_host_.remove();
}

Outcome LocalDriver::remove_damaged(const DamagedRecord& record, Progress& progress) {
  progress.begin("stop virtual cluster " + record.name);
  if (auto stopped = stop_daemons(record.folder); !stopped) return stopped;
  progress.begin("remove its state");
  progress.leaving(record.name, record.host_namespace);
  if (auto removed = remove_cluster_folder(record.folder); !removed) return removed;
  progress.warn("host objects in namespace " + record.host_namespace + " with label " +
                std::string(syncer::kLabelManagedBy) + "=" + record.name + " stay");
  return {};
}

}  // namespace sublet::cluster
