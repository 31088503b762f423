// remove_items(), and what is done to a set by its type alone: add_named_fields(), reconcile().
#include "patches/merge/item_key.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::patches {
namespace {

using schema::Value;

void remove_below(Value value, const FieldSet& items, const MergeType* type);

/// What an element of a set says about the value that stands there.
enum class Fate : std::uint8_t { stays, goes };

Fate settle(Value value, const FieldSet::Node* node, const MergeType* type) {
  if (!node) return Fate::stays;
  if (node->member) return Fate::goes;
  remove_below(value, node->below, type);
  return Fate::stays;
}

void remove_below(Value value, const FieldSet& items, const MergeType* type) {
  const TypeChoice choice = choice_of(type, value);
  if (choice.map && !choice.map->atomic && value.is_object()) {
    value.retain([&](Value member) {
      const auto* node = items.find(PathElement::field(member.key()));
      return settle(member, node, choice.map->type_of(member.key())) == Fate::stays;
    });
  } else if (!choice.map && choice.list && !choice.list->atomic && value.is_array()) {
    value.retain([&](Value item) {
      const auto key = item_key(*choice.list, item);
      return !key || settle(item, items.find(*key), choice.list->item) == Fate::stays;
    });
  } else if (!choice.map && choice.scalar != MergeScalar::none) {
    return;
  } else {
    value.set_null();
  }
  if (value.empty()) value.set_null();
}

const MergeType* type_below(const PathElement& element, const MergeType* type) {
  if (!type) return nullptr;
  if (element.kind() == PathElement::Kind::field && type->map) return type->map->type_of(element.text());
  if (element.kind() == PathElement::Kind::key && type->list) return type->list->item;
  return nullptr;
}

void name_fields(FieldSet& set, const MergeType* type) {
  for (FieldSet::Node& node : set.nodes()) {
    if (node.below.empty()) continue;
    if (node.element.kind() == PathElement::Kind::field && type && type->map && type->map->find(node.element.text()))
      node.member = true;
    name_fields(node.below, type_below(node.element, type));
  }
}

void reconcile_below(FieldSet& set, const MergeType& type);

void reconcile_node(FieldSet::Node& node, const MergeType* type) {
  if (!type) return;
  const bool one_thing = type->map ? type->map->atomic : type->scalar == MergeScalar::none && type->list->atomic;
  if (!one_thing || node.below.empty()) return reconcile_below(node.below, *type);
  node.member = true;  // who owned something in it owns it all
  node.below = {};
}

void reconcile_below(FieldSet& set, const MergeType& type) {
  if (type.map) {
    if (type.map->deduced) return;
    for (FieldSet::Node& node : set.nodes())
      reconcile_node(node, node.element.kind() == PathElement::Kind::field ? type.map->type_of(node.element.text())
                                                                           : type.map->other);
  } else if (type.scalar == MergeScalar::none && type.list) {
    for (FieldSet::Node& node : set.nodes()) reconcile_node(node, type.list->item);
  }
}

}  // namespace

void remove_items(Value value, const FieldSet& items, const MergeType& type) { remove_below(value, items, &type); }

void add_named_fields(FieldSet& set, const MergeType& type) { name_fields(set, &type); }

void reconcile(FieldSet& set, const MergeType& type) { reconcile_below(set, type); }

}  // namespace sublet::patches
