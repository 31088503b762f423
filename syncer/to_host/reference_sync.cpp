// ConfigMaps and Secrets: on the host exactly while a pod of the tenant uses them.
#include "syncer/border.h"
#include "syncer/to_host/host_object.h"

namespace sublet::syncer {
namespace {

struct ReferenceSides {
  std::string_view kind;
  const kube::Resource& resource;
  kube::Informer& tenant_cache;
  kube::Informer& host_cache;
};

Result<Requeue> reconcile_reference(Border& border, const ReferenceSides& sides, const std::string& tenant_namespace,
                                    const std::string& name) {
  const auto tenant_object = sides.tenant_cache.get(tenant_namespace, name);
  const auto host_object = sides.host_cache.get(border.host_namespace(), border.host_name_of(tenant_namespace, name));
  const bool used = !border.tenant_pods->by_index(kUsesIndex, queue_key(sides.kind, tenant_namespace, name)).empty();
  if (!tenant_object || !used) {
    if (!host_object) return Requeue();
    const auto removed = remove_from_host(border, sides.resource, *host_object);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  const schema::Document whole_object = whole(*tenant_object, "v1", sides.kind);
  auto translated = translate_for_host(border, sides.kind, whole_object.root(), Operation::create);
  if (!translated) return Requeue();
  return apply_to_host(border, sides.kind, sides.resource, host_object, std::move(translated->host_object),
                       whole_object.root());
}

}  // namespace

Result<Requeue> reconcile_config_map(Border& border, const std::string& tenant_namespace, const std::string& name) {
  return reconcile_reference(border, {"ConfigMap", kConfigMaps, *border.tenant_config_maps, *border.host_config_maps},
                             tenant_namespace, name);
}

Result<Requeue> reconcile_secret(Border& border, const std::string& tenant_namespace, const std::string& name) {
  return reconcile_reference(border, {"Secret", kSecrets, *border.tenant_secrets, *border.host_secrets},
                             tenant_namespace, name);
}

}  // namespace sublet::syncer
