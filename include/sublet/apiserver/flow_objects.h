// FlowObjects: the FlowSchemas and PriorityLevelConfigurations that every cluster has, with upstream's names and specs
// (k8s.io/apiserver pkg/apis/flowcontrol/bootstrap), and when a stored one is restored.
//
// Mandatory objects are always restored; the spec of a suggested one is restored while its annotation
// apf.kubernetes.io/autoupdate-spec is "true". Server::start() writes them, a controller maintains them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

inline constexpr std::string_view kFlowControlGroup = "flowcontrol.apiserver.k8s.io", kFlowControlVersion = "v1";
inline constexpr std::string_view kFlowSchemas = "flowschemas", kPriorityLevels = "prioritylevelconfigurations";

struct FlowObject {
  std::string_view resource;  // kFlowSchemas or kPriorityLevels
  std::string name;
  bool mandatory = false;
  schema::Document object;  // with apiVersion and kind
};

/// Levels before the schemas that name them.
std::vector<FlowObject> flow_objects();

/// Restores `stored`; returns false when nothing had to change.
bool restore_flow_object(schema::Value stored, const FlowObject& wanted);

}  // namespace sublet::apiserver
