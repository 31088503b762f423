// Cheap reading of JSON text without building a tree: walks members and items, and hands out raw spans.
//
// For copies of whole objects (informers, watch frames) of which only a few fields are needed. It is no validator: on
// malformed text it stops or gives wrong spans, but never reads outside the text nor recurses; whoever parses a span
// later finds the error. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sublet::kube {

/// Walks the members of an object or the items of an array.
class JsonScanner {
 public:
  /// `text` is the object's or array's text, leading white space allowed.
  explicit JsonScanner(std::string_view text);
  /// The next child; false at the end or when malformed (see complete()). Items have an empty key; keys are raw,
  /// without their quotes.
  bool next(std::string_view& key, std::string_view& value);
  /// The closing bracket was reached in good order.
  bool complete() const { return complete_; }

 private:
  friend std::string_view json_from(std::string_view object, std::string_view key);

  bool next_key(std::string_view& key);
  void skip_space();
  std::string_view take_string();
  bool leave_string();
  std::string_view take_value();
  std::string_view take_container();

  std::string_view text_;
  std::size_t at_ = 0;
  char close_ = 0;
  bool first_ = true;
  bool complete_ = false;
};

/// The value of an object's member; nullopt when there is none. Stops reading once found.
std::optional<std::string_view> json_member(std::string_view object, std::string_view key);
/// The text from the value of an object's member on, whose end is not looked for; empty when there is no such member.
std::string_view json_from(std::string_view object, std::string_view key);
/// The text of a JSON string literal; "" when it is none.
std::string json_unquote(std::string_view literal);

/// What every object says about itself in `metadata`.
struct ObjectMeta {
  std::string namespace_name, name, uid, resource_version;
};
/// nullopt when the text has no metadata object.
std::optional<ObjectMeta> read_object_meta(std::string_view object);

}  // namespace sublet::kube
