// NetworkPolicies: what they select by the labels of namespaces is looked up in the tenant.
#include <algorithm>

#include "sublet/kube/selectors.h"
#include "syncer/border/border.h"
#include "syncer/to_host/host_object.h"

namespace sublet::syncer {

using kube::CachedPtr;

void watch_tenant_policies(Border& border, KindSides& sides) {
  watch_tenant_by_name(border, sides);
  if (!border.tenant_namespaces()) return;
  border.tenant_namespaces()->add_handler([&border, &sides](const CachedPtr& before, const CachedPtr& after) {
    if (before && after && before->raw({"metadata", "labels"}) == after->raw({"metadata", "labels"})) return;
    for (const CachedPtr& policy : sides.tenant->list()) border.enqueue(sides.kind.kind, *policy);
  });
}

std::vector<std::string> namespaces_selected(const Border& border, const schema::Value& selector) {
  std::vector<std::string> names;
  const auto parsed = kube::LabelSelector::from_object(selector);
  if (!border.tenant_namespaces() || !parsed) return names;
  for (const CachedPtr& one : border.tenant_namespaces()->list())
    if (parsed->matches(one->document()["metadata"]["labels"])) names.push_back(one->name);
  std::ranges::sort(names);
  return names;
}

}  // namespace sublet::syncer
