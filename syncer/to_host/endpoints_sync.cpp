// Endpoints that a tenant writes itself, for Services without a selector. Whether one crosses is its Service's to say,
// so a change of that brings them back.
#include "syncer/border/border.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;

constexpr const char* kByService = "service";

std::string service_of(const CachedObject& slice) {
  return slice.text({"metadata", "labels", "kubernetes.io/service-name"});
}

bool has_no_selector(const Border& border, std::string_view tenant_namespace, std::string_view service) {
  const auto found = border.sides("Service").tenant->get(tenant_namespace, service);
  if (!found || found->text({"spec", "type"}) == "ExternalName") return false;
  return found->document()["spec"]["selector"].empty();
}

}  // namespace

bool has_own_endpoints(const Border& border, const CachedObject& tenant_endpoints) {
  return has_no_selector(border, tenant_endpoints.namespace_name, tenant_endpoints.name);
}

bool slice_of_own_endpoints(const Border& border, const CachedObject& tenant_slice) {
  return has_no_selector(border, tenant_slice.namespace_name, service_of(tenant_slice));
}

void watch_tenant_endpoints(Border& border, KindSides& sides) {
  watch_tenant_by_name(border, sides);
  border.sides("Service").tenant->add_handler([&border, &sides](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& service = after ? *after : *before;
    if (sides.tenant->get(service.namespace_name, service.name)) border.enqueue(sides.kind.kind, service);
  });
}

void watch_tenant_slices(Border& border, KindSides& sides) {
  sides.tenant->add_index(kByService, [](const CachedObject& slice) {
    return std::vector<std::string>{slice.namespace_name + "/" + service_of(slice)};
  });
  watch_tenant_by_name(border, sides);
  border.sides("Service").tenant->add_handler([&border, &sides](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& service = after ? *after : *before;
    for (const auto& slice : sides.tenant->by_index(kByService, service.namespace_name + "/" + service.name))
      border.enqueue(sides.kind.kind, *slice);
  });
}

}  // namespace sublet::syncer
