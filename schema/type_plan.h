// TypePlan: one struct type of the table, laid out for the engine's passes; private to schema/.
//
// The table answers questions about one field at a time; a pass over a document asks the same few of every field of
// every object. A plan holds those answers side by side: the fields in JSON order with inlined structs flattened, a
// hash from JSON names to them, and the protobuf numbers in ascending order. Plans are made on first use and live as
// long as the table that holds the type. Threads: plan_of is safe from any thread; plans are immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/table_data.h"
#include "sublet/schema/document.h"

namespace sublet::schema {

struct FieldPlan {
  std::string_view name;
  const TableData* table;                 // of the struct that declares it
  std::atomic<const TypePlan*>* message;  // where the plan of its type is, once it is made; null: not a message
  std::uint32_t index;                    // its field there
  TypeId type_id;                         // of a message, in `table`
  TypeId embedded_id;                     // the inlined struct that declares it, in `table`; or kNoType
  Scalar scalar;
  Shape shape;
  bool pointer;
  bool list_message;
  bool omit_empty;
  bool omit_zero;
  bool required;
  bool constrained;  // has an enum, or is a set or map with unique items
  bool has_default;

  bool collection() const { return shape != Shape::single; }
  Type type() const { return table->type(type_id); }
  Type embedded() const { return table->type(embedded_id); }
  std::string_view default_json() const { return has_default ? field().default_json() : std::string_view(); }
  Field field() const { return table->field(index); }  // for the facts that only some passes need
};

/// One protobuf field: a FieldPlan, or a whole inlined struct, whose fields stand in the parent's plan.
struct ProtoField {
  std::uint32_t number;
  std::uint16_t index;             // first flattened field that it covers
  const struct TypePlan* inlined;  // null: the field at `index`
};

struct TypePlan {
  Type type;
  bool open = false;                 // keeps members that are no fields
  const ObjectForm* form = nullptr;  // says what they may be; null: anything
  std::vector<FieldPlan> fields;
  std::vector<ProtoField> proto;  // ascending by number

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  /// Index of the field with this JSON name, or npos. `expected` is tried first.
  std::size_t find(std::string_view name, std::size_t expected) const;
  const ProtoField* find_proto(std::uint32_t number) const;

  std::vector<std::uint16_t> buckets;  // open addressing, index + 1; size is a power of two
};

const TypePlan& make_plan(const TableData& table, TypeId type);
inline const TypePlan& plan_of(const TableData& table, TypeId type) {
  const TypePlan* made = type == kNoType ? nullptr : table.plans[type].load(std::memory_order_acquire);
  return made ? *made : make_plan(table, type);
}
/// Of a message's type.
inline const TypePlan& plan_of(const FieldPlan& field) {
  const TypePlan* made = field.message->load(std::memory_order_acquire);
  return made ? *made : make_plan(*field.table, field.type_id);
}
const TypePlan& plan_of(Type type);

/// The Go spelling of a type in upstream's messages: "v1.Container", "[]v1.Container", "map[string]string", "int32".
std::string go_type_name(const FieldPlan& field);
std::string go_element_name(const FieldPlan& field);
std::string go_struct_name(Type type);  // "v1.Container"

}  // namespace sublet::schema
