#include "store/state/tree.h"

#include <new>

namespace sublet::store {

// Slots follow the header in the same allocation: ObjectPtr in a leaf, Branch in an inner node.
struct alignas(8) PersistentMap::Node {
  mutable std::atomic<std::uint32_t> references{1};
  std::uint32_t total = 0;  // objects below
  std::uint16_t size = 0;   // slots
  bool leaf = false;
};

namespace {

using Node = PersistentMap::Node;
using NodePtr = PersistentMap::NodePtr;
constexpr std::size_t kFanOut = PersistentMap::kFanOut;
constexpr std::size_t kSmall = kFanOut / 4;       // below this a node looks for a neighbour to join
constexpr std::size_t kJoined = kFanOut * 3 / 4;  // and joins when both together leave some space

struct Branch {
  NodePtr child;
  const Object* smallest = nullptr;  // of child; owned by the leaf
};
static_assert(sizeof(Branch) == sizeof(ObjectPtr) && alignof(Branch) == alignof(ObjectPtr));
static_assert(sizeof(Node) % alignof(Branch) == 0);

template <class Slot>
Slot* slots(Node& node) {
  return reinterpret_cast<Slot*>(&node + 1);
}
template <class Slot>
const Slot* slots(const Node& node) {
  return reinterpret_cast<const Slot*>(&node + 1);
}

std::string_view key_of(const ObjectPtr& slot) { return slot->key; }
std::string_view key_of(const Branch& slot) { return slot.smallest->key; }
std::size_t total_of(const ObjectPtr&) { return 1; }
std::size_t total_of(const Branch& slot);

const Object* smallest_of(const Node& node) {
  return node.leaf ? slots<ObjectPtr>(node)[0].get() : slots<Branch>(node)[0].smallest;
}
Branch branch_to(NodePtr child) {
  const Object* smallest = smallest_of(*child);
  return Branch{std::move(child), smallest};
}

/// A node's slots with some removed and some added at one place: what every change of a node comes down to.
template <class Slot>
struct Edit {
  const Slot* old;
  std::size_t old_size;
  std::size_t at;
  std::size_t removed;
  Slot* added;
  std::size_t added_size;

