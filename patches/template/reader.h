// MapReader: reads the keys of one map of a template and reports every key that nobody asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patches/template/source.h"

namespace sublet::patches {

class MapReader {
 public:
  /// Reports a node that is no map; null reads as an empty one. `key` is the map's path in the file.
  MapReader(const YamlNode& node, std::string key, Problems& problems);

  /// The value of a key; null when absent.
  const YamlNode* take(std::string_view name);
  /// As take(); reports when the key is missing.
  const YamlNode* require(std::string_view name);
  /// A string; "" when absent. Reports other kinds.
  std::string text(std::string_view name);
  bool flag(std::string_view name);
  /// Strings of a list, or the one string that stands for it.
  std::vector<std::string> texts(std::string_view name);
  /// Reports the keys that were not taken, each with the nearest of those that were asked for.
  void finish();

  std::string path(std::string_view name) const {
    return key_.empty() ? std::string(name) : key_ + '.' + std::string(name);
  }

 private:
  const YamlNode& node_;
  std::string key_;
  Problems& problems_;
  std::vector<std::string_view> asked_;
};

}  // namespace sublet::patches
