#include "patches/template/reader.h"

#include <algorithm>

#include "sublet/base/nearest.h"

namespace sublet::patches {

MapReader::MapReader(const YamlNode& node, std::string key, Problems& problems)
    : node_(node), key_(std::move(key)), problems_(problems) {
  if (!node.is_map() && !node.is_null())
    problems.add(node.mark, key_, "must be a map, not " + std::string(node.kind_text()));
}

const YamlNode* MapReader::take(std::string_view name) {
  asked_.push_back(name);
  return node_.is_map() ? node_.find(name) : nullptr;
}

const YamlNode* MapReader::require(std::string_view name) {
  const YamlNode* found = take(name);
  if (found == nullptr && node_.is_map()) problems_.add(node_.mark, key_, "\"" + std::string(name) + "\" is missing");
  return found;
}

std::string MapReader::text(std::string_view name) {
  const YamlNode* found = take(name);
  if (found == nullptr) return {};
  if (!found->is_string())
    problems_.add(found->mark, path(name), "must be a string, not " + std::string(found->kind_text()));
  return found->text;
}

bool MapReader::flag(std::string_view name) {
  const YamlNode* found = take(name);
  if (found == nullptr) return false;
  if (!found->is_boolean())
    problems_.add(found->mark, path(name), "must be true or false, not " + std::string(found->kind_text()));
  return found->boolean;
}

std::vector<std::string> MapReader::texts(std::string_view name) {
  const YamlNode* found = take(name);
  if (found == nullptr) return {};
  if (found->is_scalar() && !found->is_null()) return {found->text};
  std::vector<std::string> out;
  if (!found->is_list()) problems_.add(found->mark, path(name), "must be a string or a list of strings");
  for (const YamlNode& item : found->children) {
    if (!item.is_scalar())
      problems_.add(item.mark, path(name), "must hold strings, not " + std::string(item.kind_text()));
    out.push_back(item.text);
  }
  return out;
}

void MapReader::finish() {
  if (!node_.is_map()) return;
  for (const YamlNode& child : node_.children)
    if (std::find(asked_.begin(), asked_.end(), child.key) == asked_.end())
      problems_.add(child.key_mark, path(child.key), "unknown key" + suggestion(child.key, asked_));
}

}  // namespace sublet::patches
