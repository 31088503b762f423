// NodeFilter: whether a node accepts a pod, apart from resources: taints and tolerations, nodeSelector, required node
// affinity, cordoned nodes. Each filter returns the reason with the message of Kubernetes' scheduler, empty when the
// node passes. Pure functions.
#pragma once

#include <string>

#include "sublet/schema/document.h"

namespace sublet::simhost {

/// The first taint (NoSchedule or NoExecute) that no toleration covers: "node(s) had untolerated taint {key: value}".
std::string refused_by_taints(const schema::Value& pod_spec, const schema::Value& node);
/// nodeSelector and requiredDuringSchedulingIgnoredDuringExecution.
std::string refused_by_affinity(const schema::Value& pod_spec, const schema::Value& node);
/// Returns the first reason of all filters, in the scheduler's order.
std::string refused_by_node(const schema::Value& pod_spec, const schema::Value& node);

}  // namespace sublet::simhost
