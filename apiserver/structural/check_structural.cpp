// Structural schemas (upstream's apiserver/schema/validation.go and complete.go), and their defaults.
#include <re2/re2.h>

#include <algorithm>

#include "apiserver/structural/check_definition.h"
#include "apiserver/structural/prune.h"
#include "apiserver/structural/validate.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

enum class Level { root, item, field };

bool is_schema(const Value& value) { return value.is_object(); }

/// anyOf: [{type: integer}, {type: string}].
bool is_int_or_string(const Value& any_of) {
  if (any_of.size() != 2) return false;
  const Value first = any_of.at(0), second = any_of.at(1);
  return first.size() == 1 && second.size() == 1 && first["type"].text() == "integer" &&
         second["type"].text() == "string";
}

std::string property_path(const std::string& path, std::string_view name) {
  return path + ".properties[" + std::string(name) + "]";
}

std::string go_regexp_error(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 compiled(pattern, options);
  if (compiled.ok()) return {};
  // Go's words for the same codes.
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"missing ]", "missing closing ]"},
      {"missing )", "missing closing )"},
      {"no argument for repetition operator", "missing argument to repetition operator"},
      {"bad repetition operator", "invalid nested repetition operator"},
      {"invalid repetition size", "invalid repeat count"},
      {"invalid perl operator", "invalid or unsupported Perl syntax"},
      {"trailing \\", "trailing backslash at end of expression"},
      {"invalid named capture group", "invalid named capture"}};
  std::string words = compiled.error();
  words = words.substr(0, words.find(':'));
  for (const auto& [ours, theirs] : kWords)
    if (words == ours) words = theirs;
  return "error parsing regexp: " + words + ": `" + compiled.error_arg() + "`";
}

class StructuralCheck {
 public:
  explicit StructuralCheck(std::vector<Cause>& causes) : causes_(causes) {}

  void invariants(const Value& node, Level level, const std::string& path) {
    if (!is_schema(node)) return;
    const auto type = node["type"].text();
    if (type == "array" && !is_schema(node["items"])) required(causes_, path + ".items", "must be specified");
    invariants(node["items"], Level::item, path + ".items");
    for (const Value property : node["properties"])
      invariants(property, Level::field, property_path(path, property.key()));
    if (const Value additional = node["additionalProperties"]) {
      if (level == Level::root) forbidden(causes_, path + ".additionalProperties", "must not be used at the root");
      invariants(additional, Level::field, path + ".additionalProperties");
    }
    extensions(node, path);
    values(node, is_int_or_string(node["anyOf"]), is_int_or_string(node["allOf"].at(0)["anyOf"]), level, path);
    type_of_level(node, type, level, path);
    metadata(node, level, path);
  }

