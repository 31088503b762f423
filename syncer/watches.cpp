// How most kinds' changes become keys of the queue (synced_kinds.h).
#include "syncer/border.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;

void watch_by_name(Border& border, const Sides& sides, kube::Informer& copy) {
  copy.add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    border.enqueue(kind, after ? *after : *before);
  });
}

void resync(Border& border, const Sides& sides, const kube::Informer& copy) {
  for (const auto& object : copy.list()) border.enqueue(sides.kind.kind, *object);
}

}  // namespace

void watch_tenant_by_name(Border& border, Sides& sides) { watch_by_name(border, sides, *sides.tenant); }

void watch_host_by_name(Border& border, Sides& sides) { watch_by_name(border, sides, *sides.host); }

void watch_host_by_identity(Border& border, Sides& sides) {
  sides.host->add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& object = after ? *after : *before;
    const TenantIdentity owner = tenant_identity(object);
    if (owner.name.empty()) return;
    const std::string said = object.text({"metadata", "annotations", kAnnotationTenantKind});
    border.queue.add(queue_key(said.empty() ? kind : said, owner.namespace_name, owner.name));
  });
}

void watch_tenant_used(Border& border, Sides& sides) {
  sides.tenant->add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& object = after ? *after : *before;
    const std::string key = queue_key(kind, object.namespace_name, object.name);
    if (!after || !border.tenant_pods().synced() || !border.tenant_pods().by_index(kUsesIndex, key).empty())
      border.queue.add(key);
  });
}

void resync_tenant(Border& border, const Sides& sides) { resync(border, sides, *sides.tenant); }

void resync_host(Border& border, const Sides& sides) { resync(border, sides, *sides.host); }

}  // namespace sublet::syncer
