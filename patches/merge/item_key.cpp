#include "patches/merge/item_key.h"

#include <algorithm>

#include "patches/go_text.h"

namespace sublet::patches {
namespace {

using schema::Value;

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const auto& name : names) text.append(text.size() > 1 ? " " : "").append(go_quoted(name));
  return text + "]";
}

std::string_view default_of(const MergeList& list, std::string_view key) {
  if (!list.item || !list.item->map) return {};
  const MergeField* field = list.item->map->find(key);
  return field ? std::string_view(field->default_json) : std::string_view();
}

/// One `"name":value` of the key; nothing when the item has none and there is no default.
void append_key_field(std::string& text, const MergeList& list, const Value& item, std::string_view name) {
  const Value value = item[name];
  const auto said = value ? std::string_view() : default_of(list, name);
  if (!value && said.empty()) return;
  if (text.back() != '{') text += ',';
  schema::append_json_string(text, name);
  text += ':';
  if (value)
    value.append_json(text);
  else
    text += said;
}

Outcome append_keyed(std::string& text, const MergeList& list, const Value& item) {
  if (item.is_null()) return bad_request("associative list with keys may not have a null element");
  if (!item.is_object()) return bad_request("associative list with keys may not have non-map elements");
  const std::size_t begin = text.size();
  text += '{';
  if (list.keys.size() == 1) {
    append_key_field(text, list, item, list.keys.front());
  } else {
    std::vector<std::string_view> names(list.keys.begin(), list.keys.end());
    std::ranges::sort(names);
    for (const auto name : names) append_key_field(text, list, item, name);
  }
  if (text.size() == begin + 1)
    return bad_request("associative list with keys has an element that omits all key fields " + quoted_list(list.keys) +
                       " (and doesn't have default values for any key fields)");
  text += '}';
  return {};
}

Outcome append_value(std::string& text, const Value& item) {
  if (item.is_object()) return bad_request("associative list without keys has an element that's a map type");
  if (item.is_array()) return bad_request("not supported: associative list with lists as elements");
  if (item.is_null()) return bad_request("associative list without keys has an element that's an explicit null");
  item.append_json(text);
  return {};
}

}  // namespace

Outcome append_item_key(std::string& text, const MergeList& list, const Value& item) {
  return list.keys.empty() ? append_value(text, item) : append_keyed(text, list, item);
}

Result<PathElement> item_key(const MergeList& list, const Value& item) {
  std::string text;
  if (auto known = append_item_key(text, list, item); !known) return fail(known.error());
  return PathElement::of_json(list.keys.empty() ? PathElement::Kind::value : PathElement::Kind::key, std::move(text));
}

TypeChoice choice_of(const MergeType* type, const Value& value) {
  if (!type) return {};
  if (value.is_object() && type->map) return {.map = type->map.get()};
  if (value.is_array() && type->list) return {.list = type->list.get()};
  if ((value.is_string() || value.is_number() || value.is_boolean()) && type->scalar != MergeScalar::none)
    return {.scalar = type->scalar};
  return {type->map.get(), type->list.get(), type->scalar};
}

}  // namespace sublet::patches
