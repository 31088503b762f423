// Uniqueness of the items of sets and maps, and embedded resources (validate.h).
#include <map>
#include <unordered_map>

#include "apiserver/structural/validate.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/object_meta.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::ListType;
using schema::Value;

std::string under(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

/// Equal texts are equal values, whatever the order of their members.
std::string identity_of(const Value& value) {
  if (value.is_floating() && value.floating() == static_cast<double>(static_cast<std::int64_t>(value.floating())))
    return std::to_string(static_cast<std::int64_t>(value.floating()));
  if (!value.is_object()) return value.to_json();
  Document sorted = Document::copy_of(value);
  sorted.root().sort_keys();
  return sorted.to_json();
}

/// The keys of an item, those that it has.
Document keys_of(const Value& item, const Schema& schema) {
  Document keys = Document::object();
  for (const auto name : schema.list_map_keys)
    if (item.has(name)) keys.root().put(name, item[name]);
  return keys;
}

class ListValidator {
 public:
  explicit ListValidator(std::vector<Cause>& causes) : causes_(causes) {}

  void value(const Value& value, const Schema& schema, const std::string& path) {
    if (!(schema.below & Schema::kLists)) return;
    if (value.is_array()) return list(value, schema, path);
    for (const Value member : value) {
      if (schema.additional && !schema.property(member.key()))
        this->value(member, *schema.additional, path + "[" + std::string(member.key()) + "]");
      else if (const Schema* known = schema.property(member.key()))
        this->value(member, *known, under(path, member.key()));
    }
  }

 private:
  void list(const Value& value, const Schema& schema, const std::string& path) {
    const auto item_path = [&](std::size_t index) { return path + "[" + std::to_string(index) + "]"; };
    if (schema.list_type == ListType::set || schema.list_type == ListType::map) unique(value, schema, path);
    std::size_t index = 0;
    if (schema.items)
      for (const Value item : value) this->value(item, *schema.items, item_path(index++));
  }

  void unique(const Value& value, const Schema& schema, const std::string& path) {
    const bool map = schema.list_type == ListType::map;
    std::unordered_map<std::string, int> seen;
    std::size_t index = 0;
    if (map)
      for (const Value item : value) {
        const std::string at = path + "[" + std::to_string(index++) + "]";
        if (!item.is_null() && !item.is_object())
          return invalid(causes_, at, item, "must be an object for an array of list-type map");
      }
    index = 0;
    for (const Value item : value) {
      const Document keys = map ? keys_of(item, schema) : Document::copy_of(item);
      const std::string at = path + "[" + std::to_string(index++) + "]";
      if (seen[identity_of(keys.root())]++ == 1) duplicate(causes_, at, keys.root());
    }
  }

  std::vector<Cause>& causes_;
};

class EmbeddedValidator {
 public:
  explicit EmbeddedValidator(std::vector<Cause>& causes) : causes_(causes) {}

  void value(const Value& value, const Schema& schema, const std::string& path) {
    if (!(schema.below & Schema::kEmbedded)) return;
    if (value.is_object() && schema.embedded) resource(value, path);
    below(value, schema, path);
  }

  void below(const Value& value, const Schema& schema, const std::string& path) {
    if (value.is_array()) {
      std::size_t index = 0;
      if (schema.items)
        for (const Value item : value) this->value(item, *schema.items, path + "[" + std::to_string(index++) + "]");
      return;
    }
    for (const Value member : value) {
      if (const Schema* known = schema.property(member.key()))
        this->value(member, *known, under(path, member.key()));
      else if (schema.additional)
        this->value(member, *schema.additional, path + "[" + std::string(member.key()) + "]");
    }
  }

  void resource(const Value& value, const std::string& path) {
    for (const std::string_view name : {"apiVersion", "kind"})
      if (!value.has(name)) required(causes_, under(path, name));
    if (value.has("apiVersion")) api_version(value["apiVersion"], under(path, "apiVersion"));
    if (value.has("kind")) kind(value["kind"], under(path, "kind"));
    if (value.has("metadata")) metadata(value["metadata"], path);
  }

 private:
  void api_version(const Value& value, const std::string& path) {
    if (!value.is_string()) return invalid(causes_, path, value, "must be a string");
    if (value.text().empty()) return invalid(causes_, path, "", "must not be empty");
    const auto slashes = std::count(value.text().begin(), value.text().end(), '/');
    if (slashes > 1) invalid(causes_, path, value, "unexpected GroupVersion string: " + value.string());
  }

  void kind(const Value& value, const std::string& path) {
    if (!value.is_string()) return invalid(causes_, path, value, "must be a string");
    if (value.text().empty()) return invalid(causes_, path, "", "must not be empty");
    std::string lower = value.string();
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string joined;
    for (const auto& message : dns1035_label(lower)) joined += (joined.empty() ? "" : ",") + message;
    if (!joined.empty()) invalid(causes_, path, value, "may have mixed case, but should otherwise match: " + joined);
  }

  void metadata(const Value& value, const std::string& path) {
    if (!value.is_object()) return invalid(causes_, under(path, "metadata"), value, "must be an object");
    Document meta = Document::copy_of(value);
    if (meta["name"].text().empty()) meta.root().put("name", "fakename");  // it need not have one
    std::vector<Cause> found;
    validate_object_meta(meta.root(), !meta["namespace"].text().empty(), NameRule::path_segment, found,
                         FinalizerRule::any_name);
    for (Cause& cause : found) {
      if (!path.empty()) cause.field = path + "." + cause.field;
      causes_.push_back(std::move(cause));
    }
  }

  std::vector<Cause>& causes_;
};

}  // namespace

void validate_lists(const Value& value, const Schema& schema, const std::string& path, std::vector<Cause>& causes) {
  ListValidator(causes).value(value, schema, path);
}

void validate_embedded(const Value& value, const Schema& schema, Root root, const std::string& path,
                       std::vector<Cause>& causes) {
  EmbeddedValidator validator(causes);
  if (root == Root::resource) validator.resource(value, path);
  if (root == Root::resource)
    validator.below(value, schema, path);
  else
    validator.value(value, schema, path);
}

}  // namespace sublet::apiserver
