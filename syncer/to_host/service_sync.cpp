// Services: every service of the tenant but `kubernetes` stands on the host; the address that a load balancer got comes
// back.
#include "sublet/patches/patch.h"
#include "syncer/border.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

Outcome bring_status_back(Border& border, const Value& tenant_service, const Value& host_service) {
  const Document status = carry_back("ServiceStatus", host_service["status"], tenant_service);
  const Value ours = tenant_service["status"]["loadBalancer"], theirs = status["loadBalancer"];
  if (ours.equals(theirs) || (ours.empty() && theirs.empty())) return {};
  Document patch = Document::object();
  patch.root().object("status").put("loadBalancer", theirs);
  const Value metadata = tenant_service["metadata"];
  ++border.tenant_writes;
  const auto patched = border.tenant.patch(kServices, metadata["namespace"].text(), metadata["name"].text(),
                                           kube::PatchType::merge, patch.to_json(), "status");
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

}  // namespace

Result<Requeue> reconcile_service(Border& border, const std::string& tenant_namespace, const std::string& name) {
  if (tenant_namespace == "default" && name == "kubernetes") return Requeue();
  const auto tenant_cached = border.tenant_services->get(tenant_namespace, name);
  const auto host_cached =
      border.host_services->get(border.host_namespace(), border.host_name_of(tenant_namespace, name));
  if (!tenant_cached) {
    if (!host_cached) return Requeue();
    const auto removed = remove_from_host(border, kServices, *host_cached);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  const Document tenant_service = whole(*tenant_cached, "v1", "Service");
  auto translated = translate_for_host(border, "Service", tenant_service.root(), Operation::create);
  if (!translated) return Requeue();
  auto applied = apply_to_host(border, "Service", kServices, host_cached, std::move(translated->host_object),
                               tenant_service.root());
  if (applied && host_cached)
    if (const auto back = bring_status_back(border, tenant_service.root(), host_cached->document().root()); !back)
      return fail(back.error());
  return applied;
}

}  // namespace sublet::syncer
