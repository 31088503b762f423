// Table: the facts about every built-in type, resource and field, generated from a pinned Kubernetes release.
//
// tools/schema writes the data (schema/generated/), pointer-free and index-based, so that it is read-only memory shared
// by all processes; this header is the only way to read it. Only the rows of groups and resources (a few tens of KiB)
// are made on first use. CRDs will be compiled at run time into the same node form:
// everything below works on Type and Field views, never on the generated arrays.
// Lifecycle: Table::builtin() is static data. Threads: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace sublet::schema {

using TypeId = std::uint16_t;
inline constexpr TypeId kNoType = 0xffff;

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

enum class ListType : std::uint8_t { none, atomic, set, map };
enum class MapType : std::uint8_t { none, atomic, granular };
enum class PatchStrategy : std::uint8_t { none, merge, replace, retain_keys, merge_retain_keys };

class Type;

/// A list of strings of the table; a handle into static data, so copying is free and nothing is allocated.
class StringList {
 public:
  StringList() = default;
  explicit StringList(std::uint32_t place) : place_(place) {}
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  std::string_view operator[](std::size_t i) const;
  bool contains(std::string_view text) const;

  using value_type = std::string_view;
  class iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using reference = std::string_view;
    using pointer = void;
    using iterator_category = std::forward_iterator_tag;
    iterator() = default;
    iterator(std::uint32_t place, std::size_t at) : place_(place), at_(at) {}
    std::string_view operator*() const { return StringList(place_)[at_]; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) {
      iterator old = *this;
      ++at_;
      return old;
    }
    bool operator==(const iterator&) const = default;

   private:
    std::uint32_t place_ = 0;
    std::size_t at_ = 0;
  };
  using const_iterator = iterator;
  iterator begin() const { return {place_, 0}; }
  iterator end() const { return {place_, size()}; }

 private:
  std::uint32_t place_ = 0;
};

/// One field of a struct, in upstream's order.
class Field {
 public:
  std::string_view name() const;  // JSON name; "" for an inlined struct, whose fields belong to the parent in JSON
  Scalar scalar() const;
  Type type() const;                   // when scalar() == message
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
  friend class Type;
  friend class Table;
  explicit Field(std::uint32_t index) : index_(index) {}
  std::uint32_t index_;
};

/// One struct type, e.g. io.k8s.api.core.v1.PodSpec.
class Type {
 public:
  Type() = default;
  explicit Type(TypeId id) : id_(id) {}
  bool missing() const { return id_ == kNoType; }
  explicit operator bool() const { return id_ != kNoType; }
  TypeId id() const { return id_; }
  std::string_view name() const;        // OpenAPI v2 definition name: "io.k8s.api.core.v1.PodSpec"
  std::string_view short_name() const;  // "PodSpec"
  bool atomic() const;                  // declared +structType=atomic
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
  TypeId id_ = kNoType;
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
  TypeId type = kNoType;  // of the kind in this version
  StringList verbs;       // sorted, as discovery lists them
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
};

struct GroupFacts {
  std::string_view name;  // "" is core
  StringList versions;    // every known one, preferred first
  StringList served;      // those that are served by default; empty: the group is not listed
  int priority = 0;       // discovery order, ascending
};

/// A kind of one group version, lists and meta kinds included. Group and version "*" stand for every group version:
/// DeleteOptions and its like, WatchEvent.
struct KindFacts {
  std::string_view group, version, kind;
  Type type;
};

class Table {
 public:
  static const Table& builtin();
  std::string_view release() const;                  // "v1.36.3"
  std::span<const GroupFacts> groups() const;        // in discovery order
  std::span<const ResourceFacts> resources() const;  // in discovery order
  const ResourceFacts* find_resource(std::string_view group, std::string_view version, std::string_view resource) const;
  /// The resource whose kind this is; null for kinds that are no resource (Status, DeleteOptions, lists).
  const ResourceFacts* find_resource_of_kind(std::string_view group, std::string_view version,
                                             std::string_view kind) const;
  /// The type of any known kind, lists and meta kinds included. kNoType: unknown.
  Type find_kind(std::string_view group, std::string_view version, std::string_view kind) const;
  Type find_type(std::string_view definition_name) const;
  /// Every kind, ordered by kind, group, version.
  std::size_t kind_count() const;
  KindFacts kind_at(std::size_t i) const;
  std::size_t type_count() const;
};

}  // namespace sublet::schema
