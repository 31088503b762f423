// Value: what a CEL expression works on.
//
// Scalars are held directly; strings, lists and maps are shared or borrowed: a value over a document (`of`) points into
// it and copies nothing, so it must not outlive the document, nor its Type, nor the program for literals. An error is a
// value too: `&&`, `||` and the macros absorb it where CEL says so, everything else passes it on.
// Threads: values are immutable; those over a document may be read by many threads while nobody changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/patches/cel_type.h"
#include "sublet/schema/document.h"

namespace sublet::patches::cel {

class Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<Value, Value>>;  // in order of insertion

/// A Kubernetes quantity, in nano units.
struct Quantity {
  __int128 nanos = 0;
};
/// Since 1970, from year 1 to 9999.
struct Timestamp {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;   // always ahead
  std::int32_t offset = 0;  // seconds east of UTC that it was written with: shows in its text only
};
struct Duration {
  std::int64_t nanos = 0;
};

struct Failure {
  std::string message;
  int offset = -1;  // into the source; -1: not known yet
};

/// Values of the Kubernetes libraries: URLs, addresses, versions, formats, authorizer.
class Opaque {
 public:
  virtual ~Opaque() = default;
  virtual Kind kind() const = 0;
  virtual bool equals(const Opaque& other) const = 0;  // of the same kind
  virtual std::string text() const = 0;                // for string() and messages
  virtual std::uint64_t size() const { return 1; }     // what costs go by
};

class Value {
 public:
  Value() = default;  // null
  static Value boolean(bool value) { return Value(value); }
  static Value integer(std::int64_t value) { return Value(value); }
  static Value uinteger(std::uint64_t value) { return Value(value); }
  static Value floating(double value) { return Value(value); }
  static Value string(std::string text) { return Value(Kind::string, std::move(text)); }
  static Value bytes(std::string bytes) { return Value(Kind::bytes, std::move(bytes)); }
  /// A string that someone else keeps alive.
  static Value borrowed(std::string_view text) { return Value(Text{Kind::string, nullptr, text}); }
  static Value type(Kind kind) { return Value(Text{Kind::type, nullptr, kind_name(kind)}); }
  static Value list(List items) { return list(std::move(items), nullptr); }
  /// A list that is compared and added to as `type` says (null: by position).
  static Value list(List items, const Type* type) {
    return Value(Items{std::make_shared<List>(std::move(items)), type});
  }
  static Value map(Map entries) { return Value(std::make_shared<const Map>(std::move(entries))); }
  static Value timestamp(Timestamp value) { return Value(value); }
  static Value duration(Duration value) { return Value(value); }
  static Value quantity(Quantity value) { return Value(value); }
  static Value opaque(std::shared_ptr<const Opaque> value) { return Value(std::move(value)); }
  static Value optional_of(Value value);
  static Value optional_none();
  static Value error(std::string message, int offset = -1);
  /// Any node of a document; missing gives null.
  static Value of(const schema::Value& node);
  /// A node read by its type, as upstream reads custom resources: texts of format date-time are timestamps, numbers
  /// are doubles, members that the type does not know are not there, list types decide about equality and `+`. An
  /// error where the data does not fit. `type` null: data that no expression can look into.
  static Value of(const schema::Value& node, const Type* type);

  Kind kind() const;
  bool is(Kind kind_wanted) const { return kind() == kind_wanted; }
  bool is_error() const { return std::holds_alternative<Shared<Failure>>(data_); }
  bool is_numeric() const;

  // Reads; the kind must fit.
  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(data_); }
  std::uint64_t as_uint() const { return std::get<std::uint64_t>(data_); }
  double as_double() const { return std::get<double>(data_); }
  std::string_view as_text() const { return std::get<Text>(data_).view; }  // string, bytes, type's name
  Timestamp as_timestamp() const { return std::get<Timestamp>(data_); }
  Duration as_duration() const { return std::get<Duration>(data_); }
  Quantity as_quantity() const { return std::get<Quantity>(data_); }
  const Opaque& as_opaque() const { return *std::get<Shared<Opaque>>(data_); }
  const std::optional<Value>& as_optional() const;
  const Failure& failure() const { return *std::get<Shared<Failure>>(data_); }
  /// This error with the offset filled when it has none.
  Value at_offset(int offset) const;

