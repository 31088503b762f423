#include "syncer/synced_kinds.h"

#include <algorithm>

#include "sublet/syncer/host_footprint.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "syncer/to_host/host_patch.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kAllVerbs = "get list watch create patch delete";
constexpr std::string_view kReadVerbs = "list watch";

bool but_the_api_servers_own(std::string_view tenant_namespace, std::string_view tenant_name) {
  return tenant_namespace != "default" || tenant_name != "kubernetes";
}

std::vector<SyncedKind> all_kinds() {
  return {
      {
          .kind = "Pod",
          .resource = {"", "v1", "pods"},
          .direction = Direction::to_host,
          .crosses = "every pod that admission lets in",
          .host_allocates = "node, addresses, status, records of host components such as runai-gpu-group",
          .wins =
              "the tenant on image, deadline, tolerations and its labels under t.sublet.dev; the host on all that its "
              "webhooks, schedulers and kubelets write, also on keys that a template lets cross as they are",
          .status = "by the rows of PodStatus; binding and deletion by the host come back too",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .host_subresource = "pods/log get",
          .swept = true,
          .ends_with_grace = true,
          .watch_tenant = watch_tenant_pods,
          .watch_host = watch_host_pods,
          .reconcile = reconcile_pod,
          .resync = resync_pods,
          .lane = lane_of_pod,
          .patch_content = patch_pod_spec,
      },
      {
          .kind = "Service",
          .resource = {"", "v1", "services"},
          .direction = Direction::to_host,
          .crosses = "every Service but default/kubernetes",
          .host_allocates = "cluster IPs, node ports, the load balancer's address",
          .wins = "the tenant on the fields that it sets; the host on those that it allocates: the tenant's API server "
                  "gives "
                  "away none (docs/decisions/service-addresses.md)",
          .status = "by the rows of ServiceStatus, and with it the addresses, through every change of type",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_services,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_service,
          .resync = resync_tenant,
          .crosses_to_host = but_the_api_servers_own,
          .patch_content = patch_service_spec,
          .made_anew = true,
      },
      {
          .kind = "ConfigMap",
          .resource = {"", "v1", "configmaps"},
          .direction = Direction::to_host,
          .crosses = "while a pod uses it",
          .host_allocates = "nothing",
          .wins = "the tenant: what differs on the host is put back",
          .status = "it has none",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_used,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_used,
          .patch_content = patch_data,
          .made_anew = true,
      },
      {
          .kind = "Secret",
          .resource = {"", "v1", "secrets"},
          .direction = Direction::to_host,
          .crosses = "while a pod uses it",
          .host_allocates = "nothing",
          .wins = "the tenant: what differs on the host is put back",
          .status = "it has none",
          .host_copy = HostCopy::ours,
          .host_verbs = kAllVerbs,
          .swept = true,
          .watch_tenant = watch_tenant_used,
          .watch_host = watch_host_by_identity,
          .reconcile = reconcile_used,
          .patch_content = patch_data,
          .made_anew = true,
      },
      {
          // Its host objects are Secrets, and come with their copy.
          .kind = "PodToken",
          .resource = {"", "v1", "secrets"},
          .direction = Direction::to_host,
          .crosses = "one Secret for the ServiceAccount tokens of the pods of a namespace that were made together",
          .host_allocates = "nothing",
          .wins = "the tenant's API server, which issues the tokens; renewed at 80 % of their life",
          .status = "it has none",
          .host_verbs = kAllVerbs,
          .swept = true,
          .reconcile = reconcile_token,
      },
      {
          .kind = "Event",
          .resource = {"", "v1", "events"},
          .direction = Direction::from_host,
          .crosses = "events about host pods of this virtual cluster, said again on the tenant's pod",
          .host_allocates = "all",
          .wins = "the host",
          .status = "it has none",
          .host_copy = HostCopy::host_namespace,
          .host_verbs = kReadVerbs,
          .watch_host = watch_host_events,
          .reconcile = reconcile_event,
          .reconcile_past = reconcile_past_event,
          .lane = lane_of_event,
      },
      {
          .kind = "Node",
          .resource = {"", "v1", "nodes"},
          .direction = Direction::from_host,
          .crosses = "every node, or those that the template selects; pods then go only there",
          .host_allocates = "all",
          .wins = "the host: a tenant's writes are refused",
          .status = "the host's, by the same rows",
          .host_copy = HostCopy::cluster,
          .host_verbs = kReadVerbs,
          .watch_tenant = watch_tenant_by_name,
          .watch_host = watch_host_by_name,
          .reconcile = reconcile_mirror,
          .resync = resync_host,
          .wanted = [](const patches::SyncConfig& config) { return config.nodes_from_host; },
          .shown = &patches::SyncConfig::nodes_selector,
          .next_step = "ask whoever runs the host cluster; to choose the nodes of your own pods, give the pods a "
                       "nodeSelector or node affinity",
      },
      {
          .kind = "RuntimeClass",
          .resource = {"node.k8s.io", "v1", "runtimeclasses"},
          .direction = Direction::from_host,
          .crosses = "every class, or those that the template selects; a tenant's first pods may name them, and no "
                     "class of its own",
          .host_allocates = "all",
          .wins = "the host: a tenant's writes are refused",
          .status = "it has none",
          .host_copy = HostCopy::cluster,
          .host_verbs = kReadVerbs,
          .watch_tenant = watch_tenant_by_name,
          .watch_host = watch_host_by_name,
          .reconcile = reconcile_mirror,
          .resync = resync_host,
          .before_others = true,
          .wanted = [](const patches::SyncConfig& config) { return config.runtime_classes_from_host; },
          .shown = &patches::SyncConfig::runtime_classes_selector,
          .next_step = "ask whoever runs the host cluster",
      },
  };
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) all.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

}  // namespace

std::span<const SyncedKind> synced_kinds() {
  static const std::vector<SyncedKind> kinds = all_kinds();
  return kinds;
}

bool is_wanted(const SyncedKind& kind, const TranslateContext& context) {
  return !kind.wanted || !context.resolved_template || kind.wanted(context.resolved_template->config());
}

std::vector<MirroredKind> mirrored_kinds(const TranslateContext& context) {
  std::vector<MirroredKind> mirrored;
  for (const SyncedKind& kind : synced_kinds())
    if (kind.reconcile == reconcile_mirror && is_wanted(kind, context))
      mirrored.push_back({kind.resource, std::string(kind.next_step)});
  return mirrored;
}

std::vector<Swept> swept_from_host() {
  std::vector<Swept> swept;
  for (const SyncedKind& kind : synced_kinds())
    if (kind.swept && std::ranges::find(swept, kind.resource, &Swept::resource) == swept.end())
      swept.push_back({kind.resource, kind.ends_with_grace});
  return swept;
}

std::vector<HostRight> host_rights() {
  std::vector<HostRight> rights;
  for (const SyncedKind& kind : synced_kinds()) {
    const bool cluster_wide = kind.host_copy == HostCopy::cluster;
    const bool known = std::ranges::any_of(rights, [&](const HostRight& right) {
      return right.group == kind.resource.group && right.resource == kind.resource.resource;
    });
    if (!known) rights.push_back({kind.resource.group, kind.resource.resource, words(kind.host_verbs), cluster_wide});
    if (kind.host_subresource.empty()) continue;
    std::vector<std::string> below = words(kind.host_subresource);
    rights.push_back({kind.resource.group, below.front(), {below.begin() + 1, below.end()}, cluster_wide});
  }
  return rights;
}

}  // namespace sublet::syncer