  std::size_t size() const { return old_size - removed + added_size; }
  Slot take(std::size_t i) const {
    if (i < at) return old[i];
    if (i < at + added_size) return std::move(added[i - at]);
    return old[i - added_size + removed];
  }
};

/// A node of the edit's slots [from, to).
template <class Slot>
NodePtr build(const Edit<Slot>& edit, std::size_t from, std::size_t to) {
  void* memory = ::operator new(sizeof(Node) + (to - from) * sizeof(Slot));
  Node* node = new (memory) Node;
  node->leaf = std::is_same_v<Slot, ObjectPtr>;
  Slot* out = slots<Slot>(*node);
  for (std::size_t i = from; i < to; ++i, ++node->size) {
    new (&out[node->size]) Slot(edit.take(i));
    node->total += static_cast<std::uint32_t>(total_of(out[node->size]));
  }
  return NodePtr(node);
}

/// Number of leading slots whose key satisfies `before`, which must be true for a prefix of the order.
template <class Slot, class Before>
std::size_t partition(const Node& node, const Before& before) {
  const Slot* slot = slots<Slot>(node);
  std::size_t low = 0, high = node.size;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (before(key_of(slot[middle])))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// The child that holds `key` if any does: the last whose smallest key is not above it, else the first.
std::size_t child_index(const Node& node, std::string_view key) {
  const std::size_t above = partition<Branch>(node, [&](std::string_view k) { return k <= key; });
  return above == 0 ? 0 : above - 1;
}

/// Nodes over `slots`, as full as they get.
template <class Slot>
std::vector<Branch> nodes_over(std::vector<Slot>& below) {
  std::vector<Branch> nodes;
  nodes.reserve(below.size() / kFanOut + 1);
  for (std::size_t at = 0; at < below.size(); at += kFanOut) {
    const std::size_t size = std::min(kFanOut, below.size() - at);
    nodes.push_back(branch_to(build(Edit<Slot>{nullptr, 0, 0, 0, &below[at], size}, 0, size)));
  }
  return nodes;
}

/// Result of a put below: one node, or two when it had to split.
struct Grown {
  NodePtr left, right;
};
template <class Slot>
Grown grow(const Edit<Slot>& edit) {
  const std::size_t size = edit.size();
  if (size <= kFanOut) return {build(edit, 0, size), {}};
  return {build(edit, 0, size / 2), build(edit, size / 2, size)};
}

Grown put_below(const Node& node, ObjectPtr&& object, ObjectPtr& replaced) {
  const std::string_view key = object->key;
  if (node.leaf) {
    const ObjectPtr* slot = slots<ObjectPtr>(node);
    const std::size_t at = partition<ObjectPtr>(node, [&](std::string_view k) { return k < key; });
    const bool same = at < node.size && slot[at]->key == key;
    if (same) replaced = slot[at];
    return grow(Edit<ObjectPtr>{slot, node.size, at, same ? 1u : 0u, &object, 1});
  }
  const Branch* slot = slots<Branch>(node);
  const std::size_t at = child_index(node, key);
  Grown below = put_below(*slot[at].child, std::move(object), replaced);
  Branch added[2] = {branch_to(std::move(below.left)), {}};
  std::size_t added_size = 1;
  if (below.right) added[added_size++] = branch_to(std::move(below.right));
  return grow(Edit<Branch>{slot, node.size, at, 1, added, added_size});
}

template <class Slot>
NodePtr joined_nodes(const Node& left, const Node& right) {
  Slot added[kFanOut];
  for (std::size_t i = 0; i < right.size; ++i) added[i] = slots<Slot>(right)[i];
  const Edit<Slot> edit{slots<Slot>(left), left.size, left.size, 0, added, right.size};
  return build(edit, 0, edit.size());
}
NodePtr joined_nodes(const Node& left, const Node& right) {
  return left.leaf ? joined_nodes<ObjectPtr>(left, right) : joined_nodes<Branch>(left, right);
}

/// `node` with child `at` replaced by `child` (which may be empty or too small); null when nothing is left.
NodePtr with_shrunk_child(const Node& node, std::size_t at, NodePtr child) {
  const Branch* slot = slots<Branch>(node);
  if (!child) {
    if (node.size == 1) return {};
    return build(Edit<Branch>{slot, node.size, at, 1, nullptr, 0}, 0, node.size - 1u);
  }
  if (child->size < kSmall && node.size > 1) {
    const bool from_left = at > 0;
    const Node& neighbour = *slot[from_left ? at - 1 : at + 1].child;
    if (child->size + neighbour.size <= kJoined) {
      Branch added = branch_to(from_left ? joined_nodes(neighbour, *child) : joined_nodes(*child, neighbour));
      return build(Edit<Branch>{slot, node.size, from_left ? at - 1 : at, 2, &added, 1}, 0, node.size - 1u);
    }
  }
  Branch added = branch_to(std::move(child));
  return build(Edit<Branch>{slot, node.size, at, 1, &added, 1}, 0, node.size);
}

/// `node` without `key`; `removed` stays null, and the result is meaningless, when it is not there.
NodePtr erase_below(const Node& node, std::string_view key, ObjectPtr& removed) {
  if (node.leaf) {
    const ObjectPtr* slot = slots<ObjectPtr>(node);
    const std::size_t at = partition<ObjectPtr>(node, [&](std::string_view k) { return k < key; });
    if (at == node.size || slot[at]->key != key) return {};
    removed = slot[at];
    if (node.size == 1) return {};
    return build(Edit<ObjectPtr>{slot, node.size, at, 1, nullptr, 0}, 0, node.size - 1u);
  }
  const std::size_t at = child_index(node, key);
  NodePtr child = erase_below(*slots<Branch>(node)[at].child, key, removed);
  if (!removed) return {};
  return with_shrunk_child(node, at, std::move(child));
}

/// Number of objects whose key satisfies `before`.
template <class Before>
std::size_t rank(const Node* node, const Before& before) {
  std::size_t sum = 0;
  while (node != nullptr && !node->leaf) {
    const Branch* slot = slots<Branch>(*node);
    const std::size_t n = partition<Branch>(*node, before);
    if (n == 0) return sum;  // the smallest key of all is not before
    for (std::size_t i = 0; i + 1 < n; ++i) sum += total_of(slot[i]);
    node = slot[n - 1].child.get();
  }
  return node == nullptr ? sum : sum + partition<ObjectPtr>(*node, before);
}

/// Visits in order from the first key that is not `before` (null: from the first), while keys have the prefix and
/// `visit` says so. The keys before are below the prefix, so when a leaf's last key has it all the others do: a key is
/// looked at only where a scan begins and ends, for each look may wait for memory.
template <class Before>
bool scan_below(const Node& node, const Before* before, std::string_view prefix,
                const std::function<bool(const ObjectPtr&)>& visit) {
  if (node.leaf) {
    const ObjectPtr* slot = slots<ObjectPtr>(node);
    const auto has_prefix = [&](std::size_t i) { return std::string_view(slot[i]->key).starts_with(prefix); };
    const bool all = has_prefix(node.size - 1);
    for (std::size_t i = before ? partition<ObjectPtr>(node, *before) : 0; i < node.size; ++i)
      if ((!all && !has_prefix(i)) || !visit(slot[i])) return false;
    return true;
  }
  const Branch* slot = slots<Branch>(node);
  const std::size_t n = before ? partition<Branch>(node, *before) : 0;
  for (std::size_t i = n == 0 ? 0 : n - 1; i < node.size; ++i, before = nullptr)
    if (!scan_below(*slot[i].child, before, prefix, visit)) return false;
  return true;
}

/// Depth of a valid subtree whose keys are all above `last` (which is moved on); -1 when it breaks a rule.
int valid_depth(const Node& node, const std::string*& last) {
  if (node.size == 0 || node.size > kFanOut) return -1;
  if (node.leaf) {
    for (std::size_t i = 0; i < node.size; ++i) {
      const std::string& key = slots<ObjectPtr>(node)[i]->key;
      if (last != nullptr && *last >= key) return -1;
      last = &key;
    }
    return node.total == node.size ? 1 : -1;
  }
  int depth = 0;
  std::size_t total = 0;
  for (std::size_t i = 0; i < node.size; ++i) {
    const Branch& branch = slots<Branch>(node)[i];
    if (branch.smallest != smallest_of(*branch.child)) return -1;
    const int below = valid_depth(*branch.child, last);
    if (below < 0 || (depth != 0 && below != depth)) return -1;
    depth = below;
    total += branch.child->total;
  }
  return node.total == total ? depth + 1 : -1;
}

std::size_t total_of(const Branch& slot) { return slot.child->total; }

template <class Slot>
void destroy_slots(Node& node) {
  for (std::size_t i = 0; i < node.size; ++i) slots<Slot>(node)[i].~Slot();
}

}  // namespace

PersistentMap::NodePtr::NodePtr(const NodePtr& other) : node_(other.node_) {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}

PersistentMap::NodePtr::~NodePtr() {
  if (node_ == nullptr || node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (node_->leaf)
    destroy_slots<ObjectPtr>(*node_);
  else
    destroy_slots<Branch>(*node_);  // recursion is as deep as the tree: a handful
  node_->~Node();
  ::operator delete(node_);
}

PersistentMap PersistentMap::of_sorted(std::vector<ObjectPtr> objects) {
  PersistentMap map;
  if (objects.empty()) return map;
  std::vector<Branch> level = nodes_over(objects);
  while (level.size() > 1) level = nodes_over(level);
  map.root_ = std::move(level.front().child);
  return map;
}

ObjectPtr PersistentMap::find(std::string_view key) const {
  const Node* node = root_.get();
  if (node == nullptr) return {};
  while (!node->leaf) node = slots<Branch>(*node)[child_index(*node, key)].child.get();
  const ObjectPtr* slot = slots<ObjectPtr>(*node);
  const std::size_t at = partition<ObjectPtr>(*node, [&](std::string_view k) { return k < key; });
  return at < node->size && slot[at]->key == key ? slot[at] : ObjectPtr{};
}

ObjectPtr PersistentMap::put(ObjectPtr object) {
  if (!root_) {
    root_ = build(Edit<ObjectPtr>{nullptr, 0, 0, 0, &object, 1}, 0, 1);
    return {};
  }
  ObjectPtr replaced;
  Grown grown = put_below(*root_, std::move(object), replaced);
  if (!grown.right) {
    root_ = std::move(grown.left);
    return replaced;
  }
  Branch both[2] = {branch_to(std::move(grown.left)), branch_to(std::move(grown.right))};
  root_ = build(Edit<Branch>{nullptr, 0, 0, 0, both, 2}, 0, 2);
  return replaced;
}

ObjectPtr PersistentMap::erase(std::string_view key) {
  ObjectPtr removed;
  if (!root_) return removed;
  NodePtr shrunk = erase_below(*root_, key, removed);
  if (!removed) return removed;
  while (shrunk && !shrunk->leaf && shrunk->size == 1) shrunk = NodePtr(slots<Branch>(*shrunk)[0].child);
  root_ = std::move(shrunk);
  return removed;
}

std::size_t PersistentMap::size() const { return root_ ? root_->total : 0; }

std::size_t PersistentMap::count(std::string_view prefix) const {
  const std::size_t below = rank(root_.get(), [&](std::string_view k) { return k < prefix; });
  return rank(root_.get(), [&](std::string_view k) { return k.substr(0, prefix.size()) <= prefix; }) - below;
}

std::size_t PersistentMap::count_after(std::string_view prefix, std::string_view key) const {
  const std::size_t before =
      rank(root_.get(), [&](std::string_view k) { return k < prefix || (k.starts_with(prefix) && k <= key); });
  return rank(root_.get(), [&](std::string_view k) { return k.substr(0, prefix.size()) <= prefix; }) - before;
}

void PersistentMap::scan(std::string_view prefix, std::string_view start_after,
                         const std::function<bool(const ObjectPtr&)>& visit) const {
  if (!root_) return;
  const bool after = start_after >= prefix && !start_after.empty();
  const auto before = [&](std::string_view k) { return after ? k <= start_after : k < prefix; };
  scan_below(*root_, &before, prefix, visit);
}

bool PersistentMap::valid() const {
  const std::string* last = nullptr;
  return !root_ || valid_depth(*root_, last) > 0;
}

Snapshot::Snapshot(std::shared_ptr<const Tree> tree, Revision revision) : tree_(std::move(tree)), revision_(revision) {}

Revision Snapshot::revision() const { return revision_; }

ObjectPtr Snapshot::get(std::string_view key) const { return tree_ ? tree_->map.find(key) : ObjectPtr{}; }

void Snapshot::scan(std::string_view prefix, std::string_view start_after,
                    const std::function<bool(const ObjectPtr&)>& visit) const {
  if (tree_) tree_->map.scan(prefix, start_after, visit);
}

std::size_t Snapshot::count(std::string_view prefix) const { return tree_ ? tree_->map.count(prefix) : 0; }

std::size_t Snapshot::count_after(std::string_view prefix, std::string_view key) const {
  return tree_ ? tree_->map.count_after(prefix, key) : 0;
}

}  // namespace sublet::store
