// ObjectShaper: gives the members of one object upstream's order and Go's rules for what is absent; private to schema/.
//
// A pass opens a frame for an object's type, puts each member's node into the slot of its field (in any order, at any
// depth of recursion in between), and closes it: the members are then linked in field order, empty ones dropped or
// missing ones added exactly as encoding/json would for the Go struct. One ObjectShaper serves one pass over one
// document.
#pragma once

#include <string_view>
#include <vector>

#include "schema/type_plan.h"
#include "sublet/schema/document.h"

namespace sublet::schema {

class ObjectShaper {
 public:
  /// `growth` is what the pass may honestly add to the arena, beside a fixed allowance.
  ObjectShaper(Arena& arena, std::size_t growth) : arena_(arena), budget_(arena.bytes() + growth + kGrowthAllowance) {}

  Arena& arena() { return arena_; }

  /// Makes room for the members of an object; the result names the frame.
  std::size_t open(const TypePlan& plan) {
    const std::size_t frame = slots_.size();
    slots_.resize(frame + plan.fields.size(), nullptr);
    return frame;
  }
  detail::Node*& slot(std::size_t frame, std::size_t field) { return slots_[frame + field]; }
  /// Links the members into `object` and drops the frame, which must be the last one opened. `others` are the members
  /// that are no fields, chained by `next`: an open type's come last, as they came.
  void close(detail::Node* object, const TypePlan& plan, std::size_t frame, detail::Node* others = nullptr);

  /// The node of a null item or map value: Go's zero value of the element.
  void make_zero(detail::Node* node, const FieldPlan& field);
  /// Sorts members by key, bytewise; of equal keys the last one stays.
  void sort_members(detail::Node* map);

  /// Whether the document has grown beyond what any honest body needs: a list of empty structs, two bytes each on the
  /// wire, becomes hundreds of bytes of defaulted members each.
  bool over_budget() const { return arena_.bytes() > budget_; }

 private:
  static constexpr std::size_t kGrowthAllowance = 16u << 20;

  detail::Node* settle(const FieldPlan& field, detail::Node* member);
  detail::Node* settle_single(const FieldPlan& field, detail::Node* member);
  detail::Node* new_member(const FieldPlan& field);
  void fill_struct(detail::Node* node, const TypePlan& plan);

  Arena& arena_;
  std::size_t budget_;
  std::vector<detail::Node*> slots_;
  std::vector<detail::Node*> sorting_;
};

// Small node helpers that every pass needs.
inline std::string_view key_of(const detail::Node* node) { return {node->key, node->key_size}; }
inline std::string_view text_of(const detail::Node* node) { return {node->text, node->size}; }
/// Missing, or null.
inline bool is_absent(const detail::Node* node) { return node == nullptr || node->kind == NodeKind::null; }
void name_node(detail::Node* node, std::string_view key);         // the key must outlive the document
void clear_node(detail::Node* node, NodeKind kind);               // keeps key and place
void set_static_text(detail::Node* node, std::string_view text);  // the text must outlive the document

}  // namespace sublet::schema
