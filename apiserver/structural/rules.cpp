#include "apiserver/structural/rules.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

#include "apiserver/structural/validate.h"
#include "apiserver/validation/field_errors.h"
#include "sublet/base/text.h"
#include "sublet/patches/cel.h"

namespace sublet::apiserver {

namespace cel = patches::cel;
using schema::Value;

namespace {

struct Compiled {
  std::optional<cel::Program> program;
  std::string problem;  // why there is none
};

Compiled compile(std::string_view source, const cel::Environment& environment, cel::Kind wanted,
                 const std::string& otherwise) {
  Compiled made;
  auto program = cel::Program::compile(source, environment);
  if (!program)
    made.problem = "compilation failed: " + cel::display_text(program.error(), source);
  else if (program->type() != wanted && program->type() != cel::Kind::dyn)
    made.problem = otherwise;
  else
    made.program = std::move(*program);
  return made;
}

struct CompiledRule {
  std::string rule, message, message_expression, reason, field_path;
  bool optional_old = false, reads_old = false;
  Compiled test, text;
};

cel::Environment environment_of(const cel::TypeRef& self, bool optional_old) {
  cel::Environment environment(cel::Library::kubernetes);
  environment.declare("self", self);
  if (optional_old)
    environment.declare("oldSelf", cel::Type::optional(self), self);
  else
    environment.declare("oldSelf", self);
  return environment;
}

CompiledRule compile_rule(const Value& spec, const cel::TypeRef& self) {
  CompiledRule made{spec["rule"].string(),
                    spec["message"].string(),
                    spec["messageExpression"].string(),
                    spec["reason"].string(),
                    spec["fieldPath"].string(),
                    spec["optionalOldSelf"].boolean(),
                    false,
                    {},
                    {}};
  const cel::Environment environment = environment_of(self, made.optional_old);
  made.test = compile(made.rule, environment, cel::Kind::boolean, "cel expression must evaluate to a bool");
  made.reads_old = made.test.program && made.test.program->reads("oldSelf");
  if (!trimmed(made.message_expression).empty()) {
    made.text =
        compile(made.message_expression, environment, cel::Kind::string, "messageExpression must evaluate to a string");
    if (made.text.problem.starts_with("compilation")) made.text.problem = "messageExpression " + made.text.problem;
  }
  return made;
}

}  // namespace

/// A schema node that has rules, or has some below.
struct RuleNode {
  cel::TypeRef type;
  std::string json_type;
  std::vector<CompiledRule> rules;
  std::vector<std::pair<std::string, std::unique_ptr<const RuleNode>>> properties;
  std::unique_ptr<const RuleNode> items, additional;
  bool list_map = false, atomic_map = false;
  std::vector<std::string> keys;

  const RuleNode* member(std::string_view name) const {
    for (const auto& [known, node] : properties)
      if (known == name) return node.get();
    return additional.get();
  }
};

namespace {

std::unique_ptr<const RuleNode> make_node(const Value& props, bool root) {
  if (!props.is_object()) return nullptr;
  auto made = std::make_unique<RuleNode>();
  made->json_type = props["type"].string();
  for (const Value property : props["properties"])
    if (auto below = make_node(property, false)) made->properties.emplace_back(property.key(), std::move(below));
  made->items = make_node(props["items"], false);
  made->additional = make_node(props["additionalProperties"], false);
  const Value rules = props["x-kubernetes-validations"];
  if (rules.empty() && made->properties.empty() && !made->items && !made->additional) return nullptr;
  made->list_map = props["x-kubernetes-list-type"].text() == "map";
  made->atomic_map = props["x-kubernetes-map-type"].text() == "atomic";
  for (const Value key : props["x-kubernetes-list-map-keys"]) made->keys.push_back(key.string());
  if (rules.empty()) return made;
  made->type = cel::Type::of_schema(props, root || props["x-kubernetes-embedded-resource"].boolean());
  if (made->type)
    for (const Value rule : rules) made->rules.push_back(compile_rule(rule, made->type));
  return made;
}

class Checker {
 public:
  Checker(std::vector<Cause>& causes, std::vector<std::string>& warnings) : causes_(causes), warnings_(warnings) {}

