#include "simhost/node_filter.h"

#include <algorithm>

#include "sublet/kube/selectors.h"

namespace sublet::simhost {
namespace {

constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

bool tolerates(const schema::Value& toleration, std::string_view key, std::string_view value, std::string_view effect) {
  const std::string_view wanted_effect = toleration["effect"].text();
  const std::string_view wanted_key = toleration["key"].text();
  if (!wanted_effect.empty() && wanted_effect != effect) return false;
  if (!wanted_key.empty() && wanted_key != key) return false;
  const std::string_view op = toleration["operator"].text("Equal");
  if (op == "Exists") return true;
  return !wanted_key.empty() && toleration["value"].text() == value;
}

bool tolerated(const schema::Value& pod_spec, std::string_view key, std::string_view value, std::string_view effect) {
  const schema::Value list = pod_spec["tolerations"];
  return std::any_of(list.begin(), list.end(),
                     [&](const schema::Value& toleration) { return tolerates(toleration, key, value, effect); });
}

/// matchExpressions over labels, matchFields over metadata.name; a term without either matches nothing.
bool term_matches(const schema::Value& term, const schema::Value& node) {
  const schema::Value expressions = term["matchExpressions"], fields = term["matchFields"];
  if (expressions.empty() && fields.empty()) return false;
  const auto by_label = kube::LabelSelector::from_expressions(expressions);
  const auto by_field = kube::LabelSelector::from_expressions(fields);
  if (!by_label || !by_field) return false;
  const schema::Value metadata = node["metadata"];
  return by_label->matches(metadata["labels"]) &&
         by_field->matches([&](std::string_view path) -> std::optional<std::string_view> {
           return path == "metadata.name" ? std::optional(metadata["name"].text()) : std::nullopt;
         });
}

}  // namespace

std::string refused_by_taints(const schema::Value& pod_spec, const schema::Value& node) {
  for (const schema::Value taint : node["spec"]["taints"]) {
    const std::string_view effect = taint["effect"].text();
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    if (!tolerated(pod_spec, taint["key"].text(), taint["value"].text(), effect))
      return "node(s) had untolerated taint {" + taint["key"].string() + ": " + taint["value"].string() + "}";
  }
  return {};
}

std::string refused_by_affinity(const schema::Value& pod_spec, const schema::Value& node) {
  static const std::string kReason = "node(s) didn't match Pod's node affinity/selector";
  if (!kube::LabelSelector::from_map(pod_spec["nodeSelector"]).matches(node["metadata"]["labels"])) return kReason;
  const schema::Value required = pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required) return {};
  const schema::Value terms = required["nodeSelectorTerms"];
  const bool any =
      std::any_of(terms.begin(), terms.end(), [&](const schema::Value& term) { return term_matches(term, node); });
  return any ? std::string() : kReason;
}

std::string refused_by_node(const schema::Value& pod_spec, const schema::Value& node) {
  if (node["spec"]["unschedulable"].boolean() && !tolerated(pod_spec, kUnschedulableTaint, "", "NoSchedule"))
    return "node(s) were unschedulable";
  if (std::string reason = refused_by_taints(pod_spec, node); !reason.empty()) return reason;
  return refused_by_affinity(pod_spec, node);
}

}  // namespace sublet::simhost
