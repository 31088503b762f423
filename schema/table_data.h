// TableData: the rows of one table, and how they become handles; private to schema/.
//
// The built-in table's rows are the generated arrays; a compiled table's stand in memory of its own. Texts are numbers
// of strings, lists places in `lists`, types and fields numbers of rows, so a table of either sort has no pointers.
// A field's type may also be one of `imports`: types of the built-in table (ObjectMeta), numbered on from this table's.
// Plans (type_plan.h) are made on first use and belong to the table.
// Threads: immutable, but for the plans, which are safe from any thread.
#pragma once

#include <atomic>
#include <cassert>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sublet/schema/table.h"

namespace sublet::schema {

using TypeId = std::uint16_t;
inline constexpr TypeId kNoType = 0xffff;

// Rows as tools/schema/sublet_schema/emit.py writes them. `list` members are places in `lists`, all other texts are
// numbers of strings.
struct TypeRow {
  std::uint16_t name, first_field, field_count, first_proto, proto_count, flags;
};
struct FieldRow {
  std::uint16_t name, type, flags, proto_number, extra;
  std::uint8_t scalar, merging;
};
struct ExtraRow {
  std::uint16_t list_map_keys, enum_values, patch_merge_key, default_json;
};
struct KindRow {
  std::uint16_t kind, group, version, type;
};
struct GroupRow {
  std::uint16_t name, versions, served;
};
struct ResourceRow {
  std::uint16_t group, version, resource, kind, list_kind, singular, storage_group, storage_version, storage_hash;
  std::uint16_t type, verbs, short_names, categories, first_subresource, subresource_count, namespaced, served,
      delete_returns_object;
};
struct SubresourceRow {
  std::uint16_t name, group, version, kind, verbs;
};

enum TypeFlag : std::uint16_t {
  kAtomicType = 1 << 0,
  kOpenType = 1 << 1,
};

enum FieldFlag : std::uint16_t {
  kRepeated = 1 << 0,
  kMap = 1 << 1,
  kMapOfLists = 1 << 2,
  kListMessage = 1 << 3,
  kPointer = 1 << 4,
  kOmitEmpty = 1 << 5,
  kOmitZero = 1 << 6,
  kInlined = 1 << 7,
  kRequired = 1 << 8,
};

struct TypePlan;
class ObjectForm;

struct TableData {
  TableData() = default;
  virtual ~TableData() = default;  // a compiled table's rows stand in what derives from this
  TableData(const TableData&) = delete;
  TableData& operator=(const TableData&) = delete;

  std::string_view release;
  std::span<const TypeRow> types;
  std::span<const FieldRow> fields;
  std::span<const ExtraRow> extras;
  std::span<const std::uint8_t> proto_order;
  std::span<const std::uint16_t> lists;
  std::span<const KindRow> kinds;  // ordered by kind, group, version
  std::span<const GroupRow> groups;
  std::span<const ResourceRow> resources;
  std::span<const SubresourceRow> subresources;
  const char* pool = nullptr;
  const std::uint32_t* offsets = nullptr;
  std::span<const Type> imports;
  bool custom = false;                            // compiled at run time
  std::atomic<const TypePlan*>* plans = nullptr;  // one per type and import; a type's own plan is the table's

  std::string_view text(std::uint16_t number) const {
    return {pool + offsets[number], offsets[number + 1] - offsets[number]};
  }
  StringList list(std::uint16_t place) const { return {this, place}; }
  Type type(TypeId id) const {
    if (id < types.size()) return {this, id};
    return id == kNoType ? Type() : imports[id - types.size()];
  }
  Field field(std::uint32_t index) const { return {this, index}; }
  const TypeRow& row(TypeId id) const {
    assert(id < types.size());
    return types[id];
  }

  /// Of a type whose members a kind made at run time knows beside its fields.
  virtual const ObjectForm* form_of(TypeId) const { return nullptr; }
  /// Deletes the plans that were made.
  void end_plans();
  /// By definition name; the built-in table's types stand in that order, others are scanned.
  Type find_type(std::string_view definition_name) const;
  /// Of exactly this group and version.
  Type find_kind(std::string_view group, std::string_view version, std::string_view kind) const;

  // Back from a handle.
  static const TableData* of(Type type) { return type.data_; }
  static TypeId id_of(Type type) { return type.data_ ? type.index_ : kNoType; }
  static std::uint32_t index_of(const Field& field) { return field.index_; }
};

}  // namespace sublet::schema
