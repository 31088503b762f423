#include "syncer/from_host/tenant_words.h"

#include "syncer/from_host/host_text.h"
#include "syncer/translate/names.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "namespace/name" of whatever of this virtual cluster has that name on the host.
std::optional<std::string> tenant_name_of(Border& border, const std::string& host_name) {
  if (const auto joined = tenant_names(host_name, border.context().virtual_cluster))
    return joined->namespace_name + "/" + joined->name;
  for (const Sides& one : border.kinds) {
    if (one.kind.direction != Direction::to_host || !one.host) continue;
    const auto tenant = tenant_of(border, one, host_name);
    if (tenant && !tenant->name.empty()) return tenant->namespace_name + "/" + tenant->name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TenantIdentity> tenant_of(Border& border, const Sides& sides, const std::string& host_name) {
  if (const auto cached = sides.host->get(border.host_place(sides.kind), host_name)) {
    // Beside a tenant's Secrets stand those of the syncer's tokens.
    const std::string said = cached->text({"metadata", "annotations", kAnnotationTenantKind});
    if (!said.empty() && said != sides.kind.kubernetes_kind()) return std::nullopt;
    return tenant_identity(*cached);
  }
  if (sides.kind.kind != "Pod") return std::nullopt;
  const MutexLock lock(border.owners_mutex);
  const auto found = border.host_pod_owners.find(host_name);
  if (found == border.host_pod_owners.end()) return std::nullopt;
  return found->second;
}

std::string in_tenant_words(Border& border, std::string_view text, std::string_view host_name,
                            const TenantIdentity& about) {
  std::string message(text);
  replace_all(message, border.host_namespace() + "/" + std::string(host_name), about.namespace_name + "/" + about.name);
  replace_all(message, host_name, about.name);
  const auto tenant_name = [&border](const std::string& name) { return tenant_name_of(border, name); };
  return tenant_text(message, {border.host_namespace(), tenant_name});
}

}  // namespace sublet::syncer
