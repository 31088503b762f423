// Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go and pkg/cel/openapi/resolver.
#include "sublet/apiserver/policy_types.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_schemas.h"
#include "apiserver/validation/policy_expressions.h"
#include "sublet/patches/cel_type.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Registry;
using schema::ResourceFacts;
using schema::Value;

constexpr std::size_t kKindsMax = 10;
constexpr std::string_view kReferences = "#/components/schemas/";

/// The OpenAPI definitions of one server, with what they refer to in its place.
class Definitions {
 public:
  explicit Definitions(const Registry& kinds) : kinds_(kinds) {}

  Document whole(std::string_view name) {
    Document made;
    std::vector<std::string> above;
    put_definition(made.root(), std::string(name), above);
    return made;
  }

 private:
  const Value definition(const std::string& name) {
    auto known = read_.find(name);
    if (known == read_.end()) {
      JsonWriter json;
      write_definition(json, kinds_, name, OpenApiDialect::v3);
      auto parsed = Document::parse_json(json.take());
      known = read_.emplace(name, parsed ? std::move(*parsed) : Document::object()).first;
    }
    return known->second.root();
  }

  // A reference to a parent type is any object, as upstream.
  void put_definition(Value place, const std::string& name, std::vector<std::string>& above) {
    if (std::ranges::find(above, name) != above.end()) {
      place.make_object();
      place.put("type", "object");
      return;
    }
    above.push_back(name);
    put(place, definition(name), above);
    above.pop_back();
  }

  void put(Value place, const Value& schema, std::vector<std::string>& above) {
    if (const auto name = reference_of(schema); !name.empty()) return put_definition(place, name, above);
    place.make_object();
    for (const Value member : schema) {
      if (member.key() == "properties") {
        Value properties = place.object("properties");
        for (const Value property : member) put(properties.add_member(property.key()), property, above);
      } else if ((member.key() == "items" || member.key() == "additionalProperties") && member.is_object()) {
        put(place.add_member(member.key()), member, above);
      } else {
        place.put(member.key(), member);
      }
    }
    // Built-in types have the format, custom ones the extension that expressions go by.
    if (schema["format"].text() == "int-or-string") place.put("x-kubernetes-int-or-string", true);
  }

  static std::string reference_of(const Value& schema) {
    const auto target = schema["$ref"].text();
    if (target.starts_with(kReferences)) return std::string(target.substr(kReferences.size()));
    for (const Value part : schema["allOf"])
      if (auto name = reference_of(part); !name.empty()) return name;
    return {};
  }

  const Registry& kinds_;
  std::map<std::string, Document> read_;
};

bool has_asterisk(const Value& texts) {
  for (const Value text : texts)
    if (text.text().find('*') != std::string_view::npos) return true;
  return false;
}

std::vector<std::string_view> sorted(const Value& texts) {
  std::vector<std::string_view> made;
  for (const Value text : texts) made.push_back(text.text());
  std::ranges::sort(made);
  return made;
}

bool by_kind(const ResourceFacts* a, const ResourceFacts* b) {
  return std::tie(a->group, a->version, a->kind) < std::tie(b->group, b->version, b->kind);
}

/// The kinds that a policy names. Upstream's mapper takes the group "" for any group.
class NamedKinds {
 public:
  explicit NamedKinds(const Registry& kinds) : kinds_(kinds) {}

  std::vector<const ResourceFacts*> of(const Value& rules) {
    for (const Value rule : rules)
      if (!add_rule(rule)) break;
    std::ranges::sort(found_, by_kind);
    return std::move(found_);
  }

 private:
  // False: enough.
  bool add_rule(const Value& rule) {
    if (has_asterisk(rule["apiGroups"]) || has_asterisk(rule["apiVersions"])) return true;
    std::size_t named = 0;
    for (const auto group : sorted(rule["apiGroups"]))
      for (const auto version : sorted(rule["apiVersions"]))
        for (const auto resource : sorted(rule["resources"])) {
          if (resource.find_first_of("*/") != std::string_view::npos) continue;
          for (const ResourceFacts& facts : kinds_.resources()) {
            const bool is_it = facts.served && facts.version == version && (group.empty() || facts.group == group) &&
                               (facts.resource == resource || facts.singular == resource);
            if (!is_it) continue;
            if (std::ranges::find(found_, &facts) == found_.end()) found_.push_back(&facts);
            if (++named == kKindsMax) return false;
          }
        }
    return true;
  }

  const Registry& kinds_;
  std::vector<const ResourceFacts*> found_;
};

class TypeCheck {
 public:
  TypeCheck(const Value& policy, const Registry& kinds)
      : spec_(policy["spec"]), kinds_(NamedKinds(kinds).of(spec_["matchConstraints"]["resourceRules"])) {
    if (kinds_.empty()) return;
    Definitions definitions(kinds);
    const auto type_of = [&](const ResourceFacts& facts) {
      return patches::cel::Type::of_schema(definitions.whole(facts.type.name()).root(), true, std::string(facts.kind));
    };
    PolicyEnvironment::Offers offers;
    offers.request_resource = false;
    if (const Value param = spec_["paramKind"]; param.is_object()) {
      offers.params = true;
      const auto api_version = param["apiVersion"].text();
      const auto slash = api_version.find('/');
      const auto group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
      const auto version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
      if (const auto* facts = kinds.find_resource_of_kind(group, version, param["kind"].text()))
        offers.params_type = type_of(*facts);
    }
    for (const ResourceFacts* facts : kinds_) {
      offers.object_type = type_of(*facts);
      environments_.emplace_back(offers);
      environments_.back().compose();
      compile_variables(spec_["variables"], environments_.back());
    }
  }

  std::vector<ExpressionWarning> run() {
    std::size_t index = 0;
    for (const Value validation : spec_["validations"]) {
      const std::string place = "spec.validations[" + std::to_string(index++) + "].";
      check(place + "expression", validation["expression"].text());
      const auto says = validation["messageExpression"].text();
      if (!says.empty()) check(place + "messageExpression", says);
    }
    return std::move(warnings_);
  }

 private:
  void check(const std::string& field, std::string_view source) {
    std::string text;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto program = patches::cel::Program::compile(source, environments_[i].names());
      if (program) continue;
      if (!text.empty()) text += '\n';
      text.append(kinds_[i]->group).append("/").append(kinds_[i]->version).append(", Kind=").append(kinds_[i]->kind);
      text += ": " + patches::cel::display_text(program.error(), source) + '\n';
    }
    if (!text.empty()) warnings_.push_back({field, std::move(text)});
  }

  const Value spec_;
  const std::vector<const ResourceFacts*> kinds_;
  std::vector<PolicyEnvironment> environments_;  // of each kind
  std::vector<ExpressionWarning> warnings_;
};

}  // namespace

std::vector<ExpressionWarning> check_policy_types(const Value& policy, const Registry& kinds) {
  return TypeCheck(policy, kinds).run();
}

}  // namespace sublet::apiserver