  /// `kept`: this value, or what it is part of, is as it was.
  void node(const Value& value, const Value& old, bool kept, const RuleNode& node, const std::string& path) {
    if (value.missing() || value.is_null() || budget_ == 0) return;
    const bool same = old ? value.equals(old) : kept;
    rules(value, old, same, node, path);
    if (value.is_array() && node.items) {
      std::size_t index = 0;
      for (const Value item : value)
        this->node(item, old_item(item, old, node), same, *node.items, path + "[" + std::to_string(index++) + "]");
    } else if (value.is_object()) {
      for (const Value member : value) {
        const RuleNode* below = node.member(member.key());
        if (!below) continue;
        const bool property = below != node.additional.get();
        const std::string name(member.key());
        this->node(member, node.atomic_map ? Value() : old[member.key()], same, *below,
                   property ? child(path, name) : path + "[" + name + "]");
      }
    }
  }

 private:
  static Value old_item(const Value& item, const Value& old, const RuleNode& node) {
    if (!node.list_map) return {};
    for (const Value candidate : old) {
      const bool same = std::ranges::all_of(node.keys, [&](const std::string& key) {
        return item[key].missing() ? candidate[key].missing() : candidate[key] && item[key].equals(candidate[key]);
      });
      if (same) return candidate;
    }
    return {};
  }

  void rules(const Value& value, const Value& old, bool same, const RuleNode& node, const std::string& path) {
    const std::string field = path.empty() ? std::string(kNoField) : path;
    const auto problem = [&](const std::string& detail) { invalid(causes_, field, node.json_type, detail); };
    for (const CompiledRule& rule : node.rules) {
      if (!rule.test.program) {
        problem("rule compile error: " + rule.test.problem);
        continue;
      }
      if (rule.reads_old && !old && !rule.optional_old) continue;
      const auto self = cel::Value::of(value, node.type.get());
      const cel::ValueActivation activation({self, old_self(old, rule, node)});
      const auto out = rule.test.program->run(activation, std::min(budget_, cel::kRunCostMax));
      if (out.cost > budget_) {
        budget_ = 0;
        return problem("validation failed due to running out of cost budget, no further validation rules will be run");
      }
      budget_ -= out.cost;
      const std::string named(trimmed(rule.message.empty() ? rule.rule : rule.message));
      if (out.value.is_error()) {
        const std::string& why = out.value.failure().message;
        if (out.over_budget) {
          budget_ = 0;
          return problem(
              "'" + why +
              "': no further validation rules will be run due to call cost exceeds limit for rule: " + named);
        }
        problem(why.starts_with("no such overload")
                    ? "'" + why +
                          "': call arguments did not match a supported operator, function or macro signature "
                          "for rule: " +
                          named
                    : why + " evaluating rule: " + named);
        continue;
      }
      if (out.value.is(cel::Kind::boolean) && out.value.as_bool()) continue;
      if (!rule.reads_old && same)
        warn(rule, value, node, path, detail_of(rule, activation));
      else
        tell(causes_, rule, value, node, path, detail_of(rule, activation));
    }
  }

  static cel::Value old_self(const Value& old, const CompiledRule& rule, const RuleNode& node) {
    if (!rule.optional_old) return old ? cel::Value::of(old, node.type.get()) : cel::Value();
    return old ? cel::Value::optional_of(cel::Value::of(old, node.type.get())) : cel::Value::optional_none();
  }

