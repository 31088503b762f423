// TypePlan: one struct type of the table, laid out for the engine's passes; private to schema/.
//
// The table answers questions about one field at a time; a pass over a document asks the same few of every field of
// every object. A plan holds those answers side by side: the fields in JSON order with inlined structs flattened, a
// hash from JSON names to them, and the protobuf numbers in ascending order. Plans are made on first use and live for
// ever. Threads: plan_of is safe from any thread; plans are immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace sublet::schema {

/// How a field holds its scalar().
enum class Shape : std::uint8_t { single, list, map, map_of_lists };

struct FieldPlan {
  std::string_view name;
  Field field;  // for the facts that only some passes need
  TypeId type;  // of a message
  Scalar scalar;
  Shape shape;
  bool pointer;
  bool list_message;
  bool omit_empty;
  bool omit_zero;
  bool required;
  bool constrained;  // has an enum, or is a set or map with unique items
  std::string_view default_json;
  TypeId embedded;  // the inlined struct that declares it, or kNoType

  bool collection() const { return shape != Shape::single; }
};

/// One protobuf field: a FieldPlan, or a whole inlined struct, whose fields stand in the parent's plan.
struct ProtoField {
  std::uint32_t number;
  std::uint16_t index;             // first flattened field that it covers
  const struct TypePlan* inlined;  // null: the field at `index`
};

struct TypePlan {
  TypeId type;
  std::vector<FieldPlan> fields;
  std::vector<ProtoField> proto;  // ascending by number

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  /// Index of the field with this JSON name, or npos. `expected` is tried first.
  std::size_t find(std::string_view name, std::size_t expected) const;
  const ProtoField* find_proto(std::uint32_t number) const;

  std::vector<std::uint16_t> buckets;  // open addressing, index + 1; size is a power of two
};

const TypePlan& plan_of(TypeId type);
inline const TypePlan& plan_of(Type type) { return plan_of(type.id()); }

/// The Go spelling of a type in upstream's messages: "v1.Container", "[]v1.Container", "map[string]string", "int32".
std::string go_type_name(const FieldPlan& field);
std::string go_element_name(const FieldPlan& field);
std::string go_struct_name(TypeId type);  // "v1.Container"

}  // namespace sublet::schema
