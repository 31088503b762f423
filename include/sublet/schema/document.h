// Document: a JSON-shaped tree in an arena, for what must be read in depth or mutated.
//
// A Document owns an Arena and one root value. Value is a cheap handle (pointer pair) to a node in it; it stays valid,
// even while the tree around it is changed or the Document is moved, until its Document dies. Objects keep their
// members in insertion order; type-directed passes (sublet/schema/engine.h) bring them into upstream's field order.
// Handles to nothing are "missing": every read of a missing value gives the default, so
// `pod["spec"]["nodeName"].text()` needs no checks on the way. Threads: one writer at a time, or many readers. Not
// copyable by accident; clone() copies. Limits: nesting is capped at kDepthMax while parsing, so no walk over a
// Document can overflow the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/json_text.h"
#include "sublet/base/status.h"

namespace sublet::schema {

enum class NodeKind : std::uint8_t { null, boolean, integer, floating, string, array, object };

inline constexpr int kDepthMax = 256;

namespace detail {
struct Node {
  Node* next = nullptr;   // next member or item of the parent
  Node* first = nullptr;  // first child (array, object)
  Node* last = nullptr;
  const char* key = nullptr;   // member name (children of objects)
  const char* text = nullptr;  // string bytes (in the arena, not terminated)
  std::uint32_t key_size = 0;
  std::uint32_t size = 0;  // bytes of text, or number of children
  union {
    std::int64_t integer = 0;
    double floating;
    bool boolean;
  };
  NodeKind kind = NodeKind::null;
};

/// Makes `child` the last member or item of `parent`.
inline void link_last(Node* parent, Node* child) {
  child->next = nullptr;
  (parent->last ? parent->last->next : parent->first) = child;
  parent->last = child;
  ++parent->size;
}
}  // namespace detail

/// Storage of one Document's nodes and strings. Grows only; freed at once with its Document.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  detail::Node* new_node();
  /// A copy of the text that lives as long as the arena.
  std::string_view store(std::string_view text);
  /// Bytes taken from the system, for budgets.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Block;
  void* allocate(std::size_t size, std::size_t align);

  Block* blocks_ = nullptr;
  char* cursor_ = nullptr;
  char* limit_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Handle to a node. Copy freely. A default-constructed or not-found Value is missing(): reads give defaults, writes
/// through it are programming errors (asserted).
class Value {
 public:
  Value() = default;

  bool missing() const { return node_ == nullptr; }
  explicit operator bool() const { return node_ != nullptr; }
  NodeKind kind() const { return node_ ? node_->kind : NodeKind::null; }
  bool is_null() const { return node_ && node_->kind == NodeKind::null; }
  bool is_object() const { return node_ && node_->kind == NodeKind::object; }
  bool is_array() const { return node_ && node_->kind == NodeKind::array; }
  bool is_string() const { return node_ && node_->kind == NodeKind::string; }
  bool is_integer() const { return node_ && node_->kind == NodeKind::integer; }
  bool is_floating() const { return node_ && node_->kind == NodeKind::floating; }
  bool is_number() const { return is_integer() || is_floating(); }
  bool is_boolean() const { return node_ && node_->kind == NodeKind::boolean; }
  bool same_node(const Value& other) const { return node_ == other.node_; }

  // Reads. Each gives the fallback when the value is missing or of another kind.
  std::string_view text(std::string_view fallback = {}) const;
  std::string string(std::string_view fallback = {}) const { return std::string(text(fallback)); }
  std::int64_t integer(std::int64_t fallback = 0) const;
  double floating(double fallback = 0) const;  // integers widen
  bool boolean(bool fallback = false) const;
  std::string_view key() const { return node_ ? std::string_view(node_->key, node_->key_size) : std::string_view(); }
  /// Number of members or items; 0 for anything else.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Walking down. Missing stays missing.
  Value operator[](std::string_view key) const;  // member of an object
  Value at(std::size_t index) const;             // item of an array, O(index)
  /// Members by dotted path without escapes, e.g. path("metadata.namespace").
  Value path(std::string_view dotted) const;
  bool has(std::string_view key) const { return bool((*this)[key]); }

  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using pointer = const Value*;
    using reference = Value;
    iterator() = default;
    iterator(Arena* arena, detail::Node* node) : arena_(arena), node_(node) {}
    Value operator*() const { return {arena_, node_}; }
    iterator& operator++() {
      node_ = node_->next;
      return *this;
    }
    iterator operator++(int) {
      const iterator before = *this;
      ++*this;
      return before;
    }
    bool operator!=(const iterator& other) const { return node_ != other.node_; }
    bool operator==(const iterator& other) const { return node_ == other.node_; }

