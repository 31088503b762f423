// Go type: how messages of Kubernetes name the type of a value. Pure; threads: any.
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// Returns the Go type that encoding/json gives a value of a custom resource.
inline std::string_view go_type(const schema::Value& value) {
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "bool";
  if (value.is_floating()) return "float64";
  if (value.is_integer()) return "int64";
  if (value.is_object()) return "map[string]interface {}";
  return value.is_array() ? "[]interface {}" : "<nil>";
}

}  // namespace sublet::apiserver
