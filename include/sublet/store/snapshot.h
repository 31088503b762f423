// Snapshot: all objects at one revision. Cheap to copy and to hold; never changes.
//
// A value. Copies share their objects and may live on any threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "sublet/store/object.h"

namespace sublet::store {

class Snapshot {
 public:
  Snapshot() = default;
  Revision revision() const;
  ObjectPtr get(std::string_view key) const;
  /// Visits the objects whose key starts with `prefix`, in key order, starting after `start_after` (empty: from the
  /// beginning); stops when `visit` returns false.
  void scan(std::string_view prefix, std::string_view start_after,
            const std::function<bool(const ObjectPtr&)>& visit) const;
  /// Returns the number of objects under the prefix (O(log n)).
  std::size_t count(std::string_view prefix) const;
  /// Returns the number of objects under the prefix whose key comes after `key` (O(log n)).
  std::size_t count_after(std::string_view prefix, std::string_view key) const;

  struct Tree;  // persistent tree, store/state/tree.h
  explicit Snapshot(std::shared_ptr<const Tree> tree, Revision revision);

 private:
  std::shared_ptr<const Tree> tree_;
  Revision revision_ = 0;
};

}  // namespace sublet::store
