#include "cluster/local/local_driver.h"

#include "cluster/local/daemon.h"
#include "cluster/local/records.h"
#include "cluster/local/status.h"
#include "sublet/kube/account_token.h"
#include "sublet/kube/client.h"
#include "sublet/net/http_client.h"
#include "sublet/net/loop.h"

namespace sublet::cluster {

std::unique_ptr<Driver> make_local_driver(std::string state_folder, HostConnector connect_host) {
  return std::make_unique<LocalDriver>(std::move(state_folder), std::move(connect_host));
}

Result<Records> LocalDriver::list() const {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  return read_records(state_folder_);
}

LocalLayout LocalDriver::layout_of(const std::string& name, const std::string& host_namespace) const {
  return cluster::layout_of(state_folder_, host_namespace, name);
}

LocalCluster LocalDriver::local(const VirtualCluster& cluster) const {
  return {cluster, layout_of(cluster.name, cluster.host_namespace)};
}

LogPlaces LocalDriver::logs(const std::string& name, const std::string& host_namespace) const {
  const LocalLayout layout = layout_of(name, host_namespace);
  LogPlaces places{layout.log_path("*"), {}};
  for (const char* daemon : kDaemons) places.by_daemon[daemon] = layout.log_path(daemon);
  return places;
}

std::vector<ClusterStatus> LocalDriver::status(std::span<const VirtualCluster> clusters,
                                               std::chrono::milliseconds patience) const {
  std::vector<LocalCluster> all;
  for (const VirtualCluster& cluster : clusters) all.push_back(local(cluster));
  return ask_all(all, embedded_host_.runs(), connect_host_, patience);
}

Result<kube::ClusterAccess> LocalDriver::access(const VirtualCluster& cluster) const {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  const LocalLayout layout = local(cluster).layout;
  if (!daemon_runs(layout.daemon_lock_path()))
    return fail(Reason::service_unavailable, "virtual cluster " + cluster.name +
                                                 " is stopped; start it with: sublet create " + cluster.name + " -n " +
                                                 cluster.host_namespace);
  return kube::load_kubeconfig(layout.admin_kubeconfig_path());
}

Result<kube::ClusterAccess> LocalDriver::syncer_access(const VirtualCluster& cluster) const {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  const LocalLayout layout = local(cluster).layout;
  auto access = kube::load_kubeconfig(layout.host_kubeconfig_path());
  if (!access) return access;
  if (const auto token = kube::load_account_token(layout.host_token_path())) access->bearer_token = token->token;
  return access;
}

Result<std::string> LocalDriver::node_names_key(const VirtualCluster& cluster) const {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  return local(cluster).layout.node_names_key();
}

Result<AuditReport> LocalDriver::check_audit(const VirtualCluster& cluster, const std::string& head) const {
  const std::string folder = local(cluster).layout.audit_folder();
  auto check = syncer::check_host_audit(folder, head);
  if (!check) return fail(check.error());
  return AuditReport{folder, std::move(*check)};
}

Result<std::vector<Certificate>> LocalDriver::certificates(const VirtualCluster& cluster) const {
  return read_certificates(local(cluster).layout.api_folder());
}

Result<bool> LocalDriver::rotate_certificates(const VirtualCluster& cluster) {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  const LocalLayout layout = local(cluster).layout;
  if (auto forgotten = forget_certificates(layout.api_folder()); !forgotten) return fail(forgotten.error());
  if (!daemon_runs(layout.daemon_lock_path())) return false;
  net::LoopThread loop("rotate");
  net::Endpoint socket;
  socket.unix_path = layout.socket_path();
  const kube::Client client(net::make_http_client(loop.loop(), std::move(socket)), {});
  const auto answer = client.raw("POST", std::string(kRereadCertificates));
  const std::string again = "; the old ones are removed from " + layout.api_folder() +
                            " and are refused once the API server has started again";
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
