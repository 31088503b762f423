#include "schema/type_plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <string>

namespace sublet::schema {

namespace {

std::size_t hash_name(std::string_view name) {
  std::size_t hash = name.size();
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash ^ (hash >> 7);
}

bool has_type(Scalar scalar) {
  return scalar == Scalar::message || scalar == Scalar::schema_or_array || scalar == Scalar::schema_or_bool ||
         scalar == Scalar::schema_or_strings;
}

FieldPlan plan_field(const TableData& table, const Field& field) {
  const std::uint32_t index = TableData::index_of(field);
  const TypeId type = has_type(field.scalar()) ? table.fields[index].type : kNoType;
  return FieldPlan{
      .name = field.name(),
      .table = &table,
      .message = type == kNoType ? nullptr : &table.plans[type],
      .index = index,
      .type_id = type,
      .embedded_id = kNoType,
      .scalar = field.scalar(),
      .shape = field.shape(),
      .pointer = field.pointer(),
      .list_message = field.list_message(),
      .omit_empty = field.omit_empty(),
      .omit_zero = field.omit_zero(),
      .required = field.required(),
      .constrained =
          !field.enum_values().empty() || field.list_type() == ListType::set || field.list_type() == ListType::map,
      .has_default = !field.default_json().empty(),
  };
}

void flatten(TypePlan& plan, const TableData& table, Type type) {
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    const auto index = static_cast<std::uint16_t>(plan.fields.size());
    const TypePlan* inlined = nullptr;
    if (field.inlined()) {
      inlined = &plan_of(field.type());
      for (FieldPlan below : inlined->fields) {
        if (below.embedded_id == kNoType) below.embedded_id = TableData::id_of(inlined->type);
        plan.fields.push_back(below);
      }
    } else {
      plan.fields.push_back(plan_field(table, field));
    }
    if (field.proto_number() != 0) plan.proto.push_back({field.proto_number(), index, inlined});
  }
}

void index_names(TypePlan& plan) {
  plan.buckets.assign(std::bit_ceil(plan.fields.size() * 2 + 1), 0);
  const std::size_t mask = plan.buckets.size() - 1;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    std::size_t slot = hash_name(plan.fields[i].name) & mask;
    while (plan.buckets[slot] != 0) slot = (slot + 1) & mask;
    plan.buckets[slot] = static_cast<std::uint16_t>(i + 1);
  }
}

std::unique_ptr<const TypePlan> lay_out(const TableData& table, Type type) {
  auto plan = std::make_unique<TypePlan>();
  plan->type = type;
  plan->open = type.open();
  plan->form = table.form_of(TableData::id_of(type));
  flatten(*plan, table, type);
  plan->fields.shrink_to_fit();
  std::sort(plan->proto.begin(), plan->proto.end(),
            [](const ProtoField& a, const ProtoField& b) { return a.number < b.number; });
  plan->proto.shrink_to_fit();
  index_names(*plan);
  return plan;
}

const TypePlan kEmptyPlan{{}, false, nullptr, {}, {}, {0}};

}  // namespace

const TypePlan& make_plan(const TableData& table, TypeId id) {
  if (id == kNoType) return kEmptyPlan;
  std::atomic<const TypePlan*>& slot = table.plans[id];
  if (id >= table.types.size()) {  // the plan of another table's type: only remembered here
    const TypePlan& imported = plan_of(table.type(id));
    slot.store(&imported, std::memory_order_release);
    return imported;
  }
  std::unique_ptr<const TypePlan> made = lay_out(table, table.type(id));
  const TypePlan* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *expected;  // another thread was faster
}

const TypePlan& plan_of(Type type) { return type ? plan_of(*TableData::of(type), TableData::id_of(type)) : kEmptyPlan; }

std::size_t TypePlan::find(std::string_view name, std::size_t expected) const {
  if (expected < fields.size() && fields[expected].name == name) return expected;
  const std::size_t mask = buckets.size() - 1;
  for (std::size_t slot = hash_name(name) & mask; buckets[slot] != 0; slot = (slot + 1) & mask)
    if (fields[buckets[slot] - 1u].name == name) return buckets[slot] - 1u;
  return npos;
}

const ProtoField* TypePlan::find_proto(std::uint32_t number) const {
  const auto found = std::lower_bound(proto.begin(), proto.end(), number,
                                      [](const ProtoField& field, std::uint32_t n) { return field.number < n; });
  return found != proto.end() && found->number == number ? &*found : nullptr;
}

std::string go_struct_name(Type type) {
  if (!type) return "interface {}";
  const std::string_view name = type.name();
  const auto last = name.rfind('.');
  const auto before = last == std::string_view::npos || last == 0 ? last : name.rfind('.', last - 1);
  return std::string(before == std::string_view::npos ? name : name.substr(before + 1));
}

std::string go_element_name(const FieldPlan& field) {
  // In the order of the enum.
  static constexpr std::array<std::string_view, 17> kNames{"string",
                                                           "bool",
                                                           "int32",
                                                           "int64",
                                                           "float64",
                                                           "[]uint8",
                                                           "resource.Quantity",
                                                           "intstr.IntOrString",
                                                           "v1.Time",
                                                           "v1.MicroTime",
                                                           "v1.Duration",
                                                           "v1.FieldsV1",
                                                           "runtime.RawExtension",
                                                           "v1.JSON",
                                                           "v1.JSONSchemaPropsOrArray",
                                                           "v1.JSONSchemaPropsOrBool",
                                                           "v1.JSONSchemaPropsOrStringArray"};
  static_assert(kNames.size() == static_cast<std::size_t>(Scalar::message));
  if (field.scalar == Scalar::message) return go_struct_name(field.type());
  return std::string(kNames[static_cast<std::size_t>(field.scalar)]);
}

std::string go_type_name(const FieldPlan& field) {
  static constexpr std::array<std::string_view, 4> kPrefixes{"", "[]", "map[string]", "map[string][]"};
  return std::string(kPrefixes[static_cast<std::size_t>(field.shape)]) + go_element_name(field);
}

}  // namespace sublet::schema