  /// Items of a list, entries of a map; 0 for anything else.
  std::size_t size() const;
  /// Item of a list; the index must be less than size().
  Value item(std::size_t index) const;
  /// Entry of a map.
  std::optional<Value> find(const Value& key) const;
  std::optional<Value> find(std::string_view key) const { return find(borrowed(key)); }
  /// Calls visit(item) for a list's items until it returns false.
  template <class Visit>
  void each_item(Visit visit) const {
    if (const auto* held = std::get_if<Items>(&data_)) {
      for (const Value& item : *held->items)
        if (!visit(item)) return;
    } else if (const auto* over = std::get_if<Node>(&data_)) {
      for (schema::Value item : over->node)
        if (!visit(over->type ? of(item, over->type->parameters[0].get()) : of(item))) return;
    }
  }
  /// Calls visit(key, value) for a map's entries until it returns false. Members that no expression can see are left
  /// out.
  template <class Visit>
  void each_entry(Visit visit) const {
    if (const auto* entries = std::get_if<Shared<Map>>(&data_)) {
      for (const auto& [key, value] : **entries)
        if (!visit(key, value)) return;
    } else if (const auto* over = std::get_if<Node>(&data_)) {
      for (schema::Value member : over->node) {
        const TypeField* field =
            over->type && over->type->kind == Kind::object ? over->type->property(member.key()) : nullptr;
        if (!over->type ? !visit(borrowed(member.key()), of(member))
            : over->type->kind == Kind::map
                ? !visit(borrowed(member.key()), of(member, over->type->parameters[1].get()))
                : field && field->type && !visit(borrowed(field->name), of(member, field->type.get())))
          return;
      }
    }
  }
  /// The node behind a list or map that stands in a document; missing for all others.
  schema::Value node() const;
  /// How its type reads a list or map; null: untyped.
  const Type* container_type() const;
  /// Takes an item into a list that nobody else holds, in place; false: it is shared, or no list of its own.
  bool append_in_place(Value item);

 private:
  template <class T>
  using Shared = std::shared_ptr<const T>;
  struct Text {
    Kind kind;
    Shared<std::string> owner;
    std::string_view view;
  };
  struct Node {
    schema::Value node;
    const Type* type;
  };
  struct Items {
    std::shared_ptr<List> items;  // changed only by append_in_place
    const Type* type;
  };
  template <class T>
  explicit Value(T data) : data_(std::move(data)) {}
  Value(Kind kind, std::string text);

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, Text, Timestamp, Duration, Items, Shared<Map>,
               Node, Quantity, Shared<Opaque>, Shared<std::optional<Value>>, Shared<Failure>>
      data_;
};

/// CEL's equality: numbers across kinds, deep for lists and maps, false for different kinds. Adds the number of nodes
/// it looked at to `work`.
bool equal(const Value& a, const Value& b, std::size_t& work);
/// -1, 0, 1; nullopt when the two cannot be ordered (other kinds, NaN).
std::optional<int> compare(const Value& a, const Value& b);
/// For messages: `"text"`, `[1, 2]`, `int` ...
std::string debug_text(const Value& value);
/// As Go prints it in cel-go's messages: text as it is, `[1, 2]`, `{a: 1}`.
std::string go_text(const Value& value);
/// What string() makes of a double, a timestamp, a duration.
std::string double_text(double value);
std::string timestamp_text(Timestamp value);
std::string duration_text(Duration value);
/// RFC 3339; nullopt when malformed. Years 1 to 9999 are not checked here.
std::optional<Timestamp> parse_timestamp(std::string_view text);
/// Go's durations ("1h30m", "-1.5s"); nullopt when malformed or too long.
std::optional<Duration> parse_duration(std::string_view text);
/// Writes a value into a document. Fails for what JSON cannot say: errors, types, empty optionals, maps with keys that
/// are no strings. Timestamps and durations become their texts.
Outcome write(const Value& value, schema::Value out);

}  // namespace sublet::patches::cel
