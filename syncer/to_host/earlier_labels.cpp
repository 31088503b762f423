#include "syncer/to_host/earlier_labels.h"

#include <algorithm>

#include "syncer/border/written.h"

namespace sublet::syncer {
namespace {

using schema::Value;

// A pod that the border would not let across today never gets the present labels: Services do not wait for ever.
constexpr std::chrono::seconds kWaitMax{60};

bool any_of_earlier_version(const Border& border, std::string_view kind, std::string_view tenant_namespace) {
  const auto objects = border.sides(kind).host->list();
  return std::ranges::any_of(objects, [&](const kube::CachedPtr& object) {
    return !object->text({"metadata", "annotations", kEarlierAnnotations}).empty() &&
           tenant_identity(*object).namespace_name == tenant_namespace;
  });
}

}  // namespace

EarlierLabels earlier_labels(Border& border, std::string_view kind, const Value& host_object) {
  if (!of_earlier_version(host_object) && !keeps_earlier_labels(host_object)) return EarlierLabels::settled;
  const std::string tenant_namespace = tenant_identity(host_object).namespace_name;
  if (kind == "Pod" && any_of_earlier_version(border, "Service", tenant_namespace)) return EarlierLabels::keep;
  if (kind == "Service" && border.clock.steady_now() - border.started < kWaitMax &&
      any_of_earlier_version(border, "Pod", tenant_namespace))
    return EarlierLabels::wait;
  return EarlierLabels::settled;
}

}  // namespace sublet::syncer
