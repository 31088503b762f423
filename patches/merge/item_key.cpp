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

struct KeyField {
  std::string_view name;
  std::string json;
};

Result<PathElement> keyed(const MergeList& list, const Value& item) {
  if (item.is_null()) return bad_request("associative list with keys may not have a null element");
  if (!item.is_object()) return bad_request("associative list with keys may not have non-map elements");
  std::vector<KeyField> fields;
  for (const auto& key : list.keys) {
    if (const Value value = item[key])
      fields.push_back({key, value.to_json()});
    else if (const auto said = default_of(list, key); !said.empty())
      fields.push_back({key, std::string(said)});
  }
  if (fields.empty())
    return bad_request("associative list with keys has an element that omits all key fields " + quoted_list(list.keys) +
                       " (and doesn't have default values for any key fields)");
  std::ranges::sort(fields, {}, &KeyField::name);
  std::string json;
  for (const auto& field : fields) {
    json += json.empty() ? '{' : ',';
    schema::append_json_string(json, field.name);
    json.append(":").append(field.json);
  }
  return PathElement::of_json(PathElement::Kind::key, json + "}");
}

Result<PathElement> by_value(const Value& item) {
  if (item.is_object()) return bad_request("associative list without keys has an element that's a map type");
  if (item.is_array()) return bad_request("not supported: associative list with lists as elements");
  if (item.is_null()) return bad_request("associative list without keys has an element that's an explicit null");
  return PathElement::value(item);
}

}  // namespace

Result<PathElement> item_key(const MergeList& list, const Value& item) {
  return list.keys.empty() ? by_value(item) : keyed(list, item);
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
