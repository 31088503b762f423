// Members: parts of stored objects, by their names. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// Sets `target[name]` to what `source` has there, or removes it.
inline void copy_field(schema::Value target, const schema::Value& source, std::string_view name) {
  if (source.has(name))
    target.put(name, source[name]);
  else
    target.erase(name);
}

inline schema::Value at_path(schema::Value value, const std::vector<std::string>& path) {
  for (const auto& name : path) value = value[name];
  return value;
}

/// The texts of a list of strings.
inline std::vector<std::string> texts_of(const schema::Value& list) {
  std::vector<std::string> texts;
  for (const schema::Value text : list) texts.push_back(text.string());
  return texts;
}

}  // namespace sublet::apiserver
