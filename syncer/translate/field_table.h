// FieldTable: what the border does with every leaf of every type that crosses it, in either direction.
//
// Rows stand per struct type, a type that several others hold once: fields_pod.cpp and fields_core.cpp for what tenants
// send to the host, fields_from_host.cpp for what the host says to tenants. A row may name several fields. `copy` is
// for leaves alone: a field that holds a struct names the rows of that struct, or crosses not at all. A schema field
// without a row fails the build (field_check.h); at run time a field without a row is refused towards the host, and
// left out towards the tenant. Order within a type: `whole` of each object first, then its fields' rows, a row's
// function before the rows that it leads into.
// Where to add: a new field is a name in a row; a new kind is its types' rows, and its line in host_kinds() or
// from_host_roots(). Immutable; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::syncer {

class Translation;
struct TranslateContext;

enum class Action : std::uint8_t {
  copy,     // crosses as it is; leaves only
  walk,     // the rows of type `into` decide
  rewrite,  // crosses changed by `function`
  clamp,    // crosses within the bounds that `function` knows, which cuts or refuses the rest
  force,    // the sender's value does not cross: the border says its own (`why` says which)
  drop,     // does not cross, and nobody needs to be told (`why` says why)
  warn,     // does not cross; the tenant gets `why` as a warning
  deny,     // refuses the object with `why`, unless the value is the type's zero
};

/// Whether something of the sender's value may cross.
constexpr bool lets_cross(Action action) {
  return action == Action::copy || action == Action::walk || action == Action::rewrite || action == Action::clamp;
}

/// Changes (or erases) `field` of `parent` in the object that crosses; reports through the Translation.
using Rewrite = void (*)(Translation& translation, schema::Value parent, schema::Value field);
/// The same for a whole object of a type, before its rows.
using RewriteWhole = void (*)(Translation& translation, schema::Value object);

struct FieldRow {
  std::string_view fields;  // one or several JSON names, space-separated
  Action action;
  std::string_view into = {};  // rows for what is below; named by every row that lets a struct cross
  Rewrite function = nullptr;
  std::string_view why = {};
  bool each = false;  // a map: `into` is for each of its values
};

// The rows as a person writes them.
constexpr FieldRow copy(std::string_view fields) { return {fields, Action::copy}; }
constexpr FieldRow walk(std::string_view fields, std::string_view into) { return {fields, Action::walk, into}; }
constexpr FieldRow walk_each(std::string_view fields, std::string_view into) {
  return {fields, Action::walk, into, nullptr, {}, true};
}
constexpr FieldRow rewrite(std::string_view fields, Rewrite function, std::string_view into = {}) {
  return {fields, Action::rewrite, into, function};
}
constexpr FieldRow clamp(std::string_view fields, Rewrite function, std::string_view into = {}) {
  return {fields, Action::clamp, into, function};
}
constexpr FieldRow force(std::string_view fields, std::string_view why) {
  return {fields, Action::force, {}, nullptr, why};
}
constexpr FieldRow drop(std::string_view fields, std::string_view why) {
  return {fields, Action::drop, {}, nullptr, why};
}
constexpr FieldRow warn(std::string_view fields, std::string_view why) {
  return {fields, Action::warn, {}, nullptr, why};
}
constexpr FieldRow deny(std::string_view fields, std::string_view why) {
  return {fields, Action::deny, {}, nullptr, why};
}

struct TypeRows {
  std::string_view type;  // short name: "PodSpec"
  std::vector<FieldRow> rows;
  /// The schema's name of the type, or that without io.k8s.api ("networking.v1.Ingress"); empty: that of core/v1 with
  /// this short name.
  std::string_view schema = {};
  RewriteWhole whole = nullptr;
};

/// A kind that tenants send to the host: its rows are those of the type of its name. What is to be done beside them:
struct HostKind {
  std::string_view kind;
  /// After the rows, before the template's patches.
  void (*after_rows)(const Translation& translation, schema::Value host_object) = nullptr;
  /// After the hash of what is desired was taken: what may differ from one time to the next without being a change.
  void (*after_hash)(const Translation& translation, schema::Value host_object) = nullptr;
  /// Only looked at when it is carried, not when it is written: nothing of it can be refused then (SyncedKind::judged).
  bool judged_late = false;
};
constexpr HostKind judged_late(HostKind kind) {
  kind.judged_late = true;
  return kind;
}

/// All rows, in the order in which a person reads them.
std::span<const TypeRows> field_table();
std::span<const HostKind> host_kinds();
const HostKind* find_host_kind(std::string_view kind);
/// Types that carry_back() (translation.h) is asked for.
std::span<const std::string_view> from_host_roots();
/// The schema's name of the type that these rows are for.
std::string schema_name(const TypeRows& rows);
/// The names of a row.
std::vector<std::string_view> field_names(const FieldRow& row);

// The parts of the table, one a file.
std::vector<TypeRows> pod_fields();
std::vector<TypeRows> core_fields();
std::vector<TypeRows> claim_fields();
std::vector<TypeRows> network_fields();
std::vector<TypeRows> policy_fields();
std::vector<TypeRows> from_host_fields();
std::vector<TypeRows> class_fields();
std::vector<TypeRows> device_fields();
std::vector<TypeRows> group_fields();
std::vector<TypeRows> device_status_fields();

/// The table made ready for walking: names split, and `into` resolved.
struct TypePlan;
struct FieldPlan {
  std::string_view name;
  const FieldRow* row;
  const TypePlan* into;  // null: nothing below has rows
};
struct TypePlan {
  const TypeRows* rows;
  std::vector<FieldPlan> fields;
  /// `place` is where the search begins, and is moved behind what was found: fields of objects come in about the order
  /// of the rows.
  const FieldPlan* find(std::string_view field, std::size_t& place) const;
};
/// Null: no such type.
const TypePlan* plan_of(std::string_view type);

}  // namespace sublet::syncer
