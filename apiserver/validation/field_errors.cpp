#include "apiserver/validation/field_errors.h"

#include <algorithm>
#include <vector>

#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

void add(Causes& causes, std::string_view reason, std::string title, std::string_view detail, std::string field) {
  if (!detail.empty()) title.append(": ").append(detail);
  causes.push_back({std::string(reason), std::move(title), std::move(field)});
}

bool is_empty(const schema::Value& value) {
  return value.missing() || value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
}

}  // namespace

std::string child(const std::string& path, std::string_view name) {
  if (path.empty()) return std::string(name);
  std::string result = path;
  result.append(".").append(name);
  return result;
}

std::string item(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

std::string keyed(const std::string& path, std::string_view key) { return path + "[" + std::string(key) + "]"; }

BadValue::BadValue(std::string_view text) : text_(go_quoted(text)) {}

BadValue::BadValue(const schema::Value& value) {
  if (value.missing())
    text_ = "null";
  else if (value.is_string())
    text_ = go_quoted(value.text());
  else
    text_ = value.to_json();
}

void required(Causes& causes, std::string field, std::string_view detail) {
  add(causes, "FieldValueRequired", "Required value", detail, std::move(field));
}

void invalid(Causes& causes, std::string field, const BadValue& value, std::string_view detail) {
  add(causes, "FieldValueInvalid", "Invalid value: " + value.text(), detail, std::move(field));
}

void duplicate(Causes& causes, std::string field, const BadValue& value, std::string_view detail) {
  add(causes, "FieldValueDuplicate", "Duplicate value: " + value.text(), detail, std::move(field));
}

void forbidden(Causes& causes, std::string field, std::string_view detail) {
  add(causes, "FieldValueForbidden", "Forbidden", detail, std::move(field));
}

void not_supported(Causes& causes, std::string field, const BadValue& value,
                   std::span<const std::string_view> supported) {
  std::string detail;
  for (auto name : supported) {
    detail += detail.empty() ? "supported values: " : ", ";
    detail += go_quoted(name);
  }
  add(causes, "FieldValueNotSupported", "Unsupported value: " + value.text(), detail, std::move(field));
}

void validate_choice(Causes& causes, const std::string& path, const schema::Value& object, const Choice& choice) {
  auto text = object[choice.field].text();
  if (text.empty() || std::find(choice.values.begin(), choice.values.end(), text) != choice.values.end()) return;
  not_supported(causes, child(path, choice.field), text, choice.values);
}

void not_found(Causes& causes, std::string field, const BadValue& value) {
  add(causes, "FieldValueNotFound", "Not found: " + value.text(), {}, std::move(field));
}

void too_long(Causes& causes, std::string field, int bytes_max) {
  add(causes, "FieldValueTooLong", "Too long",
      "may not be more than " + std::to_string(bytes_max) + (bytes_max == 1 ? " byte" : " bytes"), std::move(field));
}

void too_many(Causes& causes, std::string field, std::size_t actual, std::size_t items_max) {
  add(causes, "FieldValueTooMany", "Too many: " + std::to_string(actual),
      "must have at most " + std::to_string(items_max) + (items_max == 1 ? " item" : " items"), std::move(field));
}

bool is_bounded(Causes& causes, const std::string& field, const schema::Value& list, std::size_t items_max) {
  if (list.size() <= items_max) return true;
  too_many(causes, field, list.size(), items_max);
  return false;
}

void invalid_each(Causes& causes, const std::string& field, const BadValue& value,
                  const std::vector<std::string>& messages) {
  for (const auto& message : messages) invalid(causes, field, value, message);
}

void immutable(Causes& causes, std::string field, const schema::Value& value, const schema::Value& old) {
  if (!semantically_equal(value, old)) invalid(causes, std::move(field), value, kImmutable);
}

void nonnegative(Causes& causes, std::string field, std::int64_t value) {
  if (value < 0) invalid(causes, std::move(field), value, "must be greater than or equal to 0");
}

void positive(Causes& causes, std::string field, std::int64_t value) {
  if (value <= 0) invalid(causes, std::move(field), value, "must be greater than 0");
}

namespace {

constexpr std::size_t kFewMembers = 16;  // looking each of more up would cost the square of their number

std::vector<schema::Value> by_key(const schema::Value& object) {
  std::vector<schema::Value> members(object.begin(), object.end());
  std::ranges::sort(members, {}, [](const schema::Value& member) { return member.key(); });
  return members;
}

bool many_members_equal(const schema::Value& a, const schema::Value& b) {
  const auto mine = by_key(a), theirs = by_key(b);
  auto other = theirs.begin();
  for (const auto& member : mine) {
    for (; other != theirs.end() && other->key() < member.key(); ++other)
      if (!is_empty(*other)) return false;
    const bool there = other != theirs.end() && other->key() == member.key();
    if (!semantically_equal(member, there ? *other++ : schema::Value())) return false;
  }
  return std::all_of(other, theirs.end(), [](const schema::Value& left) { return is_empty(left); });
}

}  // namespace

bool semantically_equal(const schema::Value& a, const schema::Value& b) {
  if (a.is_object() && b.is_object()) {
    if (a.size() > kFewMembers || b.size() > kFewMembers) return many_members_equal(a, b);
    for (auto member : a)
      if (!semantically_equal(member, b[member.key()])) return false;
    for (auto member : b)
      if (a[member.key()].missing() && !is_empty(member)) return false;
    return true;
  }
  if (is_empty(a) || is_empty(b)) return is_empty(a) && is_empty(b);
  if (!a.is_array() || !b.is_array()) return a.equals(b);
  if (a.size() != b.size()) return false;
  auto other = b.begin();
  for (auto element : a) {
    if (!semantically_equal(element, *other)) return false;
    ++other;
  }
  return true;
}

}  // namespace sublet::apiserver
