// How most kinds' changes become keys of the queue (synced_kinds.h).
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;

void watch_by_name(Border& border, const KindSides& sides, kube::Informer& copy) {
  copy.add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    border.enqueue(kind, after ? *after : *before);
  });
}

void resync(Border& border, const KindSides& sides, const kube::Informer& copy) {
  for (const auto& object : copy.list()) border.enqueue(sides.kind.kind, *object);
}

}  // namespace

void watch_tenant_by_name(Border& border, KindSides& sides) { watch_by_name(border, sides, *sides.tenant); }

void watch_host_by_name(Border& border, KindSides& sides) {
  if (const auto tenant_name = sides.kind.tenant_name)
    sides.host->add_index(kTenantNameIndex, [&border, tenant_name](const CachedObject& object) {
      return std::vector<std::string>{(border.nodes().*tenant_name)(object.name)};
    });
  watch_by_name(border, sides, *sides.host);
}

CachedPtr host_object_of(const KindSides& sides, std::string_view tenant_name) {
  if (!sides.kind.tenant_name) return sides.host->get("", tenant_name);
  const auto found = sides.host->by_index(kTenantNameIndex, tenant_name);
  return found.empty() ? nullptr : found.front();
}

void watch_host_by_identity(Border& border, KindSides& sides) {
  sides.host->add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& object = after ? *after : *before;
    const TenantIdentity owner = tenant_identity(object);
    if (owner.name.empty()) return;
    const std::string recorded_kind = object.text({"metadata", "annotations", kAnnotationTenantKind});
    border.queue.add(queue_key(recorded_kind.empty() ? kind : recorded_kind, owner.namespace_name, owner.name));
  });
}

void watch_tenant_used(Border& border, KindSides& sides) {
  sides.tenant->add_handler([&border, kind = sides.kind.kind](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& object = after ? *after : *before;
    const std::string key = queue_key(kind, object.namespace_name, object.name);
    if (!after || all_cross(border.context(), kind) || !border.tenant_pods().synced() || border.is_used(key))
      border.queue.add(key);
  });
}

void watch_tenant_using(Border& border, KindSides& sides) {
  const auto used = [&border, &sides](const CachedObject& object) {
    std::vector<std::string> keys;
    const auto translated =
        translate(border.context(), sides.kind.translated_as(), whole(object, sides.kind).root(), Operation::update);
    if (translated)
      for (const Reference& reference : translated->references)
        keys.push_back(queue_key(reference.kind, object.namespace_name, reference.tenant_name));
    return keys;
  };
  sides.tenant->add_index(kUsesIndex, used);
  sides.tenant->add_handler([&border, &sides, used](const CachedPtr& before, const CachedPtr& after) {
    border.enqueue(sides.kind.kind, after ? *after : *before);
    // What is used from now on comes, and the last user of another may be gone.
    for (const CachedPtr& object : {before, after})
      if (object)
        for (const std::string& key : used(*object)) border.queue.add(key);
  });
}

bool all_cross(const TranslateContext& context, std::string_view kind) {
  const patches::SyncConfig& config = config_of(context);
  return (kind == "ConfigMap" && config.config_maps_all) || (kind == "Secret" && config.secrets_all);
}

void resync_tenant(Border& border, const KindSides& sides) { resync(border, sides, *sides.tenant); }

void resync_host(Border& border, const KindSides& sides) { resync(border, sides, *sides.host); }

}  // namespace sublet::syncer
