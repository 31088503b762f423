#include "cluster/local/local_driver.h"

#include "cluster/local/daemon.h"
#include "cluster/local/records.h"
#include "cluster/local/status.h"

namespace sublet::cluster {

std::unique_ptr<Driver> make_local_driver(std::string state_folder, HostConnector connect_host) {
  return std::make_unique<LocalDriver>(std::move(state_folder), std::move(connect_host));
}

Records LocalDriver::list() const { return read_records(state_folder_); }

std::vector<ClusterStatus> LocalDriver::status(std::span<const VirtualCluster> clusters,
                                               std::chrono::milliseconds patience) const {
  return ask_all(clusters, embedded_host_.runs(), connect_host_, patience);
}

Result<kube::ClusterAccess> LocalDriver::access(const VirtualCluster& cluster) const {
  if (auto own = check_state_folder(state_folder_); !own) return fail(own.error());
  if (!daemon_runs(cluster.daemon_lock_path()))
    return fail(Reason::service_unavailable, "virtual cluster " + cluster.name +
                                                 " is stopped; start it with: sublet create " + cluster.name + " -n " +
                                                 cluster.host_namespace);
  return kube::load_kubeconfig(cluster.admin_kubeconfig_path());
}

}  // namespace sublet::cluster
