#include "cluster/lifecycle/prepare_host.h"

#include "cluster/host/host_manifest.h"
#include "cluster/host/host_namespace.h"
#include "cluster/host/owner.h"
#include "cluster/objects/api_access.h"
#include "cluster/objects/identity.h"
#include "cluster/objects/pod_access.h"
#include "cluster/objects/policies.h"
#include "cluster/objects/workload_account.h"

namespace sublet::cluster {
namespace {

Outcome open_to_pods(const Host& host, VirtualCluster& cluster, const patches::SyncConfig& config) {
  if (!cluster.pod_access.given()) return {};
  const auto address =
      keep_pod_access(host, cluster, config.cluster_dns, with_global(config, config.control_plane.dns_service));
  if (!address) return fail(address.error());
  cluster.pod_access.service_address = *address;
  return {};
}

}  // namespace

Outcome prepare_host(const Host& host, VirtualCluster& cluster, const std::string& place,
                     std::chrono::steady_clock::time_point deadline, Progress& progress) {
  auto prepared = ensure_namespace(host, cluster, deadline, progress);
  if (prepared) prepared = take_name(host, cluster, place);
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  if (prepared) prepared = ensure_workload_account(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = open_to_pods(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = keep_api_access(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = keep_identity(host, cluster, progress);
  if (prepared) prepared = keep_policies(host, cluster);
  if (prepared) return prepared;
  Status status = prepared.error();
  status.message = "on the host of context " + host.context + ": " + status.message;
  if (status.is(Reason::unauthorized)) status.message += "; are the credentials in its kubeconfig valid?";
  return fail(std::move(status));
}

}  // namespace sublet::cluster
