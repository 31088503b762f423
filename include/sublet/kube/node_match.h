// Node match: whether a node is one that a pod asks for, and which of its taints the pod does not tolerate. What the
// scheduler, the DaemonSet controller and the eviction by taints have in common. Pure functions of documents.
// Source: k8s.io/component-helpers/scheduling/corev1.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::kube {

inline constexpr std::string_view kNoSchedule = "NoSchedule", kNoExecute = "NoExecute";

/// A view into the node's document.
struct Taint {
  std::string_view key, value, effect;
};
Taint taint_of(const schema::Value& taint);

bool tolerates(const schema::Value& toleration, const Taint& taint);
/// Any of the tolerations does.
bool tolerated(const schema::Value& tolerations, const Taint& taint);
/// The node's first taint of one of these effects that no toleration of the pod covers.
std::optional<Taint> untolerated_taint(const schema::Value& pod_spec, const schema::Value& node,
                                       std::initializer_list<std::string_view> effects);

/// nodeSelector and the node affinity that is required.
bool selects_node(const schema::Value& pod_spec, const schema::Value& node);

}  // namespace sublet::kube
