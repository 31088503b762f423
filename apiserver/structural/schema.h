// Schema: a CRD's structural schema, compiled for the passes over custom resources: pruning, defaulting, validation.
// Schemas: all of one CRD, in memory of their own.
//
// A node says what one value may be. Nodes are immutable, and equal ones are one (a PodSpec that a CRD embeds ten times
// is held once), so a node does not know its path. Descriptions are not held. `flags` sum
// up what is somewhere below, so that a pass leaves out what it has nothing to do with. Lifecycle: nodes live as long
// as their Schemas. Threads: immutable; patterns are compiled on first use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace re2 {
class RE2;
}

namespace sublet::apiserver {

/// The members of a resource that are every resource's.
inline bool is_type_or_object_meta(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

enum class JsonType : std::uint8_t { any, object, array, string, integer, number, boolean, int_or_string };
/// As schemas spell it: "object"; "" for any.
std::string_view type_name(JsonType type);

struct Schema;

struct Property {
  std::string_view name;
  const Schema* schema;
};

/// x-kubernetes-validations: one rule.
struct RuleSpec {
  std::string_view rule, message, message_expression, reason, field_path;
  std::optional<bool> optional_old_self;
};

/// A pattern, compiled when it is first asked for.
class LazyPattern {
 public:
  explicit LazyPattern(std::string_view text) : text_(text) {}
  ~LazyPattern();
  LazyPattern(const LazyPattern&) = delete;
  LazyPattern& operator=(const LazyPattern&) = delete;
  std::string_view text() const { return text_; }
  bool matches(std::string_view value) const;

 private:
  const std::string_view text_;
  mutable std::atomic<const re2::RE2*> compiled_{nullptr};
};

/// What a value must keep to beside its type.
struct Checks {
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  const LazyPattern* pattern = nullptr;
  std::string_view format;
  std::vector<std::string_view> required;
  schema::Value choices;  // enum: an array, missing: free
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* negated = nullptr;  // not
  std::vector<RuleSpec> rules;
};

struct Schema {
  JsonType type = JsonType::any;
  schema::ListType list_type = schema::ListType::none;
  schema::MapType map_type = schema::MapType::none;
  bool nullable = false;
  bool preserve = false;                 // x-kubernetes-preserve-unknown-fields
  bool embedded = false;                 // x-kubernetes-embedded-resource
  bool additional_any = false;           // additionalProperties: true
  std::uint8_t below = 0;                // Below: what there is here and further down
  std::span<const Property> properties;  // ordered by name
  const Schema* items = nullptr;
  const Schema* additional = nullptr;  // additionalProperties
  std::span<const std::string_view> list_map_keys;
  const Checks* checks = nullptr;
  schema::Value default_value;  // missing: none

  enum Below : std::uint8_t { kDefaults = 1, kLists = 2, kEmbedded = 4, kRules = 8 };
  /// Null: no such property.
  const Schema* property(std::string_view name) const;
  /// The property, or what additionalProperties says of it; null: it is unknown.
  const Schema* member(std::string_view name) const;
};

class Schemas {
 public:
  Schemas();
  ~Schemas();
  Schemas(const Schemas&) = delete;
  Schemas& operator=(const Schemas&) = delete;

  /// Compiles a JSONSchemaProps object (conformed). What is not structural is left out: check_structural() has reported
  /// it before. The value is not needed afterwards.
  const Schema* compile(const schema::Value& props);
  /// No more compile(); drops what only that needs.
  void seal();
  /// Memory of all nodes.
  std::size_t bytes() const;
  std::size_t node_count() const;

 private:
  class Compiler;
  struct Storage;
  std::unique_ptr<Storage> storage_;
};

}  // namespace sublet::apiserver
