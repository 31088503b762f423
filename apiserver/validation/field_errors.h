// Field errors: the API's validation messages as Causes, in upstream's wording, and the field paths that go with them.
// Pure. Source of the wording: k8s.io/apimachinery/pkg/util/validation/field.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

using Causes = std::vector<Cause>;

/// "spec" + "ports" -> "spec.ports"; an empty parent gives the name alone.
std::string child(const std::string& path, std::string_view name);
/// "spec.ports" + 0 -> "spec.ports[0]".
std::string item(const std::string& path, std::size_t index);
/// "data" + "key" -> "data[key]".
std::string keyed(const std::string& path, std::string_view key);

/// A bad value as an error shows it: strings quoted, numbers and booleans plain, everything else as JSON.
class BadValue {
 public:
  BadValue(std::string_view text);
  BadValue(const char* text) : BadValue(std::string_view(text)) {}
  BadValue(const std::string& text) : BadValue(std::string_view(text)) {}
  BadValue(std::int64_t number) : text_(std::to_string(number)) {}
  BadValue(int number) : text_(std::to_string(number)) {}
  BadValue(const schema::Value& value);
  /// Text that is shown unquoted.
  static BadValue raw(std::string text) {
    BadValue value(std::int64_t{0});
    value.text_ = std::move(text);
    return value;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void required(Causes& causes, std::string field, std::string_view detail = {});
void invalid(Causes& causes, std::string field, const BadValue& value, std::string_view detail);
void duplicate(Causes& causes, std::string field, const BadValue& value, std::string_view detail = {});
void forbidden(Causes& causes, std::string field, std::string_view detail);
void not_supported(Causes& causes, std::string field, const BadValue& value,
                   std::span<const std::string_view> supported);
/// A text field that holds one of a few values, in the order in which upstream tells them.
struct Choice {
  std::string_view field;
  std::vector<std::string_view> values;
};
/// not_supported when the field is set to something else.
void validate_choice(Causes& causes, const std::string& path, const schema::Value& object, const Choice& choice);
void not_found(Causes& causes, std::string field, const BadValue& value);
void too_long(Causes& causes, std::string field, int bytes_max);
void too_many(Causes& causes, std::string field, std::size_t actual, std::size_t items_max);
/// Adds too_many() and returns false when there are more than `items_max`; such a list is not validated further.
bool is_bounded(Causes& causes, const std::string& field, const schema::Value& list, std::size_t items_max);

/// One `invalid` cause per message.
void invalid_each(Causes& causes, const std::string& field, const BadValue& value,
                  const std::vector<std::string>& messages);
/// `field is immutable` when both differ.
void immutable(Causes& causes, std::string field, const schema::Value& value, const schema::Value& old);
/// "must be greater than or equal to 0".
void nonnegative(Causes& causes, std::string field, std::int64_t value);
void positive(Causes& causes, std::string field, std::int64_t value);

/// Equality as the API sees it: missing, null, empty list and empty map are one.
bool semantically_equal(const schema::Value& a, const schema::Value& b);
/// The same of one field of two objects.
inline bool same_field(const schema::Value& a, const schema::Value& b, std::string_view field) {
  return semantically_equal(a[field], b[field]);
}

inline constexpr std::string_view kImmutable = "field is immutable";

}  // namespace sublet::apiserver
