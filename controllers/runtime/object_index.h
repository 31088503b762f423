// ObjectIndex: the objects of one kind under what they say of themselves (an owner, a node, a label ...).
//
// Holds handles to the latest version that its feed saw, no copies. Not thread-safe: the feed locks.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sublet/controllers/lister.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

/// The keys under which this index has the object.
std::vector<std::string> index_keys(By by, const store::Object& object);
/// The key of a label pair within a namespace, and that of selectors which no single pair decides.
std::string label_index_key(std::string_view namespace_name, std::string_view label, std::string_view value);
std::string any_label_index_key(std::string_view namespace_name);
/// Whether the object's own spec.selector selects these labels; `by` says how to read it.
bool selects(By by, const store::Object& object, const store::Index& labelled);

class ObjectIndex {
 public:
  explicit ObjectIndex(By by) : by_(by) {}
  By by() const { return by_; }
  /// Null: there was none before, or there is none after.
  void change(const store::ObjectPtr& before, const store::ObjectPtr& after);
  std::vector<store::ObjectPtr> find(std::string_view key) const;
  std::size_t size() const { return objects_.size(); }

 private:
  struct ByStoreKey {
    std::size_t operator()(const store::ObjectPtr& object) const { return std::hash<std::string_view>()(object->key); }
    bool operator()(const store::ObjectPtr& a, const store::ObjectPtr& b) const { return a->key == b->key; }
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  using Bucket = std::unordered_set<store::ObjectPtr, ByStoreKey, ByStoreKey>;

  const By by_;
  std::unordered_map<std::string, Bucket, Hash, std::equal_to<>> objects_;
};

}  // namespace sublet::controllers