   private:
    Arena* arena_ = nullptr;
    detail::Node* node_ = nullptr;
  };
  /// Children in order; each child's key() is its member name. Do not erase the current child while iterating.
  iterator begin() const { return {arena_, container() ? node_->first : nullptr}; }
  iterator end() const { return {arena_, nullptr}; }

  // Writing in place: turns this node into the given kind, keeping its key and its place.
  void set_null();
  void set(bool value);
  void set(std::int64_t value);
  void set(int value) { set(static_cast<std::int64_t>(value)); }
  void set(double value);
  void set(std::string_view value);
  void set(const char* value) { set(std::string_view(value)); }
  void set(const std::string& value) { set(std::string_view(value)); }
  void set(Value other);  // deep copy, also from another Document; a missing `other` gives null
  /// Moves the content of `other` (same Document, not an ancestor of this) here without copying; `other` becomes null.
  void take(Value other);
  void make_object();  // an empty object, whatever it was
  void make_array();

  // Members of an object.
  /// Sets (or appends) a member and returns it.
  template <class T>
  Value put(std::string_view key, const T& value) {
    Value member = member_for_write(key);
    member.set(value);
    return member;
  }
  /// Appends a null member without looking for one of that name, when the caller knows that there is none: keeps bulk
  /// insertion linear.
  Value add_member(std::string_view key);
  /// The member as object / array: kept when it already is one, else replaced by an empty one.
  Value object(std::string_view key);
  Value array(std::string_view key);
  /// Removes the member; false when there was none.
  bool erase(std::string_view key);
  /// Gives a member another name at the same place; false when `from` is missing. An existing `to` is removed.
  bool rename(std::string_view from, std::string_view to);
  void clear();  // all members or items

  // Items of an array.
  template <class T>
  Value push(const T& value) {
    Value item = append();
    item.set(value);
    return item;
  }
  Value push_object();
  Value push_array();
  /// Inserts a null item before `index` (index == size appends) and returns it.
  Value insert(std::size_t index);
  /// Removes the item; false when there is none.
  bool remove(std::size_t index);
  /// Keeps only the children that `keep` accepts (arrays and objects).
  template <class Keep>
  void retain(Keep keep) {
    std::vector<detail::Node*> kept;
    for (Value child : *this)
      if (keep(child)) kept.push_back(child.node_);
    relink(kept);
  }
  /// Puts the children into this order; the vector must hold each child exactly once.
  void reorder(const std::vector<Value>& children);
  /// Sorts members by key, bytewise, as Go's encoding/json does with maps.
  void sort_keys();

  // Whole values.
  /// JSON text as Go's encoding/json writes it (escaped <, >, &, U+2028/9; floats in Go's format), members in order.
  std::string to_json() const;
  void append_json(std::string& out) const;
  /// Two-space indented, for people.
  std::string to_pretty_json() const;
  /// Deep equality; member order does not matter; 1 and 1.0 are equal.
  bool equals(const Value& other) const;

  Arena* arena() const { return arena_; }

  // For the codecs of schema/ alone, which build and reorder whole trees and cannot pay for a lookup per member.
  detail::Node* node() const { return node_; }
  static Value of(Arena* arena, detail::Node* node) { return {arena, node}; }

 private:
  friend class Document;
  Value(Arena* arena, detail::Node* node) : arena_(arena), node_(node) {}
  bool container() const { return node_ && (node_->kind == NodeKind::array || node_->kind == NodeKind::object); }
  Value member_for_write(std::string_view key);
  Value append();
  void relink(const std::vector<detail::Node*>& children);

  Arena* arena_ = nullptr;
  detail::Node* node_ = nullptr;
};

/// What parsing noticed but let pass; strict field validation turns these into errors.
struct ParseNotes {
  std::vector<std::string> duplicate_fields;  // paths such as `spec.paused`; the last value won
};

class Document {
 public:
  Document();  // root is null
  ~Document() = default;
  Document(Document&& other) noexcept = default;
  Document& operator=(Document&& other) noexcept = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  /// Parses one JSON value (strict JSON, UTF-8). bad_request when malformed, nested too deep, or an integer has more
  /// than 20 digits.
  static Result<Document> parse_json(std::string_view text, ParseNotes* notes = nullptr);
  /// An empty object.
  static Document object();
  /// A deep copy of any value.
  static Document copy_of(const Value& value);

  Value root() const { return {arena_.get(), root_}; }
  Value operator[](std::string_view key) const { return root()[key]; }
  Document clone() const { return copy_of(root()); }
  std::string to_json() const { return root().to_json(); }
  std::size_t arena_bytes() const { return arena_->bytes(); }

 private:
  std::unique_ptr<Arena> arena_;  // handles point into it, so they survive a move of the Document
  detail::Node* root_;
};

using sublet::append_json_string;
/// A float as Go's encoding/json writes it (shortest, 'e' outside 1e-6..1e21).
void append_json_float(std::string& out, double value);

}  // namespace sublet::schema
