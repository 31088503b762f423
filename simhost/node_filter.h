// Whether a node is open to a pod, but for resources: the scheduler's filters as pure functions.
//
// Taints and tolerations, nodeSelector, required node affinity, cordoned nodes. Each filter gives the reason in the
// words of Kubernetes' own scheduler, empty when the node passes.
#pragma once

#include <string>

#include "sublet/schema/document.h"

namespace sublet::simhost {

/// The first taint (NoSchedule or NoExecute) that no toleration covers: "node(s) had untolerated taint {key: value}".
std::string refused_by_taints(const schema::Value& pod_spec, const schema::Value& node);
/// nodeSelector and requiredDuringSchedulingIgnoredDuringExecution.
std::string refused_by_affinity(const schema::Value& pod_spec, const schema::Value& node);
/// All of them in the scheduler's order; the first reason.
std::string refused_by_node(const schema::Value& pod_spec, const schema::Value& node);

}  // namespace sublet::simhost
