#include "apiserver/discovery/gnostic.h"

#include <bit>
#include <cassert>
#include <cstdint>
#include <span>

#include "sublet/base/varint.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver::gnostic {
namespace {

using schema::Document;
using schema::Value;

void put_flag(std::string& out, unsigned field, bool flag) {
  if (!flag) return;  // proto3: false is not written
  append_varint(out, field << 3);
  out += '\1';
}

// JSON member -> field. `write` puts the member's value as the field `number`.

struct Member {
  std::string_view key;
  unsigned number;
  void (*write)(std::string& out, unsigned number, const Value& value);
};

std::string message(const Value& object, std::span<const Member> members, unsigned extension_number);

void text(std::string& out, unsigned number, const Value& value) { append_protobuf_bytes(out, number, value.text()); }
void flag(std::string& out, unsigned number, const Value& value) { put_flag(out, number, value.boolean()); }

void texts(std::string& out, unsigned number, const Value& value) {
  for (Value item : value) append_protobuf_bytes(out, number, item.text());
}

/// Any { yaml = 2 }: JSON is YAML.
std::string any(const Value& value) {
  std::string out;
  append_protobuf_bytes(out, 2, value.to_json());
  return out;
}

std::string named(std::string_view name, std::string_view content) {
  std::string out;
  append_protobuf_bytes(out, 1, name);
  append_protobuf_bytes(out, 2, content);
  return out;
}

/// A message of which only field 1 (or another) is set: what `oneof` wrappers are.
std::string wrapped(unsigned number, std::string_view content) {
  std::string out;
  append_protobuf_bytes(out, number, content);
  return out;
}

std::string schema_message(const Value& value);

void schema_field(std::string& out, unsigned number, const Value& value) {
  append_protobuf_bytes(out, number, schema_message(value));
}
void wrapped_schema(std::string& out, unsigned number, const Value& value) {
  append_protobuf_bytes(out, number, wrapped(1, schema_message(value)));
}
/// TypeItem { repeated value = 1 }.
void type_item(std::string& out, unsigned number, const Value& value) {
  append_protobuf_bytes(out, number, wrapped(1, value.text()));
}
void any_field(std::string& out, unsigned number, const Value& value) {
  append_protobuf_bytes(out, number, any(value));
}
void named_schemas(std::string& out, unsigned number, const Value& value) {
  std::string properties;
  for (Value property : value) append_protobuf_bytes(properties, 1, named(property.key(), schema_message(property)));
  append_protobuf_bytes(out, number, properties);
}

/// double: eight bytes, the lowest first.
void real(std::string& out, unsigned field, const Value& value) {
  append_varint(out, field << 3 | 1);
  for (auto bits = std::bit_cast<std::uint64_t>(value.floating()), i = std::uint64_t{0}; i < 8; ++i, bits >>= 8)
    out += static_cast<char>(bits & 0xff);
}
void count(std::string& out, unsigned field, const Value& value) {
  append_varint(out, field << 3);
  append_varint(out, static_cast<std::uint64_t>(value.integer()));
}
void any_fields(std::string& out, unsigned number, const Value& value) {
  for (Value item : value) append_protobuf_bytes(out, number, any(item));
}
/// AdditionalPropertiesItem { schema = 1, or boolean = 2 }.
void schema_or_flag(std::string& out, unsigned number, const Value& value) {
  if (!value.is_boolean()) return wrapped_schema(out, number, value);
  std::string choice;
  append_varint(choice, 2 << 3);
  choice += value.boolean() ? '\1' : '\0';
  append_protobuf_bytes(out, number, choice);
}
void docs(std::string& out, unsigned number, const Value& value) {
  constexpr Member kDocs[] = {{"description", 1, text}, {"url", 2, text}};
  append_protobuf_bytes(out, number, message(value, kDocs, 3));
}

constexpr Member kSchema[] = {
    {"$ref", 1, text},
    {"format", 2, text},
    {"title", 3, text},
    {"description", 4, text},
    {"default", 5, any_field},
    {"multipleOf", 6, real},
    {"maximum", 7, real},
    {"exclusiveMaximum", 8, flag},
    {"minimum", 9, real},
    {"exclusiveMinimum", 10, flag},
    {"maxLength", 11, count},
    {"minLength", 12, count},
    {"pattern", 13, text},
    {"maxItems", 14, count},
    {"minItems", 15, count},
    {"uniqueItems", 16, flag},
    {"maxProperties", 17, count},
    {"minProperties", 18, count},
    {"required", 19, texts},
    {"enum", 20, any_fields},
    {"additionalProperties", 21, schema_or_flag},
    {"type", 22, type_item},
    {"items", 23, wrapped_schema},
    {"properties", 25, named_schemas},
    {"externalDocs", 29, docs},
    {"example", 30, any_field},
};

std::string schema_message(const Value& value) { return message(value, kSchema, 31); }

constexpr Member kBodyParameter[] = {
    {"name", 2, text}, {"in", 3, text}, {"required", 4, flag}, {"schema", 5, schema_field}};
constexpr Member kQueryParameter[] = {
    {"required", 1, flag}, {"in", 2, text}, {"name", 4, text}, {"type", 6, text}, {"uniqueItems", 20, flag}};
constexpr Member kPathParameter[] = {
    {"required", 1, flag}, {"in", 2, text}, {"name", 4, text}, {"type", 5, text}, {"uniqueItems", 19, flag}};

/// Parameter: body_parameter = 1, or non_body_parameter = 2 with one form per place.
std::string parameter(const Value& value) {
  std::string_view place = value["in"].text();
  if (place == "body") return wrapped(1, message(value, kBodyParameter, 6));
  if (place == "query") return wrapped(2, wrapped(3, message(value, kQueryParameter, 23)));
  return wrapped(2, wrapped(4, message(value, kPathParameter, 22)));
}

// Another server's paths may have headers and forms; the clients of this form know none.
bool has_a_place(const Value& parameter) {
  const auto place = parameter["in"].text();
  return place == "body" || place == "query" || place == "path";
}

/// ParametersItem { parameter = 1 }.
void parameters(std::string& out, unsigned number, const Value& value) {
  for (Value item : value)
    if (has_a_place(item)) append_protobuf_bytes(out, number, wrapped(1, parameter(item)));
}

constexpr Member kResponse[] = {{"description", 1, text}, {"schema", 2, wrapped_schema}};

/// Responses { repeated NamedResponseValue response_code = 1 }, each wrapping a Response.
void responses(std::string& out, unsigned number, const Value& value) {
  std::string codes;
  for (Value response : value)
    append_protobuf_bytes(codes, 1, named(response.key(), wrapped(1, message(response, kResponse, 5))));
  append_protobuf_bytes(out, number, codes);
}

constexpr Member kOperation[] = {
    {"tags", 1, texts},     {"operationId", 5, text},      {"produces", 6, texts},
    {"consumes", 7, texts}, {"parameters", 8, parameters}, {"responses", 9, responses},
};

void operation(std::string& out, unsigned number, const Value& value) {
  append_protobuf_bytes(out, number, message(value, kOperation, 13));
}

constexpr Member kPathItem[] = {
    {"get", 2, operation},     {"put", 3, operation},  {"post", 4, operation},  {"delete", 5, operation},
    {"options", 6, operation}, {"head", 7, operation}, {"patch", 8, operation}, {"parameters", 9, parameters},
};

constexpr Member kInfo[] = {{"title", 1, text}, {"version", 2, text}};

const Member* find(std::span<const Member> members, std::string_view key) {
  for (const Member& member : members)
    if (member.key == key) return &member;
  return nullptr;
}

std::string message(const Value& object, std::span<const Member> members, unsigned extension_number) {
  std::string out;
  for (Value member : object) {
    if (member.key().starts_with("x-")) {
      append_protobuf_bytes(out, extension_number, named(member.key(), any(member)));
      continue;
    }
    // What OpenAPI v2 has no word for is left out: the schemas of custom resources are their authors'.
    if (const Member* known = find(members, member.key())) known->write(out, known->number, member);
  }
  return out;
}

std::string from_json(std::string_view json, std::span<const Member> members, unsigned extension_number) {
  Result<Document> parsed = Document::parse_json(json);
  assert(parsed);  // our own writer made it, or the engine's
  return message(parsed->root(), members, extension_number);
}

}  // namespace

void DocumentWriter::begin(std::string_view swagger, std::string_view info_json) {
  append_protobuf_bytes(head_, 1, swagger);
  append_protobuf_bytes(head_, 2, from_json(info_json, kInfo, 7));
}

void DocumentWriter::add_path(std::string_view path, std::string_view path_item_json) {
  append_protobuf_bytes(paths_, 2, named(path, from_json(path_item_json, kPathItem, 10)));
}

void DocumentWriter::add_definition(std::string_view name, std::string_view schema_json) {
  append_protobuf_bytes(definitions_, 1, named(name, from_json(schema_json, kSchema, 31)));
}

std::string DocumentWriter::take() {
  append_protobuf_bytes(head_, 8, paths_);
  append_protobuf_bytes(head_, 9, definitions_);
  paths_.clear();
  definitions_.clear();
  return std::move(head_);
}

}  // namespace sublet::apiserver::gnostic
