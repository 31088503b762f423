#include "cluster/sweep.h"

#include "cluster/wait_until.h"
#include "sublet/syncer/host_footprint.h"

namespace sublet::cluster {
namespace {

using schema::Value;
using std::chrono::steady_clock;

Outcome delete_all(const Host& host, const VirtualCluster& cluster, const kube::Resource& resource,
                   std::optional<int> grace, std::size_t& left) {
  auto listed = host.client.list(resource, cluster.host_namespace, {.label_selector = host_selector(cluster)});
  if (!listed) return fail(listed.error());
  left = listed->root()["items"].size();
  for (const Value item : listed->root()["items"]) {
    const Value metadata = item["metadata"];
    if (metadata.has("deletionTimestamp") && !grace) continue;
    kube::DeleteOptions options;
    options.uid = metadata["uid"].string();
    options.grace_period_seconds = grace;
    const auto removed = host.client.remove(resource, cluster.host_namespace, metadata["name"].text(), options);
    if (!removed && !removed.error().is(Reason::not_found) && !removed.error().is(Reason::conflict))
      return fail(removed.error());
  }
  return {};
}

// Deletes and waits; what may take its time and does not end within half of ours is removed without grace.
Outcome sweep_resource(const Host& host, const VirtualCluster& cluster, const syncer::Swept& swept,
                       steady_clock::time_point deadline) {
  const auto impatient = steady_clock::now() + (deadline - steady_clock::now()) / 2;
  Outcome outcome;
  std::size_t left = 0;
  const bool gone = wait_until(deadline, [&] {
    const bool force = swept.ends_with_grace && steady_clock::now() > impatient;
    outcome = delete_all(host, cluster, swept.resource, force ? std::optional(0) : std::nullopt, left);
    return !outcome || left == 0;
  });
  if (!outcome) return outcome;
  if (!gone)
    return fail(Reason::timeout, std::to_string(left) + " " + swept.resource.resource + " of " + cluster.name +
                                     " in host namespace " + cluster.host_namespace +
                                     " do not go away; run the command again, or look at their finalizers");
  return {};
}

// Other people's objects keep a namespace alive; what every namespace gets by itself does not.
bool only_defaults_left(const Host& host, const std::string& host_namespace) {
  for (const syncer::Swept& swept : syncer::swept_from_host()) {
    const auto listed = host.client.list(swept.resource, host_namespace);
    if (!listed) return false;
    for (const Value item : listed->root()["items"])
      if (item["metadata"]["name"].text() != "kube-root-ca.crt") return false;
  }
  return true;
}

Outcome remove_namespace(const Host& host, const std::string& host_namespace, steady_clock::time_point deadline) {
  const auto removed = host.client.remove(kNamespaces, "", host_namespace);
  if (!removed && !removed.error().is(Reason::not_found) && !removed.error().is(Reason::conflict))
    return fail(removed.error());
  const bool gone = wait_until(deadline, [&] {
    const auto there = host.client.get(kNamespaces, "", host_namespace);
    return !there && there.error().is(Reason::not_found);
  });
  if (!gone) return fail(Reason::timeout, "host namespace " + host_namespace + " is still terminating");
  return {};
}

}  // namespace

Outcome sweep_host(const Host& host, const VirtualCluster& cluster, bool may_take_namespace,
                   std::chrono::seconds patience, Progress&) {
  const auto deadline = steady_clock::now() + patience;
  for (const syncer::Swept& one : syncer::swept_from_host())
    if (auto swept = sweep_resource(host, cluster, one, deadline); !swept) return swept;
  const auto removed = host.client.remove(kServiceAccounts, cluster.host_namespace, cluster.host_service_account);
  if (!removed && !removed.error().is(Reason::not_found)) return fail(removed.error());
  if (!may_take_namespace || !made_by_sublet(host, cluster.host_namespace)) return {};
  if (!only_defaults_left(host, cluster.host_namespace)) return {};
  return remove_namespace(host, cluster.host_namespace, deadline);
}

}  // namespace sublet::cluster
