// What a pod needs from its namespace before it, or one of its containers, can start. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::simhost {

struct Dependency {
  enum class Kind { config_map, secret } kind = Kind::config_map;
  std::string name;
  std::string key{};     // empty: any
  std::string volume{};  // the volume that needs it; empty: a container's environment
  /// `configmap "settings" not found`.
  std::string not_found() const;
};

/// Non-optional ConfigMaps and Secrets behind the pod's volumes (projected ones too).
std::vector<Dependency> volume_dependencies(const schema::Value& pod_spec);
/// Those behind one container's env and envFrom.
std::vector<Dependency> container_dependencies(const schema::Value& container);
bool has_dependencies(const schema::Value& pod_spec);

}  // namespace sublet::simhost
