#include "schema/object_shaper.h"

#include <algorithm>

namespace sublet::schema {

using detail::Node;

void name_node(Node* node, std::string_view key) {
  node->key = key.data();
  node->key_size = static_cast<std::uint32_t>(key.size());
}

void clear_node(Node* node, NodeKind kind) {
  node->first = node->last = nullptr;
  node->text = nullptr;
  node->size = 0;
  node->integer = 0;
  node->kind = kind;
}

void set_static_text(Node* node, std::string_view text) {
  clear_node(node, NodeKind::string);
  node->text = text.data();
  node->size = static_cast<std::uint32_t>(text.size());
}

namespace {

/// Go's omitempty for the kinds on which it has an effect.
bool is_zero(const Node* node) {
  switch (node->kind) {
    case NodeKind::null:
      return true;
    case NodeKind::boolean:
      return !node->boolean;
    case NodeKind::integer:
      return node->integer == 0;
    case NodeKind::floating:
      return node->floating == 0;
    case NodeKind::string:
    case NodeKind::array:
    case NodeKind::object:
      return node->size == 0;
  }
  return false;
}

/// Kinds that are no structs in Go, so that omitempty drops their zero value.
bool plain(Scalar scalar) {
  switch (scalar) {
    case Scalar::string:
    case Scalar::boolean:
    case Scalar::int32:
    case Scalar::int64:
    case Scalar::floating:
    case Scalar::bytes:
    case Scalar::json:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ObjectShaper::close(Node* object, const TypePlan& plan, std::size_t frame, Node* others) {
  clear_node(object, NodeKind::object);
  for (std::size_t i = 0; i < plan.fields.size(); ++i)
    if (Node* member = settle(plan.fields[i], slots_[frame + i])) detail::link_last(object, member);
  while (others) {
    Node* const next = others->next;
    detail::link_last(object, others);
    others = next;
  }
  slots_.resize(frame);
}

Node* ObjectShaper::settle(const FieldPlan& field, Node* member) {
  if (field.collection() && !field.pointer) {
    if (field.omit_empty && (is_absent(member) || member->size == 0)) return nullptr;
    // Upstream stores protobuf, which does not know an empty list from none.
    if (member && member->size == 0) clear_node(member, NodeKind::null);
    return member ? member : new_member(field);
  }
  if (field.pointer) {
    if (!is_absent(member)) return member;
    return field.omit_empty || field.omit_zero ? nullptr : new_member(field);
  }
  return settle_single(field, member);
}

Node* ObjectShaper::settle_single(const FieldPlan& field, Node* member) {
  if (plain(field.scalar)) {
    const bool drops_zero = field.omit_empty || field.omit_zero;
    if (drops_zero && (member == nullptr || is_zero(member))) return nullptr;
  } else if (field.omit_zero) {
    // The zero of a struct has been written as no members at all; of a time, as null.
    if (is_absent(member) || (field.scalar == Scalar::message && member->size == 0)) return nullptr;
  }
  if (!is_absent(member)) return member;
  if (!member) member = new_member(field);
  make_zero(member, field);
  return member;
}

Node* ObjectShaper::new_member(const FieldPlan& field) {
  Node* member = arena_.new_node();
  name_node(member, field.name);
  return member;
}

void ObjectShaper::make_zero(Node* node, const FieldPlan& field) {
  switch (field.scalar) {
    case Scalar::string:
      return set_static_text(node, "");
    case Scalar::boolean:
      return clear_node(node, NodeKind::boolean);
    case Scalar::int32:
    case Scalar::int64:
    case Scalar::int_or_string:
    case Scalar::floating:  // 0 and 0.0 are one text in JSON
      return clear_node(node, NodeKind::integer);
    case Scalar::quantity:
      return set_static_text(node, "0");
    case Scalar::duration:
      return set_static_text(node, "0s");
    case Scalar::message:
      return fill_struct(node, plan_of(field));
    case Scalar::bytes:
    case Scalar::time:
    case Scalar::micro_time:
    case Scalar::fields_v1:
    case Scalar::raw_extension:
    case Scalar::json:
    case Scalar::schema_or_array:
    case Scalar::schema_or_bool:
    case Scalar::schema_or_strings:
      return clear_node(node, NodeKind::null);
  }
}

void ObjectShaper::fill_struct(Node* node, const TypePlan& plan) { close(node, plan, open(plan)); }

void ObjectShaper::sort_members(Node* map) {
  bool sorted = true;
  for (const Node* member = map->first; sorted && member && member->next; member = member->next)
    sorted = key_of(member) < key_of(member->next);
  if (sorted) return;
  sorting_.clear();
  for (Node* member = map->first; member; member = member->next) sorting_.push_back(member);
  std::stable_sort(sorting_.begin(), sorting_.end(),
                   [](const Node* a, const Node* b) { return key_of(a) < key_of(b); });
  clear_node(map, NodeKind::object);
  for (std::size_t i = 0; i < sorting_.size(); ++i)
    if (i + 1 == sorting_.size() || key_of(sorting_[i]) != key_of(sorting_[i + 1])) detail::link_last(map, sorting_[i]);
}

}  // namespace sublet::schema
