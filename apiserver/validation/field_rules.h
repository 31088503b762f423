// Field rules: what one field may be, as facts: a table per kind instead of code. Pure.
//
// A rule's path is dotted; "name[]" goes into every item of a list and "name{}" into every entry of a map. A rule is
// about a field that is there, except the `must_` ones, which a missing field breaks; where a part of the way is
// missing the rule has nothing to say (so a required field of an optional object is required when the object is there).
// Required fields and enums that the schema knows need no rule (README.md). `kept` fields are those that no update
// changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {

struct FieldRule {
  std::string_view path;
  /// Looks at the field, which may be missing, and says what is wrong at `field`.
  void (*check)(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
  Messages (*names)(std::string_view) = nullptr;
  std::int64_t low = 0, high = 0;
  std::span<const std::string_view> choices = {};
  std::string_view words = {};
};

/// Checks the object (or any part, at `at`) against every rule.
void check_rules(Causes& causes, const std::string& at, const schema::Value& object, std::span<const FieldRule> rules);
/// `field is immutable` for each dotted path whose values differ.
void check_kept(Causes& causes, const schema::Value& object, const schema::Value& old,
                std::span<const std::string_view> paths);

// What a rule can ask.
void must_be_set(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
/// A list or map with something in it; `words` say more.
void must_have_items(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void must_be_named(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_named(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
/// As is_named, but an empty text is a name to judge too.
void is_named_even_empty(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_nonnegative(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_positive(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
/// Below `low` or above `high` is wrong in `words`.
void is_between(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_one_of(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_selector(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);
void is_nonnegative_quantity(Causes& causes, const std::string& field, const schema::Value& value,
                             const FieldRule& rule);
/// A text of at most `high` bytes.
void is_short(Causes& causes, const std::string& field, const schema::Value& value, const FieldRule& rule);

constexpr FieldRule required_name(std::string_view path, Messages (*names)(std::string_view)) {
  return {path, must_be_named, names};
}
constexpr FieldRule optional_name(std::string_view path, Messages (*names)(std::string_view)) {
  return {path, is_named, names};
}
constexpr FieldRule choice_of(std::string_view path, std::span<const std::string_view> choices) {
  return {path, is_one_of, nullptr, 0, 0, choices};
}

// --- numbers that may be percentages ---

void validate_int_or_percent(Causes& causes, const std::string& field, const schema::Value& value);
void validate_at_most_all(Causes& causes, const std::string& field, const schema::Value& value);
/// The number itself, or that of the percentage; 0 for what is neither.
std::int64_t int_or_percent(const schema::Value& value);

// --- networks ---

/// What is wrong with a CIDR, in the strict form of new fields or as old fields take it.
Messages cidr(std::string_view value);
Messages canonical_cidr(std::string_view value);
/// An address with the length of its network's prefix, in canonical form.
Messages interface_address(std::string_view value);

/// metav1.Conditions of a status.
void validate_conditions(Causes& causes, const std::string& path, const schema::Value& conditions);

/// "example.com/path".
void validate_domain_path(Causes& causes, const std::string& field, std::string_view value);

}  // namespace sublet::apiserver
