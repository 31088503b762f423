// Table: what Kubernetes types look like: every struct type, its fields, and the kinds and resources made of them.
//
// A table is compact rows that refer to each other by number. The built-in one is generated from a pinned Kubernetes
// release by tools/schema (schema/generated/), pointer-free, so that it is read-only memory shared by all processes;
// others are compiled at run time into the same rows (table_builder.h), as CRDs are. Type, Field and StringList are
// handles that know their table, so everything works on all of them alike; which kinds a server has says its Registry
// (registry.h). Lifecycle: a handle is valid as long as its table; the built-in one lives for ever, others as long as a
// Registry (or whoever else) holds them. Threads: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sublet::schema {

struct TableData;  // the rows; private to schema/

/// What one value on the wire is. Collections are flags of the Field, not kinds.
enum class Scalar : std::uint8_t {
  string,
  boolean,
  int32,
  int64,
  floating,       // float64
  bytes,          // base64 in JSON
  quantity,       // resource.Quantity: canonical string
  int_or_string,  // intstr.IntOrString
  time,           // metav1.Time, seconds; null when zero
  micro_time,     // metav1.MicroTime
  duration,       // metav1.Duration, Go's text ("1h0m0s")
  fields_v1,      // FieldsV1: any JSON object, raw bytes in protobuf
  raw_extension,  // RawExtension: any JSON, raw bytes in protobuf
  json,           // apiextensions JSON: any JSON
  // CRD schemas only: a JSONSchemaProps (Field::type()), or in its place ...
  schema_or_array,    // ... a list of them (protobuf: schema = 1, repeated jSONSchemas = 2)
  schema_or_bool,     // ... a boolean (protobuf: allows = 1, schema = 2)
  schema_or_strings,  // ... a list of strings (protobuf: schema = 1, repeated property = 2)
  message,            // a struct: see Field::type()
};

/// How a field holds its scalar.
enum class Shape : std::uint8_t { single, list, map, map_of_lists };
enum class ListType : std::uint8_t { none, atomic, set, map };
enum class MapType : std::uint8_t { none, atomic, granular };
enum class PatchStrategy : std::uint8_t { none, merge, replace, retain_keys, merge_retain_keys };

class Type;

/// A list of strings of a table; a handle, so copying is free and nothing is allocated.
class StringList {
 public:
  StringList() = default;
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  std::string_view operator[](std::size_t i) const;
  bool contains(std::string_view text) const;

  using value_type = std::string_view;
  class iterator;
  using const_iterator = iterator;
  iterator begin() const;
  iterator end() const;

 private:
  friend struct TableData;
  StringList(const TableData* data, std::uint32_t place) : data_(data), place_(place) {}
  const TableData* data_ = nullptr;  // null: empty
  std::uint32_t place_ = 0;
};

class StringList::iterator {
 public:
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;
  using reference = std::string_view;
  using pointer = void;
  using iterator_category = std::forward_iterator_tag;
  iterator() = default;
  std::string_view operator*() const { return list_[at_]; }
  iterator& operator++() {
    ++at_;
    return *this;
  }
  iterator operator++(int) {
    iterator old = *this;
    ++at_;
    return old;
  }
  bool operator==(const iterator& other) const { return at_ == other.at_; }

 private:
  friend class StringList;
  iterator(StringList list, std::size_t at) : list_(list), at_(at) {}
  StringList list_;
  std::size_t at_ = 0;
};

inline StringList::iterator StringList::begin() const { return {*this, 0}; }
inline StringList::iterator StringList::end() const { return {*this, size()}; }

/// One field of a struct, in upstream's order.
class Field {
 public:
  std::string_view name() const;  // JSON name; "" for an inlined struct, whose fields belong to the parent in JSON
  Scalar scalar() const;
  Type type() const;                   // when scalar() == message
  Shape shape() const;                 // what the next three say
  bool repeated() const;               // a list of scalar()
  bool map() const;                    // a map from string to scalar()
  bool map_of_lists() const;           // map from string to a list of scalar() (e.g. userInfo.extra: ExtraValue)
  bool pointer() const;                // Go pointer: absent and zero differ, also in protobuf
  bool list_message() const;           // its list is a message of its own in protobuf: { repeated items = 1 }
  bool omit_empty() const;             // JSON omitempty (as in Go: without effect on a struct, a Quantity, a Time)
  bool omit_zero() const;              // JSON omitzero (drops zero structs and times too)
  bool inlined() const;                // json:",inline" (protobuf still has it as a message of its own)
  bool required() const;               // OpenAPI's required list
  std::uint32_t proto_number() const;  // 0: not in protobuf
  ListType list_type() const;
  MapType map_type() const;  // of a map or struct; atomic also when the struct's type is declared so and the
                             // field does not say otherwise
  StringList list_map_keys() const;
  PatchStrategy patch_strategy() const;
  std::string_view patch_merge_key() const;
  /// Allowed values of a string enum, of its items when it is a list; empty: free. An empty string stands for "absent".
  StringList enum_values() const;
  /// A constant default as JSON text (`"TCP"`, `1`); empty: none.
  std::string_view default_json() const;
  std::string_view format() const;  // OpenAPI's format of the scalar: "int32", "date-time"; empty: none

