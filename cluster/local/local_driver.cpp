#include "cluster/local/local_driver.h"

#include "cluster/local/daemon.h"
#include "cluster/local/records.h"
#include "cluster/local/status.h"
#include "sublet/kube/client.h"
#include "sublet/net/http_client.h"
#include "sublet/net/loop.h"

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

Result<std::vector<Certificate>> LocalDriver::certificates(const VirtualCluster& cluster) const {
  return read_certificates(cluster.api_folder());
}

Result<bool> LocalDriver::rotate_certificates(const VirtualCluster& cluster) {
  if (auto own = check_state_folder(state_folder_); !own) return fail(own.error());
  if (auto forgotten = forget_certificates(cluster.api_folder()); !forgotten) return fail(forgotten.error());
  if (!daemon_runs(cluster.daemon_lock_path())) return false;
  net::LoopThread loop("rotate");
  net::Endpoint socket;
  socket.unix_path = cluster.socket_path();
  const kube::Client client(net::make_http_client(loop.loop(), std::move(socket)), {});
  const auto answer = client.raw("POST", std::string(kRereadCertificates));
  const std::string again = "; the old ones are taken away from " + cluster.api_folder() +
                            ", and no longer count once the API server has started again";
  if (!answer)
    return fail(Reason::service_unavailable, "the API server does not answer: " + answer.error().message + again);
  if (answer->code == 403 || answer->code == 404)
    return fail(Reason::service_unavailable, "the API server that runs is of an earlier version" + again);
  if (answer->code != 200)
    return fail(Reason::internal_error,
                "the API server answers " + std::to_string(answer->code) + ": " + answer->body + again);
  return true;
}

}  // namespace sublet::cluster
