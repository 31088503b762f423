// ConfigMaps and Secrets: on the host exactly while an object of the tenant that is there uses them, or all of them.
#include "syncer/border/border.h"
#include "syncer/to_host/host_object.h"

namespace sublet::syncer {

Result<Requeue> reconcile_used(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                               const std::string& name) {
  const SyncedKind& kind = sides.kind;
  const auto tenant_object = Border::carried(sides, tenant_namespace, name);
  const auto host_object = border.on_host(sides, tenant_namespace, name);
  if ((host_object && is_made_there(*host_object)) || (tenant_object && is_made_on_host(*tenant_object)))
    return reconcile_made(border, sides, tenant_namespace, name);
  const bool used =
      all_cross(border.context(), kind.kind) || border.is_used(queue_key(kind.kind, tenant_namespace, name));
  if (!tenant_object || !used) {
    if (!host_object) return Requeue();
    const auto removed = remove_from_host(border, kind.resource, *host_object);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  const schema::Document whole_object = whole(*tenant_object, kind);
  auto translated = translate_for_host(border, kind, whole_object.root(), Operation::create);
  if (!translated) return Requeue();
  // Its content was judged by no admission; told once, when it comes to the host.
  if (!host_object && !translated->warnings.empty())
    record_tenant_event(border, whole_object.root(), "Warning", "SyncedInPart", translated->warnings.front());
  return apply_to_host(border, kind, host_object, std::move(translated->host_object), whole_object.root());
}

}  // namespace sublet::syncer
