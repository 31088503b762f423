// PodGroups: as other kinds that are copied, but that the host refuses one whose Workload it does not have
// (PodGroupWorkloadExists), so a group waits for the Workload that crosses beside it.
#include "syncer/border/border.h"

namespace sublet::syncer {
namespace {

constexpr const char* kByWorkload = "workload";

std::string workload_of(const kube::CachedObject& tenant_group) {
  return tenant_group.text({"spec", "podGroupTemplateRef", "workload", "workloadName"});
}

/// Until its Workload is on the host; a group whose Workload has gone meanwhile is the host's to refuse.
bool waits_for_workload(const Border& border, const kube::CachedObject& tenant_group) {
  const std::string workload = workload_of(tenant_group);
  const KindSides* const workloads = border.sides_of_key("Workload");
  if (workload.empty() || !workloads || !workloads->tenant || !workloads->host) return false;
  return workloads->tenant->get(tenant_group.namespace_name, workload) &&
         !border.on_host(*workloads, tenant_group.namespace_name, workload);
}

constexpr std::chrono::minutes kServedCheckInterval{1};

Result<Requeue> begin_anew_once_served(Border& border) {
  const auto served = serves(border.host.client, {"scheduling.k8s.io", "v1alpha2", "podgroups"});
  if (!served) return fail(served.error());
  if (!*served) return Requeue(kServedCheckInterval);
  if (border.options.kinds_changed) border.options.kinds_changed();
  return Requeue();
}

}  // namespace

void look_for_groups(Border& border) {
  if (border.context().unserved_kinds.contains("PodGroup"))
    border.queue.add_after(queue_key("PodGroup", "", ""), kServedCheckInterval);
}

void watch_tenant_groups(Border& border, KindSides& sides) {
  sides.tenant->add_index(kByWorkload, [](const kube::CachedObject& group) {
    std::vector<std::string> keys;
    if (const std::string workload = workload_of(group); !workload.empty())
      keys.push_back(group.namespace_name + "/" + workload);
    return keys;
  });
  watch_tenant_by_name(border, sides);
}

void watch_host_workloads(Border& border, KindSides& sides) {
  watch_host_by_identity(border, sides);
  sides.host->add_handler([&border](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    const KindSides* const groups = border.sides_of_key("PodGroup");
    if (before || !after || !groups || !groups->tenant) return;
    const TenantIdentity owner = tenant_identity(*after);
    for (const auto& group : groups->tenant->by_index(kByWorkload, owner.namespace_name + "/" + owner.name))
      border.enqueue(groups->kind.kind, *group);
  });
}

Result<Requeue> reconcile_pod_group(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                    const std::string& name) {
  if (!sides.host) return begin_anew_once_served(border);
  const auto group = sides.tenant->get(tenant_namespace, name);
  if (group && !border.on_host(sides, tenant_namespace, name) && waits_for_workload(border, *group))
    return Requeue();  // the Workload's coming brings the key back
  return reconcile_copied(border, sides, tenant_namespace, name);
}

}  // namespace sublet::syncer