  std::string detail_of(const CompiledRule& rule, const cel::Activation& activation) {
    constexpr std::size_t kMessageMax = 5 * 1024;
    if (rule.text.program) {
      const auto out = rule.text.program->run(activation, std::min(budget_, cel::kRunCostMax));
      budget_ -= std::min(out.cost, budget_);
      if (out.value.is(cel::Kind::string)) {
        const std::string_view text = trimmed(out.value.as_text());
        if (!text.empty() && text.size() <= kMessageMax && text.find_first_of("\r\n") == std::string_view::npos)
          return std::string(text);
      }
    }
    if (!rule.message.empty()) return std::string(trimmed(rule.message));
    return "failed rule: " + std::string(trimmed(rule.rule));
  }

  void warn(const CompiledRule& rule, const Value& value, const RuleNode& node, const std::string& path,
            const std::string& detail) {
    std::vector<Cause> causes;
    tell(causes, rule, value, node, path, detail);
    for (const Cause& cause : causes) {
      std::string text = cause.field + ": " + cause.message;
      if (std::ranges::find(warnings_, text) == warnings_.end()) warnings_.push_back(std::move(text));
    }
  }

  static void tell(std::vector<Cause>& causes, const CompiledRule& rule, const Value& value, const RuleNode& node,
                   const std::string& path, const std::string& detail) {
    std::string field = path;
    if (!rule.field_path.empty()) field = child(path, std::string_view(rule.field_path).substr(1));
    if (field.empty()) field = kNoField;
    const bool omitted = node.json_type == "object" || node.json_type == "array";
    if (rule.reason == "FieldValueForbidden") return forbidden(causes, field, detail);
    if (rule.reason == "FieldValueRequired") return required(causes, field, detail);
    const bool twice = rule.reason == "FieldValueDuplicate";
    std::string message = twice ? "Duplicate value" : "Invalid value";
    if (!omitted) message += ": " + BadValue(value).text();
    if (!twice || omitted) message += ": " + detail;
    if (twice && omitted) message = "Duplicate value";
    causes.push_back({twice ? "FieldValueDuplicate" : "FieldValueInvalid", message, field});
  }

  std::vector<Cause>& causes_;
  std::vector<std::string>& warnings_;
  std::uint64_t budget_ = cel::kObjectCostMax;
};

// --- of a definition ---

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  if (a == 0) return 0;
  return kUnbounded / a < b ? kUnbounded : a * b;
}

std::string cost_message(const std::string& what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  char text[64];
  if (factor > 100)
    std::snprintf(text, sizeof text, "more than 100x");
  else
    std::snprintf(text, sizeof text, factor < 1.5 ? "%fx" : "%.1fx", factor);
  return what + " exceeds budget by factor of " + text +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
         "are declared)";
}

/// As upstream's internal form of a rule is shown.
BadValue rule_value(const Value& rule) {
  std::string text = "{\"Rule\":";
  const auto add = [&text](std::string_view value) { schema::append_json_string(text, value); };
  add(rule["rule"].text());
  text += ",\"Message\":";
  add(rule["message"].text());
  text += ",\"MessageExpression\":";
  add(rule["messageExpression"].text());
  text += ",\"Reason\":" + (rule["reason"] ? rule["reason"].to_json() : std::string("null"));
  text += ",\"FieldPath\":";
  add(rule["fieldPath"].text());
  text += ",\"OptionalOldSelf\":" + (rule["optionalOldSelf"] ? rule["optionalOldSelf"].to_json() : "null") + "}";
  return BadValue::raw(std::move(text));
}

class DefinitionRules {
 public:
  explicit DefinitionRules(std::vector<Cause>& causes) : causes_(causes) {}

