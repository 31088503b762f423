#include "cluster/objects/workload_account.h"

#include "cluster/host/host_manifest.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

// The Secrets by which images are pulled for all pods of the virtual cluster; vcluster.yaml has two places for them.
void put_pull_secrets(Value account, const patches::ControlPlane& wanted) {
  for (const auto* named : {&wanted.syncer_account.pull_secrets, &wanted.workload_account.pull_secrets}) {
    if (named->empty()) continue;
    const auto secrets = Document::parse_json(*named);
    if (!secrets) continue;  // load() has written it
    for (const Value secret : secrets->root()) {
      if (!account.has("imagePullSecrets")) account.array("imagePullSecrets");
      account["imagePullSecrets"].push_object().set(secret);
    }
  }
}

}  // namespace

Document workload_account(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  Document account = host_manifest(cluster, "v1", "ServiceAccount", cluster.host_service_account,
                                   with_global(config, config.control_plane.workload_account.metadata));
  account.root().put("automountServiceAccountToken", false);
  put_pull_secrets(account.root(), config.control_plane);
  return account;
}

Outcome ensure_workload_account(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const Document account = workload_account(cluster, config);
  const auto made = host.client.create(kServiceAccounts, cluster.host_namespace, account.root());
  if (made) return {};
  if (!made.error().is(Reason::already_exists)) return fail(made.error());
  const auto there = host.client.get(kServiceAccounts, cluster.host_namespace, cluster.host_service_account);
  if (!there) return fail(there.error());
  if (there->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() == cluster.uid) return {};
  return fail(Reason::already_exists,
              "ServiceAccount " + cluster.host_service_account + " is there, and is not of virtual cluster " +
                  cluster.name + " (" + host_selector(cluster) +
                  "); its pods would run with whatever rights it has. Remove it, or take another name");
}

}  // namespace sublet::cluster
