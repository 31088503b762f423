#include "kube/object_cache.h"

#include <cstring>

#include "sublet/net/digest.h"

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

void ObjectCache::index(const CachedPtr& object, const Keys& keys) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::string& key : keys[i]) {
      ByKey::value_type& objects = *indexes_[i].objects.try_emplace(key).first;
      if (objects.second.insert(object).second) entries.push_back({&indexes_[i].objects, &objects});
    }
  if (entries.empty()) return;
  entries.shrink_to_fit();
  entries_.emplace(object.get(), std::move(entries));
}

void ObjectCache::unindex(const CachedPtr& object) {
  const auto entries = entries_.find(object.get());
  if (entries == entries_.end()) return;
  for (const auto& [index, key] : entries->second) {
    key->second.erase(object);
    if (key->second.empty()) index->erase(index->find(key->first));
  }
  entries_.erase(entries);
}

CachedPtr ObjectCache::put(const CachedPtr& object) {
  const Keys keys = keys_of(*object);
  const MutexLock lock(mutex_);
  CachedPtr before;
  if (const auto found = objects_.find(object); found != objects_.end()) {
    before = *found;
    unindex(before);
    objects_.erase(found);
  }
  objects_.insert(object);
  index(object, keys);
  if (!traces_.empty()) traces_.erase(name_digest(*object));
  return before;
}

CachedPtr ObjectCache::erase(std::string_view namespace_name, std::string_view name) {
  const MutexLock lock(mutex_);
  if (!traces_.empty()) traces_.erase(digest(namespace_name, name));
  const auto found = objects_.find(Name(namespace_name, name));
  if (found == objects_.end()) return nullptr;
  CachedPtr before = *found;
  unindex(before);
  objects_.erase(found);
  return before;
}

// A hash that nobody can aim at: who names two objects so that they meet would have one of them never told.
ObjectCache::Digest ObjectCache::digest(std::string_view a, std::string_view b) {
  const auto hash = net::sha256(std::string(a).append(1, '\0').append(b));
  Digest digest;
  std::memcpy(&digest.first, hash.data(), sizeof digest.first);
  std::memcpy(&digest.second, hash.data() + sizeof digest.first, sizeof digest.second);
  return digest;
}

void ObjectCache::let_go(const CachedPtr& object) {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(object);
  if (found == objects_.end() || *found != object) return;
  unindex(object);
  objects_.erase(found);
  traces_[name_digest(*object)] = digest(object->uid, object->resource_version).first;
}

void ObjectCache::exchange(const CachedPtr& object, const CachedPtr& equal) {
  const Keys keys = keys_of(*equal);
  const MutexLock lock(mutex_);
  const auto found = objects_.find(object);
  if (found == objects_.end() || *found != object) return;
  unindex(object);
  objects_.erase(found);
  objects_.insert(equal);
  index(equal, keys);
}

bool ObjectCache::was_let_go(const CachedObject& object) const {
  const MutexLock lock(mutex_);
  if (traces_.empty()) return false;
  const auto trace = traces_.find(name_digest(object));
  return trace != traces_.end() && trace->second == digest(object.uid, object.resource_version).first;
}

std::size_t ObjectCache::let_go_count() const {
  const MutexLock lock(mutex_);
  return traces_.size();
}

void ObjectCache::keep_traces_of(const std::vector<CachedPtr>& objects) {
  const MutexLock lock(mutex_);
  if (traces_.empty()) return;
  Traces kept;
  for (const CachedPtr& object : objects)
    if (auto trace = traces_.extract(name_digest(*object))) kept.insert(std::move(trace));
  traces_ = std::move(kept);
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
