#include "sublet/kube/selector_text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sublet::kube {
namespace {

using schema::Value;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += ',';
    text += part;
  }
  return text;
}

std::string expression_text(const Value& expression) {
  std::string key = expression["key"].string();
  const std::string_view op = expression["operator"].text();
  if (op == "Exists") return key;
  if (op == "DoesNotExist") return "!" + key;
  std::vector<std::string> values;
  for (const Value value : expression["values"]) values.push_back(value.string());
  std::sort(values.begin(), values.end());
  return key + (op == "In" ? " in (" : " notin (") + joined(values) + ")";
}

}  // namespace

std::string selector_text(const Value& selector) {
  std::vector<std::pair<std::string, std::string>> requirements;  // key, text
  for (const Value label : selector["matchLabels"])
    requirements.emplace_back(label.key(), std::string(label.key()) + "=" + label.string());
  for (const Value expression : selector["matchExpressions"])
    requirements.emplace_back(expression["key"].string(), expression_text(expression));
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> parts;
  for (auto& requirement : requirements) parts.push_back(std::move(requirement.second));
  return joined(parts);
}

}  // namespace sublet::kube
