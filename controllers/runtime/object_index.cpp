#include "controllers/runtime/object_index.h"

#include "controllers/runtime/object_ref.h"
#include "sublet/kube/selectors.h"

namespace sublet::controllers {
namespace {

using schema::Document;

constexpr std::string_view kNodeField = "spec.nodeName";

Document selector_of(const store::Object& object) {
  auto parsed = Document::parse_json(raw_of(object, {"spec", "selector"}));
  return parsed ? std::move(*parsed) : Document();
}

std::vector<std::string> label_keys(const store::Object& object) {
  std::vector<std::string> keys;
  for (const auto& [label, value] : object.index.labels)
    keys.push_back(label_index_key(namespace_of(object), label, value));
  return keys;
}

/// One pair that all selected objects have decides where the selector is found; one without is asked every time.
std::vector<std::string> selector_keys(By by, const store::Object& object) {
  auto selector = selector_of(object);
  auto pairs = by == By::map_selector ? selector.root() : selector["matchLabels"];
  for (auto pair : pairs) return {label_index_key(namespace_of(object), pair.key(), pair.text())};
  bool nothing = by == By::map_selector || !selector.root().is_object();
  return nothing ? std::vector<std::string>() : std::vector{any_label_index_key(namespace_of(object))};
}

std::vector<std::string> orphan_keys(const store::Object& object) {
  if (controller_of(object)) return {};
  return {std::string(namespace_of(object))};
}

std::vector<std::string> node_keys(const store::Object& object) {
  for (const auto& [path, value] : object.index.fields)
    if (path == kNodeField) return {value};
  return {};
}

}  // namespace

std::string label_index_key(std::string_view namespace_name, std::string_view label, std::string_view value) {
  std::string key(namespace_name);
  key.append("/").append(label).append("=").append(value);
  return key;
}

std::string any_label_index_key(std::string_view namespace_name) { return std::string(namespace_name) + "/"; }

std::vector<std::string> index_keys(By by, const store::Object& object) {
  switch (by) {
    case By::uid:
      return {object.index.uid};
    case By::owner:
      return object.index.owner_uids;
    case By::orphan:
      return orphan_keys(object);
    case By::node:
      return node_keys(object);
    case By::label:
      return label_keys(object);
    case By::map_selector:
    case By::label_selector:
      return selector_keys(by, object);
  }
  return {};
}

bool selects(By by, const store::Object& object, const store::Index& labelled) {
  auto selector = selector_of(object);
  if (by == By::map_selector)
    return !selector.root().empty() && kube::LabelSelector::from_map(selector.root()).matches(labelled.labels);
  auto parsed = kube::LabelSelector::from_object(selector.root());
  return parsed && parsed->matches(labelled.labels);
}

void ObjectIndex::change(const store::ObjectPtr& before, const store::ObjectPtr& after) {
  if (before) {
    for (const auto& key : index_keys(by_, *before)) {
      auto found = objects_.find(key);
      if (found == objects_.end()) continue;
      found->second.erase(before);
      if (found->second.empty()) objects_.erase(found);
    }
  }
  if (!after) return;
  for (auto& key : index_keys(by_, *after)) objects_[std::move(key)].insert(after);
}

std::vector<store::ObjectPtr> ObjectIndex::find(std::string_view key) const {
  auto found = objects_.find(key);
  if (found == objects_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace sublet::controllers
