#include "sublet/controllers/lister.h"

#include <algorithm>

#include "controllers/runtime/feed.h"

namespace sublet::controllers {
namespace {

std::string inside(const std::string& prefix, std::string_view namespace_name) {
  std::string key(prefix);
  if (!namespace_name.empty()) key.append(namespace_name).append("/");
  return key;
}

/// A pair that all selected objects have; null when there is none.
const kube::SelectorRequirement* one_pair(const kube::LabelSelector& selector) {
  for (const auto& requirement : selector.requirements())
    if (requirement.op == kube::SelectorOperator::in && requirement.values.size() == 1) return &requirement;
  return nullptr;
}

}  // namespace

store::ObjectPtr Lister::get(std::string_view namespace_name, std::string_view name) const {
  return store_->snapshot().get(inside(prefix_, namespace_name).append(name));
}

std::vector<store::ObjectPtr> Lister::list(std::string_view namespace_name) const {
  std::vector<store::ObjectPtr> objects;
  store_->snapshot().scan(inside(prefix_, namespace_name), {}, [&](const store::ObjectPtr& object) {
    objects.push_back(object);
    return true;
  });
  return objects;
}

std::size_t Lister::count(std::string_view namespace_name) const {
  return store_->snapshot().count(inside(prefix_, namespace_name));
}

// The index may be behind: what it names is taken as it is now, and left out when it no longer belongs.
std::vector<store::ObjectPtr> Lister::found(By by, std::string_view key) const {
  if (!feed_) return {};
  auto objects = feed_->find(by, key);
  auto snapshot = store_->snapshot();
  std::erase_if(objects, [&](store::ObjectPtr& object) {
    auto latest = snapshot.get(object->key);
    if (latest == object) return false;
    object = std::move(latest);
    if (!object) return true;
    const auto keys = index_keys(by, *object);
    return std::find(keys.begin(), keys.end(), key) == keys.end();
  });
  return objects;
}

store::ObjectPtr Lister::by_uid(std::string_view uid) const {
  auto objects = found(By::uid, uid);
  return objects.empty() ? nullptr : objects.front();
}

std::vector<store::ObjectPtr> Lister::owned_by(std::string_view owner_uid) const { return found(By::owner, owner_uid); }

std::vector<store::ObjectPtr> Lister::orphans(std::string_view namespace_name) const {
  return found(By::orphan, namespace_name);
}

std::vector<store::ObjectPtr> Lister::on_node(std::string_view node) const { return found(By::node, node); }

std::vector<store::ObjectPtr> Lister::selecting(std::string_view namespace_name, const store::Index& labelled) const {
  if (!feed_) return {};
  const By by = feed_->has_index(By::map_selector) ? By::map_selector : By::label_selector;
  std::vector<store::ObjectPtr> objects = found(by, any_label_index_key(namespace_name));
  for (const auto& [label, value] : labelled.labels)
    for (auto& object : found(by, label_index_key(namespace_name, label, value))) objects.push_back(std::move(object));
  std::erase_if(objects, [&](const store::ObjectPtr& object) { return !selects(by, *object, labelled); });
  return objects;
}

std::vector<store::ObjectPtr> Lister::selected(std::string_view namespace_name,
                                               const kube::LabelSelector& selector) const {
  const bool indexed = !namespace_name.empty() && feed_ && feed_->has_index(By::label);
  const auto* pair = indexed ? one_pair(selector) : nullptr;
  auto objects =
      pair ? found(By::label, label_index_key(namespace_name, pair->key, pair->values.front())) : list(namespace_name);
  std::erase_if(objects, [&](const store::ObjectPtr& object) { return !selector.matches(object->index.labels); });
  return objects;
}

}  // namespace sublet::controllers
