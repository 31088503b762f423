// What a pod needs from its namespace before the pod, or one of its containers, can start. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::simhost {

struct Dependency {
  enum class Kind { config_map, secret, volume_claim } kind = Kind::config_map;
  std::string name;
  std::string key{};     // empty: any
  std::string volume{};  // the volume that needs it; empty: a container's environment
  /// `configmap "settings" not found`.
  std::string not_found() const;
};

/// "configmap", "secret", "persistentvolumeclaim".
const char* kind_name(Dependency::Kind kind);
/// Volume claims, and non-optional ConfigMaps and Secrets, behind the pod's volumes (projected ones too).
std::vector<Dependency> volume_dependencies(const schema::Value& pod);
/// Those behind one container's env and envFrom.
std::vector<Dependency> container_dependencies(const schema::Value& container);

}  // namespace sublet::simhost
