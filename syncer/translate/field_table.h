// FieldTable: what the border does with every field of every synced type.
//
// One row per (type, field) of the schema, grouped by type; a schema field without a row fails the build
// (syncer/translate/field_check), and an object with a field that has no row is refused. Where to add: a new synced
// field is a new row in field_table.cpp; a new synced kind is a group of rows there and an entry in translate.cpp.
// Pure data and pure functions; any thread.
#pragma once

#include <span>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::syncer {

class Translation;

enum class Action : std::uint8_t {
  copy,     // crosses as it is, with all below it
  walk,     // each value below is translated by the rows of type `detail`
  drop,     // does not cross; nobody needs to be told
  warn,     // does not cross; the tenant gets `detail` as a warning
  deny,     // refuses the object with `detail`, unless the value is the type's zero
  rewrite,  // `function` decides
};

/// Changes (or erases) `field` of `parent` in the host object; reports through the Translation.
using Rewrite = void (*)(Translation& translation, schema::Value parent, schema::Value field);

struct FieldRow {
  std::string_view field;
  Action action;
  std::string_view detail = {};  // type name for walk, sentence for warn and deny
  Rewrite function = nullptr;
};

struct TypeRows {
  std::string_view type;  // short name: "PodSpec"
  std::span<const FieldRow> rows;
};

std::span<const TypeRows> field_table();
const TypeRows* rows_of(std::string_view type);

/// Labels and annotations that decide privileges or belong to host components. A tenant's value never crosses; those
/// marked host_owned may not come from a template either.
struct KeyRow {
  std::string_view key;  // exact, or a prefix when it ends in '/' or '*'
  bool label, annotation;
  bool host_owned;  // stripped again after patches
};
std::span<const KeyRow> reserved_keys();
bool reserved_label(std::string_view key, bool after_patches);
bool reserved_annotation(std::string_view key, bool after_patches);

}  // namespace sublet::syncer
