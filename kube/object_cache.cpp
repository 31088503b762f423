#include "kube/object_cache.h"

namespace sublet::kube {

void ObjectCache::add_index(std::string name, KeysOf keys_of) {
  indexes_.push_back({std::move(name), std::move(keys_of), {}});
}

void ObjectCache::index(const CachedPtr& object) {
  for (Index& index : indexes_)
    for (std::string& key : index.keys_of(*object)) index.objects[std::move(key)].insert(object);
}

void ObjectCache::unindex(const CachedPtr& object) {
  for (Index& index : indexes_)
    for (const std::string& key : index.keys_of(*object)) {
      const auto found = index.objects.find(key);
      if (found == index.objects.end()) continue;
      found->second.erase(object);
      if (found->second.empty()) index.objects.erase(found);
    }
}

CachedPtr ObjectCache::put(const CachedPtr& object) {
  const std::lock_guard lock(mutex_);
  CachedPtr before;
  if (const auto found = objects_.find(object); found != objects_.end()) {
    before = *found;
    unindex(before);
    objects_.erase(found);
  }
  objects_.insert(object);
  index(object);
  return before;
}

CachedPtr ObjectCache::erase(std::string_view namespace_name, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(Name(namespace_name, name));
  if (found == objects_.end()) return nullptr;
  CachedPtr before = *found;
  unindex(before);
  objects_.erase(found);
  return before;
}

CachedPtr ObjectCache::get(std::string_view namespace_name, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(Name(namespace_name, name));
  return found == objects_.end() ? nullptr : *found;
}

std::vector<CachedPtr> ObjectCache::list() const {
  const std::lock_guard lock(mutex_);
  return {objects_.begin(), objects_.end()};
}

std::vector<CachedPtr> ObjectCache::by_index(std::string_view index, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  for (const Index& candidate : indexes_) {
    if (candidate.name != index) continue;
    const auto found = candidate.objects.find(std::string(key));
    if (found == candidate.objects.end()) return {};
    return {found->second.begin(), found->second.end()};
  }
  return {};
}

}  // namespace sublet::kube
