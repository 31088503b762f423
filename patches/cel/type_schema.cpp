// A CRD's OpenAPI schema as expressions see it: upstream's SchemaDeclType (k8s.io/apiserver/pkg/cel/common/schemas.go),
// with the sizes that its cost estimate goes by.
#include <algorithm>

#include "sublet/patches/cel_type.h"

namespace sublet::patches::cel {

namespace {

constexpr std::int64_t kRequestBytesMax = 3 * 1024 * 1024;
constexpr std::int64_t kRequestTextMax = kRequestBytesMax - 2;  // without its quotes

constexpr std::string_view kEscapedNames[] = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                              "continue", "else",    "for",       "function", "if",  "import", "let",
                                              "loop",     "package", "namespace", "return",   "var", "void",   "while"};

std::shared_ptr<Type> sized_scalar_type(Kind kind, std::int64_t min_size) {
  auto type = std::make_shared<Type>(*Type::of(kind));
  type->min_serialized_size = min_size;
  type->max_elements = 0;
  return type;
}

std::int64_t at_least_zero(const schema::Value& number) { return std::max<std::int64_t>(number.integer(), 0); }

bool nullable(const schema::Value& schema) { return schema["nullable"].boolean(); }
bool embedded(const schema::Value& schema) { return schema["x-kubernetes-embedded-resource"].boolean(); }

TypeRef type_of_schema(const schema::Value& schema, bool resource_root, const std::string& name);

TypeRef int_or_string(const schema::Value& schema) {
  auto type = sized_scalar_type(Kind::dyn, 1);
  type->int_or_string = true;
  type->nullable = nullable(schema);
  type->max_elements =
      static_cast<std::uint64_t>(schema.has("maxLength") ? at_least_zero(schema["maxLength"]) * 4 : kRequestTextMax);
  return type;
}

TypeRef list_type(const schema::Value& schema, const std::string& name) {
  if (!schema.has("items")) return nullptr;
  TypeRef item = type_of_schema(schema["items"], embedded(schema["items"]), name + ".@idx");
  if (!item) return nullptr;
  const std::int64_t items_max =
      schema.has("maxItems") ? at_least_zero(schema["maxItems"]) : kRequestTextMax / (item->min_serialized_size + 1);
  auto type = std::make_shared<Type>();
  type->kind = Kind::list;
  type->parameters = {std::move(item)};
  type->min_serialized_size = 2;
  type->max_elements = static_cast<std::uint64_t>(items_max);
  type->nullable = nullable(schema);
  const std::string_view form = schema["x-kubernetes-list-type"].text();
  type->list_form = form == "set" ? ListForm::set : (form == "map" ? ListForm::map : ListForm::atomic);
  for (const schema::Value key : schema["x-kubernetes-list-map-keys"]) type->list_keys.push_back(key.string());
  return type;
}

TypeRef map_type(const schema::Value& schema, const std::string& name) {
  const schema::Value values = schema["additionalProperties"];
  TypeRef value = type_of_schema(values, embedded(values), name + ".@elem");
  if (!value) return nullptr;
  const std::int64_t entries_max = schema.has("maxProperties") ? at_least_zero(schema["maxProperties"])
                                                               : kRequestTextMax / (value->min_serialized_size + 6);
  auto type = std::make_shared<Type>();
  type->kind = Kind::map;
  type->parameters = {sized_scalar_type(Kind::string, 2), std::move(value)};
  type->min_serialized_size = 2;
  type->max_elements = static_cast<std::uint64_t>(entries_max);
  type->nullable = nullable(schema);
  return type;
}

TypeField root_field(const std::string& name, TypeRef type) { return {name, name, std::move(type)}; }

// What a resource's root has though its schema may not say so.
void add_resource_fields(std::vector<TypeField>& fields, const std::string& name) {
  const auto plain_text = [] {
    auto type = sized_scalar_type(Kind::string, 2);
    type->max_elements = static_cast<std::uint64_t>(kRequestTextMax);
    return type;
  };
  auto metadata = std::make_shared<Type>(
      *Type::object(name + ".metadata", {root_field("name", plain_text()), root_field("generateName", plain_text())}));
  metadata->min_serialized_size = 2;
  metadata->max_elements = 0;
  std::erase_if(fields, [](const TypeField& field) {
    return field.property == "kind" || field.property == "apiVersion" || field.property == "metadata";
  });
  fields.push_back(root_field("kind", plain_text()));
  fields.push_back(root_field("apiVersion", plain_text()));
  fields.push_back(root_field("metadata", std::move(metadata)));
}

bool declares_resource_fields(const schema::Value& schema) {
  const schema::Value properties = schema["properties"];
  const schema::Value metadata = properties["metadata"];
  const auto is_text = [](const schema::Value& property) { return property["type"].text() == "string"; };
  return is_text(properties["kind"]) && is_text(properties["apiVersion"]) && metadata["type"].text() == "object" &&
         is_text(metadata["properties"]["name"]) && is_text(metadata["properties"]["generateName"]);
}

bool is_required(const schema::Value& schema, std::string_view name) {
  for (const schema::Value required : schema["required"])
    if (required.text() == name) return true;
  return false;
}

TypeRef object_type(const schema::Value& schema, bool resource_root, const std::string& name) {
  if (schema["additionalProperties"].is_object()) return map_type(schema, name);
  std::vector<TypeField> fields;
  std::int64_t min_size = 2;
  for (const schema::Value property : schema["properties"]) {
    const auto escaped = escape_property(property.key());
    TypeRef type = type_of_schema(property, embedded(property), name + '.' + escaped.value_or(""));
    if (type && is_required(schema, property.key()) && !property.has("default"))
      min_size += static_cast<std::int64_t>(property.key().size()) + type->min_serialized_size + 4;
    if (escaped) fields.push_back({*escaped, std::string(property.key()), std::move(type)});
  }
  if (resource_root && !declares_resource_fields(schema)) add_resource_fields(fields, name);
  auto type = std::make_shared<Type>(*Type::object(name, std::move(fields)));
  type->min_serialized_size = min_size;
  type->max_elements = 0;
  type->nullable = nullable(schema);
  return type;
}

TypeRef text_type(const schema::Value& schema) {
  struct Format {
    std::string_view name;
    Kind kind;
    std::int64_t min_size, longest;
  };
  static constexpr Format kFormats[] = {
      {"duration", Kind::duration, 3, 32}, {"date", Kind::timestamp, 12, 12}, {"date-time", Kind::timestamp, 21, 32}};
  const std::string_view format = schema["format"].text();
  std::shared_ptr<Type> type;
  for (const Format& known : kFormats)
    if (format == known.name) {
      type = sized_scalar_type(known.kind, known.min_size);
      type->name = known.name;
      type->max_elements = static_cast<std::uint64_t>(known.longest);
    }
  const schema::Value longest = schema["maxLength"];
  if (!type && format == "byte") {
    type = sized_scalar_type(Kind::bytes, 2);
    type->max_elements = static_cast<std::uint64_t>(longest ? at_least_zero(longest) : kRequestTextMax);
  }
  if (!type) {
    type = sized_scalar_type(Kind::string, 2);
    std::int64_t most = longest ? at_least_zero(longest) * 4 : kRequestTextMax;
    if (!longest && !schema["enum"].empty()) {
      most = 0;
      for (const schema::Value choice : schema["enum"])
        most = std::max(most, static_cast<std::int64_t>(choice.text().size()));
    }
    type->max_elements = static_cast<std::uint64_t>(most);
  }
  type->nullable = nullable(schema);
  return type;
}

TypeRef type_of_schema(const schema::Value& schema, bool resource_root, const std::string& name) {
  if (!schema) return nullptr;
  if (schema["x-kubernetes-int-or-string"].boolean()) return int_or_string(schema);
  const std::string_view type = resource_root ? "object" : schema["type"].text();
  if (type == "array") return list_type(schema, name);
  if (type == "object") return object_type(schema, resource_root, name);
  if (type == "string") return text_type(schema);
  std::shared_ptr<Type> plain;
  if (type == "boolean") plain = sized_scalar_type(Kind::boolean, 4);
  if (type == "number") plain = sized_scalar_type(Kind::floating, 1);
  if (type == "integer") plain = sized_scalar_type(Kind::integer, 1);
  if (plain) plain->nullable = nullable(schema);
  return plain;
}

}  // namespace

TypeRef Type::of_schema(const schema::Value& openapi, bool resource_root, const std::string& name) {
  return type_of_schema(openapi, resource_root, name);
}

std::optional<std::string> escape_property(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  if (std::find(std::begin(kEscapedNames), std::end(kEscapedNames), name) != std::end(kEscapedNames))
    return "__" + std::string(name) + "__";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out += c;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::uint64_t max_cardinality(std::int64_t min_serialized_size) {
  return static_cast<std::uint64_t>(kRequestBytesMax / (min_serialized_size + 1));
}

}  // namespace sublet::patches::cel
