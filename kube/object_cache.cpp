#include "kube/object_cache.h"

namespace sublet::kube {

void ObjectCache::add_index(std::string name, KeysOf keys_of) {
  indexes_.push_back({std::move(name), std::move(keys_of), {}});
}

// A key function may cost far more than the cache itself (the syncer's translates a pod), so it runs once per object,
// and never under the lock that every get() needs.
ObjectCache::Keys ObjectCache::keys_of(const CachedObject& object) const {
  Keys keys;
  bool any = false;
  for (const Index& index : indexes_) {
    keys.push_back(index.keys_of(object));
    any = any || !keys.back().empty();
  }
  return any ? keys : Keys();
}

void ObjectCache::index(const CachedPtr& object, Keys keys) {
  if (keys.empty()) return;
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    for (const std::string& key : keys[i]) indexes_[i].objects[key].insert(object);
  keys_.emplace(object.get(), std::move(keys));
}

void ObjectCache::unindex(const CachedPtr& object) {
  const auto keys = keys_.find(object.get());
  if (keys == keys_.end()) return;
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    for (const std::string& key : keys->second[i]) {
      const auto found = indexes_[i].objects.find(key);
      if (found == indexes_[i].objects.end()) continue;
      found->second.erase(object);
      if (found->second.empty()) indexes_[i].objects.erase(found);
    }
  keys_.erase(keys);
}

CachedPtr ObjectCache::put(const CachedPtr& object) {
  Keys keys = keys_of(*object);
  const MutexLock lock(mutex_);
  CachedPtr before;
  if (const auto found = objects_.find(object); found != objects_.end()) {
    before = *found;
    unindex(before);
    objects_.erase(found);
  }
  objects_.insert(object);
  index(object, std::move(keys));
  return before;
}

CachedPtr ObjectCache::erase(std::string_view namespace_name, std::string_view name) {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(Name(namespace_name, name));
  if (found == objects_.end()) return nullptr;
  CachedPtr before = *found;
  unindex(before);
  objects_.erase(found);
  return before;
}

CachedPtr ObjectCache::get(std::string_view namespace_name, std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(Name(namespace_name, name));
  return found == objects_.end() ? nullptr : *found;
}

std::vector<CachedPtr> ObjectCache::list() const {
  const MutexLock lock(mutex_);
  return {objects_.begin(), objects_.end()};
}

std::vector<CachedPtr> ObjectCache::by_index(std::string_view index, std::string_view key) const {
  const MutexLock lock(mutex_);
  for (const Index& candidate : indexes_) {
    if (candidate.name != index) continue;
    const auto found = candidate.objects.find(std::string(key));
    if (found == candidate.objects.end()) return {};
    return {found->second.begin(), found->second.end()};
  }
  return {};
}

}  // namespace sublet::kube
