// PersistentMap: key -> Object, where every change makes a new map that shares all but one path with the old one.
//
// A B+ tree of immutable nodes (at most kFanOut slots, sized exactly) with reference counts and the number of objects
// below each branch. Copying a map is one atomic increment, so a snapshot per batch is free; put and erase copy one
// path; count by prefix is two descents. A branch names its smallest object by plain pointer: the leaf below owns it.
// Threads: a map object is a value (one thread at a time); maps that share nodes may live on any threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/store/snapshot.h"

namespace sublet::store {

class PersistentMap {
 public:
  static constexpr std::size_t kFanOut = 16;  // small: copying a slot touches the counter of what it points to

  /// Of objects in the order of their keys, each key once; much cheaper than as many puts, and with full nodes.
  static PersistentMap of_sorted(std::vector<ObjectPtr> objects);

  ObjectPtr find(std::string_view key) const;
  /// Adds or replaces by object->key; returns what was there.
  ObjectPtr put(ObjectPtr object);
  /// Returns what was removed; null when there was nothing.
  ObjectPtr erase(std::string_view key);
  std::size_t size() const;
  std::size_t count(std::string_view prefix) const;
  /// Returns the number of those that come after `key`.
  std::size_t count_after(std::string_view prefix, std::string_view key) const;
  void scan(std::string_view prefix, std::string_view start_after,
            const std::function<bool(const ObjectPtr&)>& visit) const;
  /// Checks the tree's own rules (order, counts, sizes, depths); for tests.
  bool valid() const;

  struct Node;
  /// Counted reference to an immutable node.
  class NodePtr {
   public:
    NodePtr() = default;
    explicit NodePtr(Node* adopted) : node_(adopted) {}
    NodePtr(const NodePtr& other);
    NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    NodePtr& operator=(NodePtr other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~NodePtr();
    const Node* get() const { return node_; }
    const Node* operator->() const { return node_; }
    const Node& operator*() const { return *node_; }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    Node* node_ = nullptr;
  };

 private:
  NodePtr root_;
};

/// What a Snapshot holds: declared in the contract, so that its header needs no tree.
struct Snapshot::Tree {
  PersistentMap map;
};

}  // namespace sublet::store
