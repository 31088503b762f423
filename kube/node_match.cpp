#include "sublet/kube/node_match.h"

#include <algorithm>

#include "sublet/kube/selectors.h"

namespace sublet::kube {
namespace {

using schema::Value;

/// matchExpressions over labels, matchFields over metadata.name; a term without either matches nothing.
bool term_matches(const Value& term, const Value& node) {
  const auto expressions = term["matchExpressions"], fields = term["matchFields"];
  if (expressions.empty() && fields.empty()) return false;
  const auto by_label = LabelSelector::from_expressions(expressions);
  const auto by_field = LabelSelector::from_expressions(fields);
  if (!by_label || !by_field) return false;
  const auto metadata = node["metadata"];
  return by_label->matches(metadata["labels"]) &&
         by_field->matches([&](std::string_view path) -> std::optional<std::string_view> {
           return path == "metadata.name" ? std::optional(metadata["name"].text()) : std::nullopt;
         });
}

}  // namespace

Taint taint_of(const Value& taint) { return {taint["key"].text(), taint["value"].text(), taint["effect"].text()}; }

bool tolerates(const Value& toleration, const Taint& taint) {
  const auto effect = toleration["effect"].text(), key = toleration["key"].text();
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  const auto op = toleration["operator"].text();
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && !key.empty() && toleration["value"].text() == taint.value;
}

bool tolerated(const Value& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Value& toleration) { return tolerates(toleration, taint); });
}

std::optional<Taint> untolerated_taint(const Value& pod_spec, const Value& node,
                                       std::initializer_list<std::string_view> effects) {
  for (auto entry : node["spec"]["taints"]) {
    const auto taint = taint_of(entry);
    const bool counts = std::find(effects.begin(), effects.end(), taint.effect) != effects.end();
    if (counts && !tolerated(pod_spec["tolerations"], taint)) return taint;
  }
  return std::nullopt;
}

bool selects_node(const Value& pod_spec, const Value& node) {
  if (!LabelSelector::from_map(pod_spec["nodeSelector"]).matches(node["metadata"]["labels"])) return false;
  const auto required = pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required) return true;
  const auto terms = required["nodeSelectorTerms"];
  return std::any_of(terms.begin(), terms.end(), [&](const Value& term) { return term_matches(term, node); });
}

}  // namespace sublet::kube
