// Conditions: entries of status.conditions, by their type. Pure; handles into what is given.
#pragma once

#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::kube {

/// Missing when there is none of that type.
inline schema::Value find_condition(const schema::Value& conditions, std::string_view type) {
  for (schema::Value condition : conditions)
    if (condition["type"].text() == type) return condition;
  return {};
}

/// Does the object's status say so?
inline bool has_condition(const schema::Value& object, std::string_view type) {
  return find_condition(object["status"]["conditions"], type)["status"].text() == "True";
}

}  // namespace sublet::kube
