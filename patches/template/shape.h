// Shape: what the schema knows about a place in an object, so that a template's paths and values are checked before
// anything runs. For kinds that the table does not know everything is `free`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/cel_value.h"
#include "sublet/schema/table.h"

namespace sublet::patches {

class Shape {
 public:
  enum class Form : std::uint8_t { free, record, map, list, scalar };

  /// Of a whole object; free when the kind is not known.
  static Shape of_kind(std::string_view kind);
  static bool known_kind(std::string_view kind);
  static std::vector<std::string_view> kinds();

  Form form() const { return form_; }
  /// A member by name; nullopt: a record has no such field, a scalar no members, a list wants a selector.
  std::optional<Shape> member(std::string_view name) const;
  /// An item of a list or an entry of a map; nullopt for records and scalars.
  std::optional<Shape> element() const;
  /// Field names of a record, for suggestions.
  std::vector<std::string_view> field_names() const;
  /// Does the API write this as text (strings, quantities, times)?
  bool textual() const;
  /// Empty: a value of this kind may stand here. Else what is wanted, e.g. "an integer".
  std::string_view mismatch(cel::Kind kind) const;
  /// Why the API would refuse this scalar, written as text: not one of an enumeration, no quantity, no value of a
  /// label, too large a number. Empty: nothing known.
  std::string text_problem(std::string_view text) const;
  /// The same for a key of this map: labels, annotations and selectors have rules for theirs.
  std::string key_problem(std::string_view name) const;
  /// Names of a record's members without which the API refuses it.
  std::vector<std::string_view> required_names() const;

 private:
  enum class Keys : std::uint8_t { free, labels, annotations };

  static Keys keys_of(schema::Type owner, std::string_view field);
  static Shape of_field(const schema::Field& field);
  static Shape of_scalar(const schema::Field& field);

  Form form_ = Form::free;
  schema::Type type_;                   // record
  std::optional<schema::Field> field_;  // map, list, scalar
  Keys keys_ = Keys::free;              // of a map, and of its values
};

}  // namespace sublet::patches
