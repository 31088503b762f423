// ObjectIndex: finds the objects of one kind by a property: an owner, a node, a label.
//
// Holds handles to the latest version that its feed saw, no copies. Not thread-safe: the feed locks.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sublet/controllers/stored_object.h"
#include "sublet/store/object.h"

namespace sublet::controllers {

/// Returns the keys under which this index has the object.
std::vector<std::string> index_keys(By by, const store::Object& object);
/// Returns the key of a label within a namespace, and the key of selectors that no single label decides.
std::string label_index_key(std::string_view namespace_name, std::string_view label, std::string_view value);
std::string any_label_index_key(std::string_view namespace_name);
/// Returns true when the object's own spec.selector selects these labels; `by` is the selector's form.
bool selects(By by, const store::Object& object, const store::Index& labelled);

class ObjectIndex {
 public:
  explicit ObjectIndex(By by) : by_(by) {}
  By by() const { return by_; }
  /// `before` is null for a new object, `after` for a deleted one.
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
