// ObjectCache: the informer's copy, keyed by namespace and name, with its extra indexes. Thread-safe.
//
// Of an object that was let go a trace stays: digests of its name and of its state, so that a list does not tell it
// anew.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/kube/informer.h"

namespace sublet::kube {

class ObjectCache {
 public:
  using KeysOf = std::function<std::vector<std::string>(const CachedObject&)>;
  void add_index(std::string name, KeysOf keys_of);

  /// Puts `object` in place of what was under its name, and returns that.
  CachedPtr put(const CachedPtr& object);
  CachedPtr erase(std::string_view namespace_name, std::string_view name);
  void let_go(const CachedPtr& object);
  /// Puts an equal object in the place of this one, if that is still the present one.
  void exchange(const CachedPtr& object, const CachedPtr& equal);
  /// Whether this very state was let go.
  bool was_let_go(const CachedObject& object) const;
  std::size_t let_go_count() const;
  /// Traces of what is not among these are no longer kept.
  void keep_traces_of(const std::vector<CachedPtr>& objects);
  CachedPtr get(std::string_view namespace_name, std::string_view name) const;
  std::vector<CachedPtr> list() const;
  std::vector<CachedPtr> by_index(std::string_view index, std::string_view key) const;

 private:
  using Name = std::pair<std::string_view, std::string_view>;
  struct ByName {
    using is_transparent = void;
    static Name name_of(const CachedPtr& object) { return {object->namespace_name, object->name}; }
    static Name name_of(const Name& name) { return name; }
    std::size_t operator()(const auto& object) const {
      const Name name = name_of(object);
      const std::hash<std::string_view> hash;
      return hash(name.first) * 31 + hash(name.second);
    }
    bool operator()(const auto& a, const auto& b) const { return name_of(a) == name_of(b); }
  };
  using ByKey = std::unordered_map<std::string, std::unordered_set<CachedPtr>>;
  struct Index {
    std::string name;
    KeysOf keys_of;
    ByKey objects;
  };
  /// Under which key of an index an object stands. The index alone has the key's text.
  struct Entry {
    ByKey* index;
    ByKey::value_type* key;
  };

  using Keys = std::vector<std::vector<std::string>>;  // one list per index; empty: in none
  struct Digest {
    std::uint64_t first = 0, second = 0;
    bool operator==(const Digest&) const = default;
  };
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept { return digest.first; }
  };
  using Traces = std::unordered_map<Digest, std::uint64_t, DigestHash>;  // of the name to that of the state
  static Digest digest(std::string_view a, std::string_view b);
  static Digest name_digest(const CachedObject& object) { return digest(object.namespace_name, object.name); }

  Keys keys_of(const CachedObject& object) const;
  void index(const CachedPtr& object, const Keys& keys) SUBLET_REQUIRES(mutex_);
  void unindex(const CachedPtr& object) SUBLET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_set<CachedPtr, ByName, ByName> objects_ SUBLET_GUARDED_BY(mutex_);
  std::unordered_map<const CachedObject*, std::vector<Entry>> entries_ SUBLET_GUARDED_BY(mutex_);
  Traces traces_ SUBLET_GUARDED_BY(mutex_);
  std::vector<Index> indexes_;  // the vector is fixed after start; contents by mutex_
};

}  // namespace sublet::kube
