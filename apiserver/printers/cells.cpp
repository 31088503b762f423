#include "apiserver/printers/cells.h"

#include <algorithm>

#include "sublet/kube/selector_text.h"

namespace sublet::apiserver {

using schema::Value;

Cells& Cells::containers(const Value& list) {
  std::vector<std::string> names, images;
  for (Value container : list) {
    names.push_back(container["name"].string());
    images.push_back(container["image"].string());
  }
  return text(join(names, ",")).text(join(images, ","));
}

void name_and_age_cells(const Value& object, WallTime now, Value row) { Cells(object, now, row).name().age(); }

std::string clipped(const std::vector<std::string>& parts, std::size_t most, std::string_view separator) {
  if (parts.size() <= most) return join(parts, separator);
  std::vector<std::string> first(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(most));
  return join(first, separator) + " + " + std::to_string(parts.size() - most) + " more...";
}

std::string labels_text(const Value& labels) {
  std::vector<std::string> pairs;
  for (Value label : labels) pairs.push_back(std::string(label.key()) + "=" + label.string());
  std::sort(pairs.begin(), pairs.end());
  return pairs.empty() ? std::string(kNone) : join(pairs, ",");
}

std::string selector_or_none(const Value& selector) {
  std::string made = kube::selector_text(selector);
  return made.empty() ? std::string(kNone) : made;
}

std::string scalar_text(const Value& value) { return value.is_string() ? value.string() : value.to_json(); }

Value annotation(const Value& object, std::string_view key) { return object["metadata"]["annotations"][key]; }

}  // namespace sublet::apiserver
