#include "controllers/daemon_set/node_fit.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sublet/kube/selectors.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kNoSchedule = "NoSchedule", kNoExecute = "NoExecute";

struct TolerationFacts {
  std::string_view key, effect;
  bool only_on_host_network = false;
};
constexpr TolerationFacts kTolerations[] = {{"node.kubernetes.io/not-ready", kNoExecute},
                                            {"node.kubernetes.io/unreachable", kNoExecute},
                                            {"node.kubernetes.io/disk-pressure", kNoSchedule},
                                            {"node.kubernetes.io/memory-pressure", kNoSchedule},
                                            {"node.kubernetes.io/pid-pressure", kNoSchedule},
                                            {"node.kubernetes.io/unschedulable", kNoSchedule},
                                            {"node.kubernetes.io/network-unavailable", kNoSchedule, true}};

bool tolerates(const Value& toleration, const Value& taint) {
  const auto effect = toleration["effect"].text(), key = toleration["key"].text();
  if (!effect.empty() && effect != taint["effect"].text()) return false;
  if (!key.empty() && key != taint["key"].text()) return false;
  if (toleration["operator"].text("Equal") == "Exists") return true;
  return !key.empty() && toleration["value"].text() == taint["value"].text();
}

bool refused(const Value& pod_spec, const Value& node, std::initializer_list<std::string_view> effects) {
  for (auto taint : node["spec"]["taints"]) {
    if (std::find(effects.begin(), effects.end(), taint["effect"].text()) == effects.end()) continue;
    const auto tolerations = pod_spec["tolerations"];
    if (std::none_of(tolerations.begin(), tolerations.end(),
                     [&](const Value& toleration) { return tolerates(toleration, taint); }))
      return true;
  }
  return false;
}

/// A term without anything matches nothing.
bool term_matches(const Value& term, const Value& node) {
  const auto expressions = term["matchExpressions"], fields = term["matchFields"];
  if (expressions.empty() && fields.empty()) return false;
  const auto by_label = kube::LabelSelector::from_expressions(expressions);
  const auto by_field = kube::LabelSelector::from_expressions(fields);
  const auto metadata = node["metadata"];
  return by_label && by_field && by_label->matches(metadata["labels"]) &&
         by_field->matches([&](std::string_view path) -> std::optional<std::string_view> {
           return path == "metadata.name" ? std::optional(metadata["name"].text()) : std::nullopt;
         });
}

bool affinity_matches(const Value& pod_spec, const Value& node) {
  if (!kube::LabelSelector::from_map(pod_spec["nodeSelector"]).matches(node["metadata"]["labels"])) return false;
  const auto required = pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required) return true;
  const auto terms = required["nodeSelectorTerms"];
  return std::any_of(terms.begin(), terms.end(), [&](const Value& term) { return term_matches(term, node); });
}

}  // namespace

NodeFit node_fit(const Value& pod_spec, const Value& node) {
  const auto name = pod_spec["nodeName"].text();
  if (!name.empty() && name != node["metadata"]["name"].text()) return {};
  if (!affinity_matches(pod_spec, node)) return {};
  if (!refused(pod_spec, node, {kNoSchedule, kNoExecute})) return {true, true};
  return {false, !refused(pod_spec, node, {kNoExecute})};
}

void add_daemon_tolerations(Value pod_spec) {
  auto tolerations = pod_spec.array("tolerations");
  for (const auto& facts : kTolerations) {
    if (facts.only_on_host_network && !pod_spec["hostNetwork"].boolean()) continue;
    const bool there = std::any_of(tolerations.begin(), tolerations.end(), [&](const Value& toleration) {
      return toleration["key"].text() == facts.key && toleration["effect"].text() == facts.effect &&
             toleration["operator"].text() == "Exists";
    });
    if (there) continue;
    auto toleration = tolerations.push_object();
    toleration.put("key", facts.key);
    toleration.put("operator", "Exists");
    toleration.put("effect", facts.effect);
  }
}

}  // namespace sublet::controllers
