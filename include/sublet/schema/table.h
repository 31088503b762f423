// Table: the facts about every built-in type, resource and field, generated from a pinned Kubernetes release.
//
// tools/schema writes the data (schema/generated/), pointer-free and index-based, so that it is read-only memory shared
// by all processes; this header is the only way to read it. CRDs will be compiled at run time into the same node form:
// everything below works on Type and Field views, never on the generated arrays.
// Lifecycle: Table::builtin() is static data. Threads: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
  message,        // a struct: see Field::type()
};

enum class ListType : std::uint8_t { none, atomic, set, map };
enum class MapType : std::uint8_t { none, atomic, granular };
enum class PatchStrategy : std::uint8_t { none, merge, replace, retain_keys, merge_retain_keys };

class Type;

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
  bool omit_empty() const;             // JSON omitempty (as in Go: without effect on a struct, a Quantity, a Time)
  bool omit_zero() const;              // JSON omitzero (drops zero structs and times too)
  bool inlined() const;                // json:",inline" (protobuf still has it as a message of its own)
  bool required() const;               // OpenAPI's required list
  std::uint32_t proto_number() const;  // 0: not in protobuf
  ListType list_type() const;
  MapType map_type() const;
  std::vector<std::string_view> list_map_keys() const;
  PatchStrategy patch_strategy() const;
  std::string_view patch_merge_key() const;
  /// Allowed values of a string enum; empty: free.
  std::vector<std::string_view> enum_values() const;
  /// A constant default as JSON text (`"TCP"`, `1`); empty: none.
  std::string_view default_json() const;
  std::string_view format() const;  // OpenAPI format where it says more than scalar()

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
  std::size_t field_count() const;
  Field field_at(std::size_t i) const;
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
  std::span<const std::string_view> verbs;
};

/// A served resource in one version.
struct ResourceFacts {
  std::string_view group, version, resource, kind, list_kind, singular;
  bool namespaced = true;
  TypeId type = kNoType;                    // of the kind in this version
  std::span<const std::string_view> verbs;  // sorted, as discovery lists them
  std::span<const std::string_view> short_names, categories;
  std::span<const SubresourceFacts> subresources;
  std::string_view storage_version;  // version in which this group/resource is stored
  std::string_view storage_group;    // group in which it is stored (events.k8s.io events are stored as core events)
  bool has_status = false;
};

struct GroupFacts {
  std::string_view name;                       // "" is core
  std::span<const std::string_view> versions;  // preferred first
  int priority = 0;                            // discovery order, ascending
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
  std::size_t type_count() const;
};

}  // namespace sublet::schema
