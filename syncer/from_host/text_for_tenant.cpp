#include "syncer/from_host/text_for_tenant.h"

#include "syncer/from_host/host_text.h"
#include "syncer/translate/names.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

// Whatever of this virtual cluster has that name on the host.
std::optional<TenantObjectName> tenant_object_of(Border& border, const std::string& host_name) {
  if (const auto joined = tenant_names(host_name, border.context().virtual_cluster)) {
    const auto pod = tenant_of(border, border.sides("Pod"), host_name);  // texts have uids of pods only
    return TenantObjectName{joined->namespace_name, joined->name, pod ? pod->uid : std::string()};
  }
  for (const KindSides& one : border.kinds()) {
    if (one.kind.direction != Direction::to_host || !one.host) continue;
    const auto tenant = tenant_of(border, one, host_name);
    if (tenant && !tenant->name.empty()) return TenantObjectName{tenant->namespace_name, tenant->name, tenant->uid};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TenantIdentity> tenant_of(Border& border, const KindSides& sides, const std::string& host_name) {
  if (const auto cached = sides.host->get(border.host_place(sides.kind), host_name)) {
    // Beside a tenant's Secrets stand those of the syncer's tokens.
    const std::string recorded_kind = cached->text({"metadata", "annotations", kAnnotationTenantKind});
    if (!recorded_kind.empty() && recorded_kind != sides.kind.kubernetes_kind()) return std::nullopt;
    return tenant_identity(*cached);
  }
  if (sides.kind.kind != "Pod") return std::nullopt;
  return border.pods.owners.owner_of(host_name);
}

std::string text_for_tenant(Border& border, std::string_view text, std::string_view host_name,
                            const TenantIdentity& about, bool container_output) {
  const auto tenant_object = [&border](const std::string& name) { return tenant_object_of(border, name); };
  const auto host_pod = border.host_pods().get(border.host_namespace(), host_name);
  return tenant_text(text, {.host_namespace = border.host_namespace(),
                            .tenant_object = tenant_object,
                            .host_name = std::string(host_name),
                            .about = {about.namespace_name, about.name, about.uid},
                            .nodes = container_output ? nullptr : &border.nodes(),
                            .host_uid = host_pod ? host_pod->uid : std::string()});
}

}  // namespace sublet::syncer
