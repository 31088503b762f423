#include "patches/cel/functions.h"

#include <algorithm>
#include <unordered_map>

namespace sublet::patches::cel {

namespace {

using Index = std::unordered_map<std::string_view, std::vector<const Overload*>>;

Index build_index() {
  Index index;
  for (const auto& table : {operator_table(), conversion_table(), string_table(), list_table(), library_table()})
    for (const Overload& overload : table) index[overload.name].push_back(&overload);
  return index;
}

const Index& index() {
  static const Index built = build_index();
  return built;
}

}  // namespace

const std::vector<const Overload*>& overloads_of(std::string_view name) {
  static const std::vector<const Overload*> kNone;
  const auto found = index().find(name);
  return found == index().end() ? kNone : found->second;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, overloads] : index())
    if (name.find('_') == std::string_view::npos && name.front() != '@') names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string no_overload(std::string_view name, bool is_method, std::span<const Kind> arguments) {
  std::string text = "found no matching overload for '" + std::string(name) + "' applied to ";
  if (is_method && !arguments.empty()) {
    text += std::string(kind_name(arguments.front())) + ".";
    arguments = arguments.subspan(1);
  }
  text += '(';
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i ? ", " : "") + std::string(kind_name(arguments[i]));
  return text + ')';
}

}  // namespace sublet::patches::cel
