// PersistentVolumeClaims: as other kinds that cross whole, but that data is never made anew. A claim that was bound and
// that the host no longer has would come back empty; the tenant is told instead, as Kubernetes tells of a claim whose
// volume is gone. Where a tenant's own volumes cross, a claim follows the one that it gets (volume_choice.h).
#include "syncer/border/border.h"
#include "syncer/to_host/volume_choice.h"

namespace sublet::syncer {
namespace {

using schema::Document;

// The tenant's copy may not have yet that a volume was brought back a moment ago, or that the claim is another.
Result<bool> is_up_to_date(const Border& border, const kube::CachedObject& claim) {
  const auto now = border.tenant.client.get(kClaims, claim.namespace_name, claim.name);
  if (!now && now.error().is(Reason::not_found)) return false;
  if (!now) return fail(now.error());
  return now->root()["metadata"]["resourceVersion"].text() == claim.resource_version;
}

Result<Requeue> mark_lost(Border& border, const SyncedKind& kind, const kube::CachedObject& claim) {
  if (claim.text({"status", "phase"}) == "Lost" || !claim.text({"metadata", "deletionTimestamp"}).empty())
    return Requeue();
  // The copy may lag behind what was written a moment ago.
  const auto there =
      border.host.client.get(kClaims, border.host_namespace(), border.host_name_of(claim.namespace_name, claim.name));
  if (there) return Requeue(kCopyIsBehind);
  if (!there.error().is(Reason::not_found)) return fail(there.error());
  Document patch = Document::object();
  patch.root().object("status").put("phase", "Lost");
  ++border.tenant.writes;
  const auto patched = border.tenant.client.patch(kClaims, claim.namespace_name, claim.name, kube::PatchType::merge,
                                                  patch.to_json(), "status");
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  record_tenant_event(border, whole(claim, kind).root(), "Warning", "ClaimLost",
                      "the claim was deleted on the host, and this one has lost its volume; delete it and make it anew "
                      "for an empty one");
  return Requeue();
}

Result<bool> is_on_host_without_label(const Border& border, const kube::CachedObject& claim) {
  const auto there =
      border.host.client.get(kClaims, border.host_namespace(), border.host_name_of(claim.namespace_name, claim.name));
  if (there) return has_lost_label(border, there->root(), {claim.namespace_name, claim.name, claim.uid});
  if (there.error().is(Reason::not_found)) return false;
  return fail(there.error());
}

void look_at_waiting_pods(Border& border, const std::string& tenant_namespace, const std::string& name) {
  for (const std::string& pod :
       border.pods.awaited_claims.take(queue_key("PersistentVolumeClaim", tenant_namespace, name)))
    border.queue.add(pod);
}

}  // namespace

void watch_tenant_claims(Border& border, KindSides& sides) {
  watch_tenant_by_name(border, sides);
  sides.tenant->add_handler([&border](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    const kube::CachedObject& claim = after ? *after : *before;
    look_at_waiting_pods(border, claim.namespace_name, claim.name);
    look_at_volumes_of(border, claim);
  });
}

void watch_host_claims(Border& border, KindSides& sides) {
  watch_host_by_identity(border, sides);
  sides.host->add_handler([&border](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    const TenantIdentity owner = tenant_identity(after ? *after : *before);
    look_at_waiting_pods(border, owner.namespace_name, owner.name);
  });
}

void resync_claims(Border& border, const KindSides& sides) {
  resync_tenant(border, sides);
  for (const std::string& pod : border.pods.awaited_claims.take_all()) border.queue.add(pod);
}

Result<Requeue> reconcile_claim(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                const std::string& name) {
  const auto claim = sides.tenant->get(tenant_namespace, name);
  if (!claim) return reconcile_copied(border, sides, tenant_namespace, name);
  const auto host_claim = border.on_host(sides, tenant_namespace, name);
  if (!host_claim) {
    const auto current = is_up_to_date(border, *claim);
    if (!current) return fail(current.error());
    if (!*current) return Requeue(kCopyIsBehind);
    if (was_bound(border, *claim)) {
      const auto unlabelled = is_on_host_without_label(border, *claim);
      if (!unlabelled) return fail(unlabelled.error());
      if (*unlabelled) return reconcile_copied(border, sides, tenant_namespace, name);  // restores the label
      return mark_lost(border, sides.kind, *claim);
    }
  }
  const auto wait = choose_volume(border, sides.kind, *claim, host_claim);
  if (!wait) return fail(wait.error());
  if (*wait) return **wait;
  return reconcile_copied(border, sides, tenant_namespace, name);
}

}  // namespace sublet::syncer
