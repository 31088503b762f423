#include "apiserver/crd/openapi_members.h"

#include <algorithm>
#include <array>
#include <string>

#include "apiserver/discovery/openapi_schemas.h"
#include "apiserver/request/text_list.h"
#include "apiserver/structural/schema.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// OpenAPI v2 has no word for these.
constexpr std::string_view kJunctors[] = {"allOf", "anyOf", "oneOf", "not"};
constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";

struct MetaTexts {
  std::string_view api_version, kind;
};
constexpr MetaTexts kRootTexts{
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"};
constexpr MetaTexts kEmbeddedTexts{
    "apiVersion defines the versioned schema of this representation of an object. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    "kind is a string value representing the type of this object. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"};
constexpr std::string_view kMetadataText =
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

class Writer {
 public:
  explicit Writer(OpenApiDialect dialect) : v2_(dialect == OpenApiDialect::v2) {}

  /// Calls member(name, JSON text) for each member of the schema.
  template <class Member>
  void members(const Value& props, bool root, Member member) {
    const bool nullable = props["nullable"].boolean(), preserve = props[kPreserve].boolean();
    const bool opaque = v2_ && (nullable || preserve);
    const bool resource = root || (props["x-kubernetes-embedded-resource"].boolean() && !(v2_ && preserve));
    for (const Value one : props) {
      const auto name = one.key();
      if (v2_ && (contains_text(kJunctors, name) || name == "nullable")) continue;
      if (name == "properties" || name == "required") continue;
      if (opaque && name == "items") continue;
      if (v2_ && name == "type" && untyped(props, nullable, preserve)) continue;
      if (name == "items" || name == "not" || (name == "additionalProperties" && one.is_object()))
        member(name, schema(one));
      else if (contains_text(kJunctors, name))
        member(name, list(one));
      else
        member(name, one.to_json());
    }
    if (!opaque && (resource || props.has("properties"))) member("properties", properties(props, resource, root));
    if (std::string required = required_of(props, resource && !root); required != "[]") member("required", required);
  }

  std::string schema(const Value& props) {
    std::string out = "{";
    members(props, false, [&out](std::string_view name, const std::string& text) {
      if (out.size() > 1) out += ',';
      schema::append_json_string(out, name);
      out += ':';
      out += text;
    });
    return out += "}";
  }

 private:
  static bool untyped(const Value& props, bool nullable, bool preserve) {
    const auto type = props["type"].text();
    return nullable || (preserve && (type == "object" || type == "array")) || (type == "array" && !props.has("items"));
  }

  std::string list(const Value& parts) {
    std::string out = "[";
    for (const Value part : parts) {
      if (out.size() > 1) out += ',';
      out += schema(part);
    }
    return out += "]";
  }

  static void add(std::string& out, std::string_view name, const std::string& text) {
    if (out.size() > 1) out += ',';
    schema::append_json_string(out, name);
    out += ':';
    out += text;
  }

  std::string properties(const Value& props, bool resource, bool root) {
    std::string out = "{";
    if (resource) {
      const MetaTexts& texts = root ? kRootTexts : kEmbeddedTexts;
      add(out, "apiVersion", text_property(texts.api_version));
      add(out, "kind", text_property(texts.kind));
      add(out, "metadata", metadata());
    }
    for (const Value property : props["properties"])
      if (!resource || !is_type_or_object_meta(property.key())) add(out, property.key(), schema(property));
    return out += "}";
  }

  static std::string text_property(std::string_view description) {
    std::string out = "{\"description\":";
    schema::append_json_string(out, description);
    return out += ",\"type\":\"string\"}";
  }

  std::string metadata() const {
    std::string out = "{\"description\":";
    schema::append_json_string(out, kMetadataText);
    if (v2_) return out.append(",\"$ref\":\"#/definitions/").append(kObjectMetaType).append("\"}");
    return out.append(",\"allOf\":[{\"$ref\":\"#/components/schemas/").append(kObjectMetaType).append("\"}]}");
  }

  std::string required_of(const Value& props, bool embedded) const {
    std::string out = "[";
    const auto put = [&out](std::string_view name) {
      if (out.size() > 1) out += ',';
      schema::append_json_string(out, name);
    };
    bool kind = false, api_version = false;
    for (const Value name : props["required"]) {
      if (v2_ && props["properties"][name.text()]["nullable"].boolean()) continue;
      put(name.text());
      kind = kind || name.text() == "kind";
      api_version = api_version || name.text() == "apiVersion";
    }
    if (embedded && !kind) put("kind");
    if (embedded && !api_version) put("apiVersion");
    return out += "]";
  }

  const bool v2_;
};

}  // namespace

void write_openapi_members(JsonWriter& json, const Value& props, OpenApiDialect dialect) {
  const bool opaque = dialect == OpenApiDialect::v2 && props[kPreserve].boolean();
  if (props.missing() || opaque) {
    json.member("type", "object");
    return;
  }
  Writer(dialect).members(props, true,
                          [&json](std::string_view name, const std::string& text) { json.key(name).raw(text); });
}

}  // namespace sublet::apiserver
