// Types of CEL expressions: what the checker knows before anything runs, and how a document is read.
//
// Types are immutable and shared. A type made from a schema also says how large a value can get (`max_elements`), which
// is what the static cost estimate goes by, and how its values are compared (`list_form`).
// Threads: any. Ownership: a TypeRef keeps what it needs; a typed Value (cel_value.h) only points to its Type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::patches::cel {

/// Kinds of values, and of types. From `dyn` on they are static only.
enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,
  uinteger,
  floating,
  string,
  bytes,
  timestamp,
  duration,
  list,
  map,
  type,
  optional,
  quantity,
  url,
  ip,
  cidr,
  semver,
  format,
  authorizer,
  path_check,
  group_check,
  resource_check,
  decision,
  unknown,  // data that x-kubernetes-preserve-unknown-fields keeps: compared, never looked into
  error,
  dyn,        // not known before evaluation
  object,     // with declared fields; its values are maps
  parameter,  // a type variable
  function,
};
/// CEL's name: "int", "string", "null_type", "google.protobuf.Timestamp".
std::string_view kind_name(Kind kind);

struct Type;
using TypeRef = std::shared_ptr<const Type>;

enum class ListForm : std::uint8_t { atomic, set, map };

/// A field of an object: `name` as expressions write it (escaped), `property` as the document has it.
struct TypeField {
  std::string name;
  std::string property;
  TypeRef type;  // null: there, but no expression can see it (preserved unknown fields)
};

struct Type {
  Kind kind = Kind::dyn;
  std::string name;                 // of an object or a parameter; a dyn that has one (cel-go's "any") is no range
  std::vector<TypeRef> parameters;  // list: item; map: key and value; optional, type: what of
  std::vector<TypeField> fields;    // object: sorted by name
  std::optional<std::uint64_t> max_elements;  // characters, bytes, items, entries at most; nullopt: no estimate
  std::int64_t min_serialized_size = 0;       // bytes of the smallest JSON text
  ListForm list_form = ListForm::atomic;
  std::vector<std::string> list_keys;  // of ListForm::map, property names
  bool nullable = false;
  bool int_or_string = false;  // dyn: the document has an integer or a string

  const TypeField* field(std::string_view name) const;
  const TypeField* property(std::string_view name) const;

  static TypeRef of(Kind kind);  // the plain one; list and map of dyn
  static TypeRef list(TypeRef item);
  static TypeRef map(TypeRef key, TypeRef value);
  static TypeRef optional(TypeRef what);
  static TypeRef type_of(TypeRef what);
  static TypeRef parameter(std::string name);
  /// `name` shows in messages. Fields need not be sorted.
  static TypeRef object(std::string name, std::vector<TypeField> fields);

  /// An OpenAPI v3 schema (a CRD's, structural) as upstream exposes it to expressions; null: not at all. At a
  /// `resource_root` apiVersion, kind and metadata.name/generateName are there whatever the schema says.
  /// `name` is what messages call it.
  static TypeRef of_schema(const schema::Value& openapi, bool resource_root, const std::string& name = "selfType");
};

/// How cel-go writes a type: "list(string)", "map(string, dyn)", "google.protobuf.Duration" as "duration".
std::string type_text(const Type& type);
/// A property's name as expressions write it: "a-b" is "a__dash__b", "for" is "__for__"; nullopt: it has none.
std::optional<std::string> escape_property(std::string_view name);

/// How often data whose smallest JSON text has that size can stand in one request; what upstream multiplies a rule's
/// cost by when no list or map above it has a bound.
std::uint64_t max_cardinality(std::int64_t min_serialized_size);

}  // namespace sublet::patches::cel