  void completeness(const Value& values, const Value& node, const std::string& node_path, const std::string& path) {
    nested_completeness(values["not"], node, node_path, path + ".not");
    for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
      std::size_t index = 0;
      for (const Value part : values[list])
        nested_completeness(part, node, node_path,
                            path + "." + std::string(list) + "[" + std::to_string(index++) + "]");
    }
  }

 private:
  void type_of_level(const Value& node, std::string_view type, Level level, const std::string& path) {
    const bool embedded = node["x-kubernetes-embedded-resource"].boolean();
    const bool preserve = node["x-kubernetes-preserve-unknown-fields"].boolean();
    if (embedded && type != "object") {
      if (type.empty())
        required(causes_, path + ".type", "must be object if x-kubernetes-embedded-resource is true");
      else
        invalid(causes_, path + ".type", type, "must be object if x-kubernetes-embedded-resource is true");
    } else if (type.empty() && !node["x-kubernetes-int-or-string"].boolean() && !preserve) {
      constexpr std::string_view kWhere[] = {"must not be empty at the root",
                                             "must not be empty for specified array items",
                                             "must not be empty for specified object fields"};
      required(causes_, path + ".type", kWhere[static_cast<int>(level)]);
    }
    if (embedded && node.has("additionalProperties"))
      forbidden(causes_, path + ".additionalProperties", "must not be used if x-kubernetes-embedded-resource is set");
    if (level == Level::root && !type.empty() && type != "object")
      invalid(causes_, path + ".type", type, "must be object at the root");
    if (embedded && !preserve && node["properties"].empty())
      required(causes_, path + ".properties",
               "must not be empty if x-kubernetes-embedded-resource is true without "
               "x-kubernetes-preserve-unknown-fields");
  }

  void metadata(const Value& node, Level level, const std::string& path) {
    const Value properties = node["properties"];
    const bool resource = level == Level::root || node["x-kubernetes-embedded-resource"].boolean();
    for (const std::string_view name : {"kind", "apiVersion"})
      if (const Value property = properties[name]; property && resource && property["type"].text() != "string")
        invalid(causes_, property_path(path, name) + ".type", property["type"].text(), "must be string");
    const Value meta = properties["metadata"];
    if (!meta) return;
    const std::string here = property_path(path, "metadata");
    if (resource && meta["type"].text() != "object")
      invalid(causes_, here + ".type", meta["type"].text(), "must be object");
    if (level != Level::root) return;
    bool more = false;
    for (const Value member : meta)
      more = more || (member.key() != "type" && member.key() != "properties" && member.key() != "default");
    for (const Value property : meta["properties"])
      more = more || (property.key() != "name" && property.key() != "generateName");
    if (more)
      forbidden(causes_, here,
                "must not specify anything other than name and generateName, but metadata is implicitly specified");
  }

  void extensions(const Value& node, const std::string& path) {
    if (!node["x-kubernetes-int-or-string"].boolean()) return;
    for (const std::string name : {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"})
      if (node[name].boolean())
        invalid(causes_, path + "." + name, node[name], "must be false if x-kubernetes-int-or-string is true");
  }

  void values(const Value& node, bool skip_any_of, bool skip_first, Level level, const std::string& path) {
    for (const std::string list : {"anyOf", "allOf", "oneOf"}) {
      if (list == "anyOf" && skip_any_of) continue;
      std::size_t index = 0;
      for (const Value part : node[list]) {
        const bool first = list == "allOf" && index == 0 && skip_first;
        nested(part, first, level, path + "." + list + "[" + std::to_string(index++) + "]");
      }
    }
    nested(node["not"], false, level, path + ".not");
    const std::string pattern = node["pattern"].string();
    if (pattern.empty()) return;
    if (const std::string problem = go_regexp_error(pattern); !problem.empty())
      invalid(causes_, path + ".pattern", pattern, "must be a valid regular expression, but isn't: " + problem);
  }

  void nested(const Value& part, bool skip_any_of, Level level, const std::string& path) {
    if (!is_schema(part)) return;
    values(part, skip_any_of, false, level, path);
    nested(part["items"], false, level, path + ".items");
    for (const Value property : part["properties"])
      nested(property, false, Level::field, property_path(path, property.key()));
    struct Rule {
      std::string_view member, detail;
    };
    constexpr Rule kForbidden[] = {{"type", "must be empty to be structural"},
                                   {"additionalProperties", "must be undefined to be structural"},
                                   {"default", "must be undefined to be structural"},
                                   {"title", "must be empty to be structural"},
                                   {"description", "must be empty to be structural"},
                                   {"nullable", "must be false to be structural"},
                                   {"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
                                   {"x-kubernetes-embedded-resource", "must be false to be structural"},
                                   {"x-kubernetes-int-or-string", "must be false to be structural"},
                                   {"x-kubernetes-list-map-keys", "must be empty to be structural"},
                                   {"x-kubernetes-list-type", "must be undefined to be structural"},
                                   {"x-kubernetes-map-type", "must be undefined to be structural"},
                                   {"x-kubernetes-validations", "must be empty to be structural"}};
    for (const Rule& rule : kForbidden) {
      const Value member = part[rule.member];
      const bool set = member.is_boolean() ? member.boolean() || rule.member == "additionalProperties"
                                           : bool(member) && !(member.is_string() && member.text().empty()) &&
                                                 !(member.is_array() && member.empty());
      if (set) forbidden(causes_, path + "." + std::string(rule.member), rule.detail);
    }
    if (part["properties"].has("metadata"))
      forbidden(causes_, property_path(path, "metadata"), "must not be specified in a nested context");
  }

  void nested_completeness(const Value& part, const Value& node, const std::string& node_path,
                           const std::string& path) {
    if (!is_schema(part)) return;
    if (!is_schema(node)) return required(causes_, node_path, "because it is defined in " + path);
    completeness(part, node, node_path, path);
    nested_completeness(part["items"], node["items"], node_path + ".items", path + ".items");
    for (const Value property : part["properties"]) {
      const std::string own = property_path(node_path, property.key()), there = property_path(path, property.key());
      if (const Value known = node["properties"][property.key()])
        nested_completeness(property, known, own, there);
      else
        required(causes_, own, "because it is defined in " + there);
    }
  }

  std::vector<Cause>& causes_;
};

class DefaultCheck {
 public:
  explicit DefaultCheck(std::vector<Cause>& causes) : causes_(causes) {}

  void node(const Value& props, const Schema& schema, bool in_metadata, const std::string& path) {
    if (!(schema.below & Schema::kDefaults)) return;
    if (const Value constant = props["default"]) judge(constant, schema, in_metadata, path + ".default");
    if (schema.items) node(props["items"], *schema.items, in_metadata, path + ".items");
    for (const Value property : props["properties"])
      if (const Schema* below = schema.property(property.key()))
        node(property, *below, (in_metadata && !schema.embedded) || (schema.embedded && property.key() == "metadata"),
             property_path(path, property.key()));
  }

 private:
  void judge(const Value& constant, const Schema& schema, bool in_metadata, const std::string& path) {
    if (!in_metadata) {
      std::vector<std::string> unknown;
      schema::Document pruned = schema::Document::copy_of(constant);
      prune(pruned.root(), schema, Root::value, &unknown);
      if (!unknown.empty()) invalid(causes_, path, constant, "must not have unknown fields");
      validate_embedded(constant, schema, Root::value, path, causes_);
    }
    validate_schema(constant, Value(), schema, path, causes_);
  }

  std::vector<Cause>& causes_;
};

}  // namespace

void check_structural(const Value& props, const std::string& path, std::vector<Cause>& causes) {
  std::vector<Cause> found;
  StructuralCheck check(found);
  check.invariants(props, Level::root, path);
  check.completeness(props, props, path, path);
  std::ranges::sort(
      found, [](const Cause& a, const Cause& b) { return a.field + ": " + a.message < b.field + ": " + b.message; });
  std::ranges::move(found, std::back_inserter(causes));
}

void check_defaults(const Value& props, const Schema& schema, const std::string& path, std::vector<Cause>& causes) {
  DefaultCheck(causes).node(props, schema, false, path);
}

}  // namespace sublet::apiserver
