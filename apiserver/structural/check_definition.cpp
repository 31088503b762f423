#include "apiserver/structural/check_definition.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "apiserver/request/text_list.h"
#include "apiserver/structural/definition.h"
#include "apiserver/structural/rules.h"
#include "apiserver/structural/validate.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::size_t kSelectableMax = 8;
constexpr std::string_view kSchemaTypes[] = {"array", "boolean", "integer", "number", "object", "string"};
constexpr std::string_view kColumnTypes[] = {"boolean", "date", "integer", "number", "string"};
constexpr std::string_view kColumnFormats[] = {"byte",  "date",  "date-time", "double",
                                               "float", "int32", "int64",     "password"};
constexpr std::string_view kRuleReasons[] = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                             "FieldValueRequired"};

std::string indexed(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

bool is_blank(std::string_view text) { return trimmed(text).empty(); }
bool has_line_break(std::string_view text) { return text.find_first_of("\r\n") != std::string_view::npos; }

// --- the schema: upstream's ValidateCustomResourceDefinitionOpenAPISchema ---

/// What is inherited on the way down.
struct Below {
  bool defaults = true;
  std::string no_defaults_because;
  bool inside_meta = false;
};

class SchemaCheck {
 public:
  explicit SchemaCheck(std::vector<Cause>& causes) : causes_(causes) {}

  void node(const Value& props, const std::string& path, const Below& below, bool root) {
    if (!props.is_object()) return;
    keywords(props, path, below);
    members(props, path, below, root);
    for (const std::string list : {"allOf", "oneOf", "anyOf"}) {
      std::size_t index = 0;
      for (const Value part : props[list]) node(part, indexed(path + "." + list, index++), below, false);
    }
    node(props["not"], path + ".not", below, false);
    node(props["items"], path + ".items", below, false);
    if (const Value preserve = props["x-kubernetes-preserve-unknown-fields"];
        preserve.is_boolean() && !preserve.boolean())
      invalid(causes_, path + ".x-kubernetes-preserve-unknown-fields", preserve, "must be true or undefined");
    map_type(props, path);
    list_type(props, path);
    rules(props, path);
  }

 private:
  void keywords(const Value& props, const std::string& path, const Below& below) {
    const auto type = props["type"].text();
    if (!type.empty() && !contains_text(kSchemaTypes, type)) not_supported(causes_, path + ".type", type, kSchemaTypes);
    if (props.has("default") && !below.defaults)
      forbidden(causes_, path + ".default",
                below.no_defaults_because.empty() ? "must not be set" : "must not be set " + below.no_defaults_because);
    struct Unsupported {
      const char *member, *detail;
    };
    constexpr Unsupported kUnsupported[] = {{"id", "id is not supported"},
                                            {"additionalItems", "additionalItems is not supported"},
                                            {"patternProperties", "patternProperties is not supported"},
                                            {"definitions", "definitions is not supported"},
                                            {"dependencies", "dependencies is not supported"},
                                            {"$ref", "$ref is not supported"}};
    for (const auto& [member, detail] : kUnsupported)
      if (props.has(member)) forbidden(causes_, path + "." + member, detail);
    if (type == "null")
      forbidden(causes_, path + ".type", "type cannot be set to null, use nullable as an alternative");
    if (props["items"].is_array())
      forbidden(causes_, path + ".items", "items must be a schema object and not an array");
    if (below.inside_meta && props["x-kubernetes-embedded-resource"].boolean())
      forbidden(causes_, path + ".x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    if (props["uniqueItems"].boolean())
      forbidden(causes_, path + ".uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }

  void members(const Value& props, const std::string& path, const Below& below, bool root) {
    if (const Value additional = props["additionalProperties"]) {
      if (!props["properties"].empty() && !(additional.is_boolean() && additional.boolean()))
        forbidden(causes_, path + ".additionalProperties", "additionalProperties and properties are mutual exclusive");
      Below inside = below;
      if (below.inside_meta) {
        inside.defaults = false;
        inside.no_defaults_because = "inside additionalProperties applying to object metadata";
      }
      node(additional, path + ".additionalProperties", inside, false);
    }
    const bool resource = root || props["x-kubernetes-embedded-resource"].boolean();
    for (const Value property : props["properties"]) {
      Below inside = below;
      const auto name = property.key();
      if (resource && (name == "metadata" || name == "kind" || name == "apiVersion")) {
        inside.inside_meta = true;
        if (root) {
          inside.defaults = false;
          inside.no_defaults_because = "in top-level " + std::string(name);
        }
      }
      node(property, path + ".properties[" + std::string(name) + "]", inside, false);
    }
  }

  void map_type(const Value& props, const std::string& path) {
    if (!props.has("x-kubernetes-map-type")) return;
    type_for(props, path, "object", "must be object if x-kubernetes-map-type is specified");
    const auto text = props["x-kubernetes-map-type"].text();
    constexpr std::string_view kMapTypes[] = {"atomic", "granular"};
    if (!contains_text(kMapTypes, text)) not_supported(causes_, path + ".x-kubernetes-map-type", text, kMapTypes);
  }

  void type_for(const Value& props, const std::string& path, std::string_view wanted, std::string_view detail) {
    const auto type = props["type"].text();
    if (type == wanted) return;
    if (type.empty())
      required(causes_, path + ".type", detail);
    else
      invalid(causes_, path + ".type", type, detail);
  }

  void list_type(const Value& props, const std::string& path) {
    const Value said = props["x-kubernetes-list-type"], items = props["items"],
                keys = props["x-kubernetes-list-map-keys"];
    const auto text = said.text();
    if (said && props["type"].text() != "array")
      type_for(props, path, "array", "must be array if x-kubernetes-list-type is specified");
    else if (text == "set" && items.is_object())
      set_items(items, path);
    constexpr std::string_view kListTypes[] = {"atomic", "set", "map"};
    if (said && !contains_text(kListTypes, text))
      not_supported(causes_, path + ".x-kubernetes-list-type", text, kListTypes);
    if (!keys.empty() && !said)
      required(causes_, path + ".x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty");
    else if (!keys.empty() && text != "map")
      invalid(causes_, path + ".x-kubernetes-list-type", text,
              "must be map if x-kubernetes-list-map-keys is non-empty");
    if (text == "map") list_map(props, items, keys, path);
    if ((text == "map" || text == "set") && items["nullable"].boolean())
      forbidden(causes_, path + ".items.nullable",
                "cannot be nullable when x-kubernetes-list-type is " + std::string(text));
    if (text == "map" && items.is_object()) map_keys(items, keys, path);
  }

  void set_items(const Value& items, const std::string& path) {
    constexpr std::string_view kAtomic = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const auto type = items["type"].text();
    if (type == "array" && items.has("x-kubernetes-list-type") && items["x-kubernetes-list-type"].text() != "atomic")
      invalid(causes_, path + ".items.x-kubernetes-list-type", items["x-kubernetes-list-type"], kAtomic);
    if (type == "object" && items["x-kubernetes-map-type"].text() != "atomic")
      invalid(causes_, path + ".items.x-kubernetes-map-type", BadValue::raw("null"), kAtomic);
  }

  void list_map(const Value& props, const Value& items, const Value& keys, const std::string& path) {
    if (keys.empty())
      required(causes_, path + ".x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map");
    if (!props.has("items"))
      return required(causes_, path + ".items", "must have a schema if x-kubernetes-list-type is map");
    if (!items.is_object())
      return invalid(causes_, path + ".items", items,
                     "must only have a single schema if x-kubernetes-list-type is map");
    if (items["type"].text() != "object")
      return invalid(causes_, path + ".items.type", items["type"].text(),
                     "must be object if parent array's x-kubernetes-list-type is map");
    std::set<std::string> seen;
    for (const Value key : keys) {
      const Value property = items["properties"][key.text()];
      const auto type = property["type"].text();
      if (!property)
        invalid(causes_, path + ".x-kubernetes-list-map-keys", keys, "entries must all be names of item properties");
      else if (type == "array" || type == "object")
        invalid(causes_, path + ".items.properties[" + key.string() + "].type", items["type"].text(),
                "must be a scalar type if parent array's x-kubernetes-list-type is map");
      if (!seen.insert(key.string()).second)
        invalid(causes_, path + ".x-kubernetes-list-map-keys", keys, "must not contain duplicate entries");
    }
  }

  void map_keys(const Value& items, const Value& keys, const std::string& path) {
    for (const Value key : keys) {
      const Value property = items["properties"][key.text()];
      if (!property) continue;
      const std::string here = path + ".items.properties[" + key.string() + "]";
      bool is_required = false;
      for (const Value name : items["required"]) is_required = is_required || name.text() == key.text();
      if (!is_required && !property.has("default"))
        required(causes_, here + ".default",
                 "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
                 "property");
      if (property["nullable"].boolean())
        forbidden(causes_, here + ".nullable",
                  "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  void rules(const Value& props, const std::string& path) {
    std::size_t index = 0;
    for (const Value rule : props["x-kubernetes-validations"])
      this->rule(rule, indexed(path + ".x-kubernetes-validations", index++));
  }

  void rule(const Value& rule, const std::string& here) {
    const auto text = trimmed(rule["rule"].text()), message = rule["message"].text();
    if (text.empty())
      required(causes_, here + ".rule", "rule is not specified");
    else if (!message.empty() && is_blank(message))
      invalid(causes_, here + ".message", message, "must be non-empty if specified");
    else if (has_line_break(trimmed(message)))
      invalid(causes_, here + ".message", message, "must not contain line breaks");
    else if (has_line_break(text) && is_blank(message))
      required(causes_, here + ".message", "message must be specified if rule contains line breaks");
    const auto expression = rule["messageExpression"].text();
    if (!expression.empty() && is_blank(expression))
      required(causes_, here + ".messageExpression", "messageExpression must be non-empty if specified");
    if (const Value reason = rule["reason"]; reason && !contains_text(kRuleReasons, reason.text()))
      not_supported(causes_, here + ".reason", reason.text(), kRuleReasons);
    const auto field_path = rule["fieldPath"].text();
    if (!field_path.empty() && is_blank(field_path))
      invalid(causes_, here + ".fieldPath", field_path, "must be non-empty if specified");
    if (has_line_break(field_path)) invalid(causes_, here + ".fieldPath", field_path, "must not contain line breaks");
  }

  std::vector<Cause>& causes_;
};

void check_names(const Value& names, const std::string& path, std::vector<Cause>& causes) {
  const auto label = [&](std::string_view text, const std::string& field, bool kind) {
    if (text.empty() && !field.ends_with(']')) return;
    const auto messages = dns1035_label(kind ? to_lower(text) : std::string(text));
    if (messages.empty()) return;
    invalid(causes, field, text,
            (kind ? "may have mixed case, but should otherwise match: " : "") + join(messages, ","));
  };
  label(names["plural"].text(), path + ".plural", false);
  label(names["singular"].text(), path + ".singular", false);
  label(names["kind"].text(), path + ".kind", true);
  label(names["listKind"].text(), path + ".listKind", true);
  std::size_t index = 0;
  for (const Value name : names["shortNames"]) label(name.text(), indexed(path + ".shortNames", index++), false);
  const auto kind = names["kind"].text();
  if (!kind.empty() && kind == names["listKind"].text())
    invalid(causes, path + ".listKind", kind, "kind and listKind may not be the same");
  index = 0;
  for (const Value name : names["categories"]) label(name.text(), indexed(path + ".categories", index++), false);
}

/// The first member of the schema, or of one inside it, that no structural schema has; empty: none.
std::string_view unsupported_member(const Value& props) {
  struct Member {
    std::string_view name, said;
  };
  constexpr Member kUnsupported[] = {{"id", "id"},
                                     {"$schema", "schema"},
                                     {"$ref", "$ref"},
                                     {"patternProperties", "patternProperties"},
                                     {"dependencies", "dependencies"},
                                     {"additionalItems", "additionalItems"},
                                     {"definitions", "definitions"}};
  if (!props.is_object()) return {};
  for (const auto& member : kUnsupported) {
    const Value value = props[member.name];
    const bool said = value && (value.is_boolean() || !(value.is_string() ? value.text().empty() : value.empty()));
    if (said) return member.said;
  }
  for (const auto inner : {"items", "additionalProperties", "not"})
    if (const auto found = unsupported_member(props[inner]); !found.empty()) return found;
  for (const auto inner : {"properties", "allOf", "anyOf", "oneOf"})
    for (const Value value : props[inner])
      if (const auto found = unsupported_member(value); !found.empty()) return found;
  return {};
}

bool has_default(const Value& props) {
  if (!props.is_object()) return false;
  if (props.has("default")) return true;
  for (const auto inner : {"items", "additionalProperties", "not"})
    if (has_default(props[inner])) return true;
  for (const auto inner : {"properties", "allOf", "anyOf", "oneOf"})
    for (const Value value : props[inner])
      if (has_default(value)) return true;
  return false;
}

// --- the definition ---

class DefinitionCheck {
 public:
  DefinitionCheck(const Value& object, std::vector<Cause>& causes)
      : object_(object), spec_(object["spec"]), causes_(causes) {}

  void run(bool made) {
    if (made) name();
    group();
    scope();
    schemas_are_there();
    versions();
    hoisted();
    const Value names = spec_["names"];
    for (const std::string member : {"plural", "singular", "kind", "listKind"})
      if (names[member].text().empty()) required(causes_, "spec.names." + member);
    check_names(names, "spec.names", causes_);
    conversion();
    stored_versions();
  }

 private:
  void name() {
    const auto name = object_["metadata"]["name"].text();
    const std::string wanted = spec_["names"]["plural"].string() + "." + spec_["group"].string();
    if (name != wanted) invalid(causes_, "metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
  }

  void group() {
    const auto group = spec_["group"].text();
    if (group.empty()) return required(causes_, "spec.group");
    if (const auto messages = dns1123_subdomain(group); !messages.empty())
      invalid(causes_, "spec.group", group, join(messages, ","));
    else if (group.find('.') == std::string_view::npos)
      invalid(causes_, "spec.group", group, "should be a domain with at least one dot");
  }

  void scope() {
    constexpr std::string_view kScopes[] = {"Cluster", "Namespaced"};
    const auto scope = spec_["scope"].text();
    if (scope.empty())
      required(causes_, "spec.scope");
    else if (!contains_text(kScopes, scope))
      not_supported(causes_, "spec.scope", scope, kScopes);
  }

  void schemas_are_there() {
    std::size_t index = 0;
    for (const Value version : spec_["versions"]) {
      if (!version["schema"]["openAPIV3Schema"].is_object())
        required(causes_, indexed("spec.versions", index) + ".schema.openAPIV3Schema");
      ++index;
    }
    if (spec_["preserveUnknownFields"].boolean() && says_defaults())
      invalid(causes_, "spec.preserveUnknownFields", BadValue::raw("true"),
              "must be false in order to use defaults in the schema");
    if (spec_["preserveUnknownFields"].boolean())
      invalid(causes_, "spec.preserveUnknownFields", BadValue::raw("true"),
              "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
              "instead");
  }

  bool says_defaults() const {
    return std::ranges::any_of(spec_["versions"].begin(), spec_["versions"].end(),
                               [](const Value& version) { return has_default(version["schema"]["openAPIV3Schema"]); });
  }

  void versions() {
    std::set<std::string> names;
    std::size_t index = 0, storage = 0;
    bool unique = true;
    const bool one_schema = alike("schema"), one_subresources = alike("subresources"),
               one_columns = alike("additionalPrinterColumns"), one_selectable = alike("selectableFields");
    for (const Value version : spec_["versions"]) {
      const std::string here = indexed("spec.versions", index++);
      storage += version["storage"].boolean() ? 1 : 0;
      unique = names.insert(version["name"].string()).second && unique;
      if (const auto messages = dns1035_label(version["name"].text()); !messages.empty())
        invalid(causes_, here + ".name", version["name"].text(), join(messages, ","));
      // Upstream's internal form says the first version's name again.
      if (const auto messages = dns1035_label(version["name"].text());
          index == 1 && !version["name"].text().empty() && !messages.empty())
        invalid(causes_, "spec.version", version["name"].text(), join(messages, ","));
      deprecation(version, here);
      if (!one_schema) schema(version["schema"], version["subresources"].has("status"), here + ".schema");
      if (!one_subresources) subresources(version["subresources"], here + ".subresources");
      if (!one_columns) columns(version["additionalPrinterColumns"], here + ".additionalPrinterColumns");
      if (!one_selectable) selectable(version, here + ".selectableFields");
    }
    if (!unique) invalid(causes_, "spec.versions", spec_["versions"], "must contain unique version names");
    if (storage != 1)
      invalid(causes_, "spec.versions", spec_["versions"], "must have exactly one version marked as storage version");
  }

  // What all versions say alike is one in upstream's internal form.
  void hoisted() {
    const Value first = *spec_["versions"].begin();
    bool any_status = false;
    for (const Value version : spec_["versions"]) any_status = any_status || version["subresources"].has("status");
    if (alike("schema")) schema(first["schema"], any_status, "spec.validation");
    if (alike("subresources")) subresources(first["subresources"], "spec.subresources");
    if (alike("additionalPrinterColumns")) columns(first["additionalPrinterColumns"], "spec.additionalPrinterColumns");
    if (alike("selectableFields")) selectable(first, "spec.selectableFields");
  }

  bool alike(std::string_view member) const {
    const Value list = spec_["versions"];
    const Value first = (*list.begin())[member];
    return std::ranges::all_of(list.begin(), list.end(), [&](const Value& version) {
      const Value own = version[member];
      return first ? own && own.equals(first) : own.missing();
    });
  }

  void deprecation(const Value& version, const std::string& here) {
    const Value warning = version["deprecationWarning"];
    if (!warning) return;
    const auto say = [&](std::string_view detail) { invalid(causes_, here + ".deprecationWarning", warning, detail); };
    if (!version["deprecated"].boolean()) return say("can only be set for deprecated versions");
    if (warning.text().size() > 256) say("must be <= 256 characters long");
    if (warning.text().empty()) say("must not be an empty string");
    const auto bad = std::ranges::find_if(warning.text(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (bad != warning.text().end())
      say("must only contain printable UTF-8 characters; non-printable character found at index " +
          std::to_string(bad - warning.text().begin()));
  }

  void schema(const Value& holder, bool has_status, const std::string& path) {
    const Value props = holder["openAPIV3Schema"];
    if (!props.is_object()) return;
    const std::string here = path + ".openAPIV3Schema";
    const std::size_t before = causes_.size();
    if (has_status) root_members(props, here);
    if (props["nullable"].boolean()) forbidden(causes_, here + ".nullable", "nullable cannot be true at the root");
    // Of a schema that says what none may say, the structure is not judged.
    const auto unsupported = unsupported_member(props);
    if (unsupported.empty()) check_structural(props, here, causes_);
    if (unsupported.empty() && causes_.size() == before) {
      Schemas schemas;
      check_defaults(props, *schemas.compile(props), here, causes_);
    }
    SchemaCheck(causes_).node(props, here, {}, true);
    if (causes_.size() != before) return;
    if (unsupported.empty())
      check_rules(props, here, causes_);
    else
      invalid(causes_, here, "", "OpenAPIV3Schema '" + std::string(unsupported) + "' is not supported");
  }

  // With /status the status' schema is taken out of the whole: nothing else may speak of it.
  void root_members(const Value& props, const std::string& here) {
    constexpr std::string_view kAllowed[] = {"description",
                                             "type",
                                             "format",
                                             "title",
                                             "maximum",
                                             "exclusiveMaximum",
                                             "minimum",
                                             "exclusiveMinimum",
                                             "maxLength",
                                             "minLength",
                                             "pattern",
                                             "maxItems",
                                             "minItems",
                                             "uniqueItems",
                                             "multipleOf",
                                             "required",
                                             "items",
                                             "properties",
                                             "externalDocs",
                                             "example",
                                             "x-kubernetes-preserve-unknown-fields",
                                             "x-kubernetes-validations"};
    if (props["type"].text() != "object" && !props["type"].text().empty())
      return invalid(causes_, here + ".type", props["type"].text(),
                     "only \"object\" is allowed as the type at the root of the schema if the status subresource is "
                     "enabled");
    for (const Value member : props) {
      if (contains_text(kAllowed, member.key()) || (member.is_boolean() && !member.boolean())) continue;
      return invalid(causes_, here, props,
                     "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
                     "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties "
                     "ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the "
                     "schema if the status subresource is enabled");
    }
  }

  bool simple_path(std::string_view text, const std::string& field) {
    if (text.starts_with('.')) return true;
    invalid(causes_, field, text, "must be a simple json path starting with .");
    return false;
  }

  void subresources(const Value& subresources, const std::string& path) {
    const Value scale = subresources["scale"];
    if (!scale) return;
    struct Part {
      const char *member, *prefix, *detail;
    };
    constexpr Part kParts[] = {{"specReplicasPath", ".spec.", "should be a json path under .spec"},
                               {"statusReplicasPath", ".status.", "should be a json path under .status"}};
    for (const auto& [member, prefix, detail] : kParts) {
      const auto text = scale[member].text();
      const std::string field = path + ".scale." + member;
      if (text.empty())
        required(causes_, field);
      else if (simple_path(text, field) && !text.starts_with(prefix))
        invalid(causes_, field, text, detail);
    }
    const auto selector = scale["labelSelectorPath"].text();
    const std::string field = path + ".scale.labelSelectorPath";
    if (!selector.empty() && simple_path(selector, field) && !selector.starts_with(".spec.") &&
        !selector.starts_with(".status."))
      invalid(causes_, field, selector, "should be a json path under either .spec or .status");
  }

  void columns(const Value& columns, const std::string& path) {
    std::size_t index = 0;
    for (const Value column : columns) {
      const std::string here = indexed(path, index++);
      if (column["name"].text().empty()) required(causes_, here + ".name");
      const auto type = column["type"].text(), format = column["format"].text();
      if (type.empty())
        required(causes_, here + ".type", "must be one of " + join(kColumnTypes, ","));
      else if (!contains_text(kColumnTypes, type))
        invalid(causes_, here + ".type", type, "must be one of " + join(kColumnTypes, ","));
      if (!format.empty() && !contains_text(kColumnFormats, format))
        invalid(causes_, here + ".format", format, "must be one of " + join(kColumnFormats, ","));
      if (column["jsonPath"].text().empty())
        required(causes_, here + ".JSONPath");
      else
        simple_path(column["jsonPath"].text(), here + ".JSONPath");
    }
  }

  void selectable(const Value& version, const std::string& path) {
    if (version["selectableFields"].empty()) return;
    const bool of_all = path == "spec.selectableFields";
    if (of_all ? !version.has("schema") : !version["schema"]["openAPIV3Schema"].is_object())
      return invalid(causes_, path, "",
                     of_all ? "may only be set when validations.schema is included"
                            : "may only be set when `version.schema.openAPIV3Schema` is not included");
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const Value field : version["selectableFields"]) {
      const std::string here = indexed(path, index++) + ".jsonPath";
      const auto text = field["jsonPath"].text();
      if (text.empty()) {
        required(causes_, here);
        continue;
      }
      std::string problem;
      const Value found = follow(version["schema"]["openAPIV3Schema"], text, problem);
      if (!problem.empty()) {
        invalid(causes_, here, text, "is an invalid path: " + problem);
        continue;
      }
      if (text.starts_with(".metadata")) invalid(causes_, here, text, "must not point to fields in metadata");
      const auto type = found["type"].text();
      if (type != "string" && type != "boolean" && type != "integer")
        invalid(causes_, here, text,
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed.");
      if (!seen.insert(std::string(text)).second) duplicate(causes_, here, text);
    }
    if (seen.size() > kSelectableMax) too_many(causes_, path, seen.size(), kSelectableMax);
  }

  // ".spec.color" down the schema.
  static Value follow(Value props, std::string_view path, std::string& problem) {
    if (!path.starts_with('.')) {
      problem = "expected [ or . but got: " + std::string(path);
      return {};
    }
    while (!path.empty()) {
      path.remove_prefix(1);
      const auto dot = std::min(path.find('.'), path.size());
      const auto name = path.substr(0, dot);
      path.remove_prefix(dot);
      const Value below = props["properties"][name];
      props = below ? below : props["additionalProperties"];
      if (!props.is_object()) {
        problem = "does not refer to a valid field";
        return {};
      }
    }
    return props;
  }

  void conversion() {
    const Value conversion = spec_["conversion"];
    if (!conversion) return;
    constexpr std::string_view kStrategies[] = {"None", "Webhook"};
    const auto strategy = conversion["strategy"].text();
    if (strategy.empty())
      required(causes_, "spec.conversion.strategy");
    else if (!contains_text(kStrategies, strategy))
      not_supported(causes_, "spec.conversion.strategy", strategy, kStrategies);
    const Value webhook = conversion["webhook"], client = webhook["clientConfig"];
    if (strategy != "Webhook") {
      if (client)
        forbidden(causes_, "spec.conversion.webhookClientConfig",
                  "should not be set when strategy is not set to Webhook");
      if (!webhook["conversionReviewVersions"].empty())
        forbidden(causes_, "spec.conversion.conversionReviewVersions",
                  "should not be set when strategy is not set to Webhook");
      return;
    }
    if (!client)
      required(causes_, "spec.conversion.webhookClientConfig", "required when strategy is set to Webhook");
    else if (client.has("url") == client.has("service"))
      required(causes_, "spec.conversion.webhookClientConfig", "exactly one of url or service is required");
    review_versions(webhook["conversionReviewVersions"]);
  }

  void review_versions(const Value& versions) {
    const std::string path = "spec.conversion.conversionReviewVersions";
    if (versions.empty()) return required(causes_, path);
    std::set<std::string> seen;
    bool accepted = false;
    std::size_t index = 0;
    for (const Value version : versions) {
      const std::string here = indexed(path, index++);
      if (!seen.insert(version.string()).second) {
        invalid(causes_, here, version, "duplicate version");
        continue;
      }
      for (const auto& message : dns1035_label(version.text())) invalid(causes_, here, version, message);
      accepted = accepted || version.text() == "v1" || version.text() == "v1beta1";
    }
    if (!accepted) invalid(causes_, path, versions, "must include at least one of v1, v1beta1");
  }

  void stored_versions() {
    const Value stored = object_["status"]["storedVersions"];
    if (stored.empty())
      return invalid(causes_, "status.storedVersions", BadValue::raw("[]"), "must have at least one stored version");
    std::set<std::string_view> open;
    for (const Value name : stored) open.insert(name.text());
    for (const Value version : spec_["versions"])  // one of a name that is there twice is not listed any more
      if (open.erase(version["name"].text()) == 0 && version["storage"].boolean())
        invalid(causes_, "status.storedVersions", stored, "must have the storage version " + version["name"].string());
    std::size_t index = 0;
    for (const Value name : stored) {
      bool listed = false;
      for (const Value version : spec_["versions"]) listed = listed || version["name"].text() == name.text();
      const std::string here = indexed("status.storedVersions", index++);
      if (listed) continue;
      const std::string text = name.string();
      invalid(causes_, here, name,
              "missing from spec.versions; " + text +
                  " was previously a storage version, and must remain in spec.versions until a storage migration "
                  "ensures no data remains persisted in " +
                  text + " and removes " + text + " from status.storedVersions");
    }
  }

  const Value object_, spec_;
  std::vector<Cause>& causes_;
};

bool established(const Value& object) {
  for (const Value condition : object["status"]["conditions"])
    if (condition["type"].text() == "Established") return condition["status"].text() == "True";
  return false;
}

void check_change(const Value& spec, const Value& old, bool names_are_fixed, std::vector<Cause>& causes) {
  if (names_are_fixed) {
    immutable(causes, "spec.scope", spec["scope"], old["scope"]);
    immutable(causes, "spec.names.kind", spec["names"]["kind"], old["names"]["kind"]);
  }
  immutable(causes, "spec.group", spec["group"], old["group"]);
  immutable(causes, "spec.names.plural", spec["names"]["plural"], old["names"]["plural"]);
}

void check_approval(const Value& object, const Value& old, std::vector<Cause>& causes) {
  const Approval approval = approval_of(object);
  if (approval.state != Approval::State::missing && approval.state != Approval::State::invalid) return;
  if (old && approval_of(old).state == approval.state) return;
  const std::string field = "metadata.annotations[" + std::string(kApprovedAnnotation) + "]";
  if (approval.state == Approval::State::missing)
    required(causes, field, approval.reason);
  else
    invalid(causes, field, object["metadata"]["annotations"][kApprovedAnnotation], approval.reason);
}

void collect_formats(const Value& props, std::vector<std::string>& found) {
  if (!props.is_object()) return;
  const auto format = props["format"].text();
  if (!format.empty()) {
    JsonType type = JsonType::any;
    for (const JsonType known :
         {JsonType::object, JsonType::array, JsonType::string, JsonType::integer, JsonType::number, JsonType::boolean})
      if (props["type"].text() == type_name(known)) type = known;
    if (!known_format(type, format)) found.emplace_back(format);
  }
  for (const std::string_view member : {"items", "not", "additionalProperties"}) collect_formats(props[member], found);
  for (const std::string_view list : {"allOf", "anyOf", "oneOf", "properties"})
    for (const Value part : props[list]) collect_formats(part, found);
}

}  // namespace

void check_accepted_names(const Value& object, std::vector<Cause>& causes) {
  check_names(object["status"]["acceptedNames"], "status.acceptedNames", causes);
}

void check_definition(const Value& object, const Value& old, std::vector<Cause>& causes) {
  DefinitionCheck(object, causes).run(!old);
  if (old) check_change(object["spec"], old["spec"], established(old), causes);
  check_approval(object, old, causes);
}

std::vector<std::string> unrecognized_formats(const Value& object) {
  std::vector<std::string> found;
  for (const Value version : object["spec"]["versions"]) collect_formats(version["schema"]["openAPIV3Schema"], found);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Approval approval_of(const Value& object) {
  const auto group = object["spec"]["group"].text();
  const bool is_protected =
      group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
  if (!is_protected) return {Approval::State::unprotected, {}};
  const std::string note = object["metadata"]["annotations"][kApprovedAnnotation].string();
  const std::string where = ", see https://github.com/kubernetes/enhancements/pull/1111";
  const std::string must =
      "protected groups must have approval annotation \"" + std::string(kApprovedAnnotation) + "\"";
  if (note.empty()) return {Approval::State::missing, must + where};
  const auto scheme = note.find("://");
  if (scheme != std::string::npos && scheme > 0 && scheme + 3 < note.size())
    return {Approval::State::approved, "approved in " + note};
  if (note.starts_with("unapproved")) return {Approval::State::bypassed, "not approved: \"" + note + "\""};
  return {Approval::State::invalid, must + " with either a URL or a reason starting with \"unapproved\"" + where};
}

}  // namespace sublet::apiserver
