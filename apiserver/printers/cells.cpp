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
  return text(joined(names, ",")).text(joined(images, ","));
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string made;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) made += separator;
    made += parts[i];
  }
  return made;
}

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> made;
  for (Value item : list) made.push_back(item.string());
  return made;
}

std::string clipped(const std::vector<std::string>& parts, std::size_t most, std::string_view separator) {
  if (parts.size() <= most) return joined(parts, separator);
  std::vector<std::string> first(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(most));
  return joined(first, separator) + " + " + std::to_string(parts.size() - most) + " more...";
}

std::string labels_text(const Value& labels) {
  std::vector<std::string> pairs;
  for (Value label : labels) pairs.push_back(std::string(label.key()) + "=" + label.string());
  std::sort(pairs.begin(), pairs.end());
  return pairs.empty() ? std::string(kNone) : joined(pairs, ",");
}

std::string selector_or_none(const Value& selector) {
  std::string made = kube::selector_text(selector);
  return made.empty() ? std::string(kNone) : made;
}

std::string scalar_text(const Value& value) { return value.is_string() ? value.string() : value.to_json(); }

Value annotation(const Value& object, std::string_view key) { return object["metadata"]["annotations"][key]; }

}  // namespace sublet::apiserver
