#include "apiserver/strategies/no_effect.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

using schema::Value;

bool wants_load_balancer(const Value& object) { return object["spec"]["type"].text() == "LoadBalancer"; }

bool is_further_range(const Value& object) { return object["metadata"]["name"].text() != "kubernetes"; }

struct NoEffectRow {
  std::string_view group, kind;
  std::string_view what_does_not_happen;           // "<Kind> is stored, but <this>"
  bool (*applies)(const Value& object) = nullptr;  // null: always
};
// A row goes when the feature comes; docs/limits.md says the same to people.
constexpr NoEffectRow kNoEffectRows[] = {
    {"networking.k8s.io", "ServiceCIDR",
     "Services get their addresses from the range of the ServiceCIDR kubernetes alone", is_further_range},
    // These have their effect on a host; a template says whether they cross (syncer/synced_kinds.cpp).
    {"networking.k8s.io", "NetworkPolicy", "nothing enforces it here: traffic of the pods is not restricted by it"},
    {"networking.k8s.io", "Ingress", "nothing routes traffic by it here"},
    {"", "Service", "no load balancer is made for it yet", wants_load_balancer},
};

}  // namespace

void warn_of_no_effect(WriteContext& context, const Value& object, const Value& old) {
  const auto& facts = context.resource;
  // What a host has too has its effect there.
  if (std::ranges::any_of(context.options.carried_to_host, [&](const CarriedKind& kind) {
        return kind.resource == facts.resource && kind.group == facts.group && kind.kind != "Service";
      }))
    return;
  for (const NoEffectRow& row : kNoEffectRows) {
    if (row.group != facts.group || row.kind != facts.kind) continue;
    const auto applies = [&](const Value& state) { return state && (!row.applies || row.applies(state)); };
    if (applies(object) && !applies(old))
      context.warnings.push_back(std::string(facts.kind) + " is stored, but " + std::string(row.what_does_not_happen));
  }
}

std::vector<std::string_view> kinds_without_effect() {
  std::vector<std::string_view> kinds;
  for (const NoEffectRow& row : kNoEffectRows) kinds.push_back(row.kind);
  return kinds;
}

}  // namespace sublet::apiserver