 private:
  friend struct TableData;
  Field(const TableData* data, std::uint32_t index) : data_(data), index_(index) {}
  const TableData* data_;
  std::uint32_t index_;
};

/// One struct type, e.g. io.k8s.api.core.v1.PodSpec.
class Type {
 public:
  Type() = default;
  bool missing() const { return data_ == nullptr; }
  explicit operator bool() const { return data_ != nullptr; }
  std::string_view name() const;        // OpenAPI v2 definition name: "io.k8s.api.core.v1.PodSpec"
  std::string_view short_name() const;  // "PodSpec"
  bool atomic() const;                  // declared +structType=atomic
  /// Has members beside its fields, which are kept as they come (x-kubernetes-preserve-unknown-fields).
  bool open() const;
  std::size_t field_count() const;
  Field field_at(std::size_t i) const;
  /// The fields that protobuf has, by ascending number: the order in which gogo-proto writes them.
  std::size_t proto_field_count() const;
  Field proto_field_at(std::size_t i) const;
  /// By JSON name; looks through inlined structs. nullopt: unknown.
  std::optional<Field> field(std::string_view json_name) const;
  std::optional<Field> field_by_proto(std::uint32_t number) const;
  bool operator==(const Type&) const = default;

 private:
  friend struct TableData;
  Type(const TableData* data, std::uint16_t index) : data_(data), index_(index) {}
  const TableData* data_ = nullptr;
  std::uint16_t index_ = 0;
};

/// A subresource as discovery lists it.
struct SubresourceFacts {
  std::string_view name;                  // "status", "binding"
  std::string_view group, version, kind;  // of its body; group may differ from the parent's (scale, eviction)
  StringList verbs;
};

/// A served resource in one version.
struct ResourceFacts {
  std::string_view group, version, resource, kind, list_kind, singular;
  bool namespaced = true;
  Type type;         // of the kind in this version
  StringList verbs;  // sorted, as discovery lists them
  StringList short_names, categories;
  std::span<const SubresourceFacts> subresources;
  std::string_view storage_version;  // version in which this group/resource is stored
  std::string_view storage_group;    // group in which it is stored (events.k8s.io events are stored as core events)
  std::string_view storage_hash;     // discovery's storageVersionHash, base64; empty for what is never stored
  bool has_status = false;
  /// Served by default: versions that are neither alpha nor beta, as upstream does without --runtime-config. The others
  /// are known, so that their bodies convert, but discovery does not list them and their paths answer 404: a second
  /// `podgroups` or `leases` would take the short name from what users install.
  bool served = false;
  /// OpenAPI says that DELETE answers with the object instead of a Status (pods, services, quotas ...).
  bool delete_returns_object = false;
  /// Made at run time: has neither a protobuf form nor strategic merge, as upstream's custom resources.
  bool custom = false;
};

struct GroupFacts {
  std::string_view name;                   // "" is core
  std::vector<std::string_view> versions;  // every known one, preferred first
  std::vector<std::string_view> served;    // those that are served by default; empty: the group is not listed
  int priority = 0;                        // discovery order, ascending
};

/// A kind of one group version, lists and meta kinds included. Group and version "*" stand for every group version:
/// DeleteOptions and its like, WatchEvent.
struct KindFacts {
  std::string_view group, version, kind;
  Type type;
};

/// The rows of one table, built in or compiled. What they say of kinds is asked through a Registry, which merges
/// tables.
class Table {
 public:
  explicit Table(std::unique_ptr<TableData> data);  // for schema/: builtin_table() and TableBuilder make tables
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  std::string_view release() const;  // "v1.36.3"; empty: compiled at run time
  std::size_t type_count() const;
  Type type_at(std::size_t i) const;
  /// Every kind, ordered by kind, group, version.
  std::size_t kind_count() const;
  KindFacts kind_at(std::size_t i) const;
  const TableData& data() const { return *data_; }

 private:
  std::unique_ptr<TableData> data_;
};

}  // namespace sublet::schema
