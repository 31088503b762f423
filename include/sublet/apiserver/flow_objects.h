// FlowObjects: the FlowSchemas and PriorityLevelConfigurations that every cluster has, under upstream's names and with
// its specs (k8s.io/apiserver pkg/apis/flowcontrol/bootstrap), and when a stored one is put right.
//
// The mandatory ones are restored whatever happens to them; of a suggested one the spec is restored as long as its
// annotation apf.kubernetes.io/autoupdate-spec says so. Server::start() writes them, a controller keeps them. Pure.
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

/// Makes `stored` what it has to be; false: it is.
bool restore_flow_object(schema::Value stored, const FlowObject& wanted);

}  // namespace sublet::apiserver
