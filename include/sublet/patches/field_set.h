// FieldSet: which fields of an object somebody set, as a tree of path elements; what metadata.managedFields holds.
//
// A field may be a member of the set, have members below it, or both. The order of elements, and so the text of
// FieldsV1, is upstream's (sigs.k8s.io/structured-merge-diff fieldpath): names, then keys of list items, then values of
// sets, then places. A node without membership has something below it. Values: copyable, no threads involved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

/// One step down: to a member, or to an item of a list by its keys, by its own value, or by its place.
class PathElement {
 public:
  enum class Kind : std::uint8_t { field, key, value, index };

  static PathElement field(std::string_view name) { return {Kind::field, std::string(name)}; }
  /// `keys` is an object of key fields, sorted by name.
  static PathElement key(const schema::Value& keys) { return {Kind::key, keys.to_json()}; }
  static PathElement value(const schema::Value& item) { return {Kind::value, item.to_json()}; }
  static PathElement index(std::int64_t place) { return {Kind::index, std::to_string(place)}; }
  /// The same from JSON text that is already what to_json() gives.
  static PathElement of_json(Kind kind, std::string json) { return {kind, std::move(json)}; }
  /// Out of FieldsV1: "f:name", `k:{"name":"x"}`, "v:1", "i:0". not_found: of a sort that nobody knows (yet).
  static Result<PathElement> parse(std::string_view text);

  Kind kind() const { return kind_; }
  /// The name of a field; else JSON text.
  const std::string& text() const { return text_; }
  /// As parse() reads it.
  std::string spelled() const;
  /// As messages show it: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
  void append_to(std::string& path) const;
  /// Below, at or above zero, as strcmp.
  int compare(const PathElement& other) const;
  bool operator==(const PathElement& other) const = default;

 private:
  PathElement(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  Kind kind_;
  std::string text_;
};

using Path = std::vector<PathElement>;
/// `.spec.containers[name="x"].image`.
std::string text_of(std::span<const PathElement> path);

/// FieldsV1's member for the element itself, beside those for what is below it.
inline constexpr std::string_view kSelfMember = ".";

class FieldSet {
 public:
  struct Node;

  bool empty() const { return nodes_.empty(); }
  std::size_t size() const;  // members
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }

  /// The whole object (an empty path) is nobody's: ignored.
  void insert(std::span<const PathElement> path);
  bool has(std::span<const PathElement> path) const;
  /// Null: neither a member nor anything below it.
  const Node* find(const PathElement& element) const;
  /// Adds what a walk found at one element, in any order, also twice: settle() must follow. Nothing is not added.
  void attach(PathElement element, bool member, FieldSet below);
  void settle();

  void unite(const FieldSet& other);
  void unite(FieldSet&& other);
  void intersect(const FieldSet& other);
  FieldSet common(const FieldSet& other) const;  // what intersect() would leave
  /// Takes away the members of `other`, and nothing below them that is not in it, too.
  void subtract(const FieldSet& other);
  /// Takes away the members of `other` with all that is below them.
  void subtract_trees(const FieldSet& other);
  /// Drops nodes that hold nothing, after nodes() were changed by hand.
  void tidy();

  /// FieldsV1. bad_request: not of that form.
  static Result<FieldSet> from_fields_v1(const schema::Value& fields);
  /// Makes `target` that object.
  void write_fields_v1(schema::Value target) const;
  std::string fields_v1() const;

  /// Calls back for each member, members of a node before what is below any of them.
  template <class F>
  void for_each(F&& visit) const {
    Path path;
    walk(path, visit);
  }
  bool operator==(const FieldSet& other) const;

 private:
  template <class F>
  void walk(Path& path, F& visit) const;
  void write_nodes(schema::Value target) const;

  std::vector<Node> nodes_;  // ascending
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;
  FieldSet below = {};
  bool operator==(const Node& other) const = default;
};

template <class F>
void FieldSet::walk(Path& path, F& visit) const {
  for (const Node& node : nodes_) {
    if (!node.member) continue;
    path.push_back(node.element);
    visit(static_cast<const Path&>(path));
    path.pop_back();
  }
  for (const Node& node : nodes_) {
    if (node.below.empty()) continue;
    path.push_back(node.element);
    node.below.walk(path, visit);
    path.pop_back();
  }
}

}  // namespace sublet::patches