  /// `often`: how many values of this node an object can have; nullopt: not limited. `apart`: the path above which old
  /// and new values cannot be matched; empty: they can.
  void node(const Value& props, bool root, std::optional<std::uint64_t> often, const std::string& apart,
            const std::string& path) {
    if (!props.is_object()) return;
    const auto within = [](std::optional<std::uint64_t> count, const Value& most) -> std::optional<std::uint64_t> {
      if (!count || !most.is_integer()) return std::nullopt;
      return times(*count, static_cast<std::uint64_t>(std::max<std::int64_t>(most.integer(), 0)));
    };
    node(props["additionalProperties"], false, within(often, props["maxProperties"]), apart,
         path + ".additionalProperties");
    const bool atomic = props["x-kubernetes-map-type"].text() == "atomic";
    for (const Value property : props["properties"])
      node(property, false, often, atomic && apart.empty() ? path : apart,
           path + ".properties[" + std::string(property.key()) + "]");
    const bool correlates = props["x-kubernetes-list-type"].text() == "map";
    node(props["items"], false, within(often, props["maxItems"]), !correlates && apart.empty() ? path : apart,
         path + ".items");
    if (!props["x-kubernetes-validations"].empty()) rules(props, root, often, apart, path);
  }

  void total(const std::string& path) {
    if (total_ <= cel::kDefinitionEstimateMax) return;
    std::ranges::stable_sort(costs_, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < std::min<std::size_t>(costs_.size(), 4); ++i)
      forbidden(causes_, costs_[i].second,
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
    forbidden(causes_, path,
              cost_message("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", total_,
                           cel::kDefinitionEstimateMax));
  }

 private:
  void rules(const Value& props, bool root, std::optional<std::uint64_t> often, const std::string& apart,
             const std::string& path) {
    const auto type = cel::Type::of_schema(props, root || props["x-kubernetes-embedded-resource"].boolean());
    if (!type) return;
    std::size_t index = 0;
    for (const Value spec : props["x-kubernetes-validations"]) {
      const std::string here = path + ".x-kubernetes-validations[" + std::to_string(index++) + "]";
      const CompiledRule rule = compile_rule(spec, type);
      const std::uint64_t count = often ? *often : cel::max_cardinality(type->min_serialized_size);
      if (rule.test.program) {
        const std::uint64_t cost = times(rule.test.program->estimate_cost().max, count);
        limit("estimated rule cost", cost, here + ".rule");
      } else {
        invalid(causes_, here + ".rule", rule_value(spec), rule.test.problem);
      }
      if (!rule.text.problem.empty())
        invalid(causes_, here + ".messageExpression", rule_value(spec), rule.text.problem);
      else if (rule.text.program)
        limit("estimated messageExpression cost", rule.text.program->estimate_cost().max, here + ".messageExpression");
      if (rule.reads_old && !apart.empty())
        invalid(causes_, here + ".rule", rule.rule,
                "oldSelf cannot be used on the uncorrelatable portion of the schema within " + apart);
      else if (!rule.reads_old && spec.has("optionalOldSelf"))
        invalid(causes_, here + ".optionalOldSelf", spec["optionalOldSelf"],
                "may not be set if oldSelf is not used in rule");
    }
  }

  void limit(const std::string& what, std::uint64_t cost, const std::string& field) {
    if (cost > cel::kRuleEstimateMax) forbidden(causes_, field, cost_message(what, cost, cel::kRuleEstimateMax));
    total_ = kUnbounded - total_ < cost ? kUnbounded : total_ + cost;
    if (cost >= cel::kDefinitionEstimateMax / 100) costs_.emplace_back(cost, field);  // others hardly count
  }

  std::vector<Cause>& causes_;
  std::uint64_t total_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> costs_;
};

}  // namespace

Rules::Rules(std::unique_ptr<const RuleNode> root) : root_(std::move(root)) {}
Rules::~Rules() = default;

std::shared_ptr<const Rules> Rules::compile(const Value& props) {
  auto root = make_node(props, true);
  if (!root) return nullptr;
  return std::shared_ptr<const Rules>(new Rules(std::move(root)));
}

void Rules::check(const Value& object, const Value& old, std::vector<Cause>& causes,
                  std::vector<std::string>& warnings) const {
  Checker(causes, warnings).node(object, old, false, *root_, "");
}

void check_rules(const Value& props, const std::string& path, std::vector<Cause>& causes) {
  DefinitionRules rules(causes);
  rules.node(props, true, 1, "", path);
  rules.total(path);
}

}  // namespace sublet::apiserver
