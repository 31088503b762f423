#include "patches/template/rule.h"

#include <algorithm>

#include "patches/template/reader.h"
#include "sublet/base/nearest.h"

namespace sublet::patches {

using schema::Value;

bool Rule::targets(std::string_view kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

namespace {

// Empty: patches of this kind can be written, and will run.
std::string target_problem(std::string_view kind, std::span<const std::string_view> patched_kinds) {
  if (!Shape::known_kind(kind)) return "unknown kind \"" + std::string(kind) + "\"" + suggestion(kind, Shape::kinds());
  if (patched_kinds.empty() || std::find(patched_kinds.begin(), patched_kinds.end(), kind) != patched_kinds.end())
    return {};
  std::string known;
  for (const std::string_view one : patched_kinds) known.append(known.empty() ? "" : ", ").append(one);
  return std::string(kind) +
         " objects do not cross to the host, so a patch of them would never run; those that do: " + known;
}

}  // namespace

Rule Rule::read(const YamlNode& node, const std::string& key, cel::Environment environment, const BorderFacts& border,
                Problems& problems) {
  Rule rule;
  MapReader reader(node, key, problems);
  if (const YamlNode* name = reader.require("name")) rule.name_ = name->text;
  (void)reader.text("description");
  if (const YamlNode* target = reader.require("target")) {
    rule.kinds_ = reader.texts("target");
    for (const std::string& kind : rule.kinds_)
      if (std::string problem = target_problem(kind, border.patched_kinds); !problem.empty())
        problems.add(target->mark, reader.path("target"), std::move(problem));
    std::erase_if(rule.kinds_, [](const std::string& kind) { return !Shape::known_kind(kind); });
  }
  rule.read_variables(reader.take("variables"), reader.path("variables"), environment, problems);
  if (const YamlNode* when = reader.take("when")) {
    rule.when_ = compile_expression(when->text, *when, 0, environment, reader.path("when"), problems);
    const cel::Kind type = rule.when_ ? rule.when_->type() : cel::Kind::dyn;
    if (type != cel::Kind::boolean && type != cel::Kind::dyn)
      problems.add(when->mark, reader.path("when"),
                   "the condition must be a bool, not a " + std::string(kind_name(type)));
  }
  const YamlNode* effects = reader.require("effects");
  if (effects && (!effects->is_list() || effects->children.empty()))
    problems.add(effects->mark, reader.path("effects"), "must be a list with at least one effect");
  if (effects && effects->is_list())
    for (std::size_t i = 0; i < effects->children.size(); ++i)
      rule.effects_.push_back(Effect::read(effects->children[i], rule.kinds_, environment, border,
                                           reader.path("effects") + '[' + std::to_string(i) + ']', problems));
  reader.finish();
  return rule;
}

void Rule::read_variables(const YamlNode* node, const std::string& key, cel::Environment& environment,
                          Problems& problems) {
  if (node == nullptr || node->is_null()) return;
  if (!node->is_map()) return problems.add(node->mark, key, "must be a map from names to expressions");
  for (const YamlNode& child : node->children) {
    const std::string path = key + '.' + child.key;
    if (!child.is_scalar() || child.is_null()) {
      problems.add(child.mark, path, "must be an expression, not " + std::string(child.kind_text()));
      continue;
    }
    auto program = compile_expression(child.text, child, 0, environment, path, problems);
    // A broken variable is declared all the same, so that its uses are not reported as well.
    environment.declare("variables." + child.key, program ? program->type() : cel::Kind::dyn);
    if (program) variables_.push_back({child.key, std::move(*program)});
  }
}

Result<bool> Rule::holds(const ObjectScope& scope) const {
  if (!when_) return true;
  const cel::Value value = when_->evaluate(scope);
  if (value.is_error()) return bad_request("when: " + value.failure().message);
  if (!value.is(cel::Kind::boolean))
    return bad_request("when is a " + std::string(kind_name(value.kind())) + ", not a bool");
  return value.as_bool();
}

void Rule::apply(const ObjectScope::Facts& facts, PatchReport& report) const {
  const auto broken = [&](const Status& status) {
    report.denials.push_back("patch \"" + name_ + "\" of the template failed: " + status.message);
  };
  ObjectScope scope(facts, variables_);
  const auto wanted = holds(scope);
  if (!wanted) return broken(wanted.error());
  if (!*wanted) return;
  report.applied.push_back(name_);
  for (const Effect& effect : effects_) {
    EffectResult result;
    const auto done = effect.apply(facts.object, scope, facts.kind, result);
    if (!done) return broken(done.error());
    report.warnings.insert(report.warnings.end(), result.warnings.begin(), result.warnings.end());
    report.denials.insert(report.denials.end(), result.denials.begin(), result.denials.end());
    if (!result.denials.empty()) return;  // the rest of this patch would work on an object that is refused
  }
}

void Rule::check_update(const ObjectScope::Facts& facts, const Value& changed,
                        std::vector<std::string>& denials) const {
  for (const Effect& effect : effects_) {
    if (effect.verb->name != "freeze") continue;
    ObjectScope scope(facts, variables_);
    for (const Path& path : effect.paths) {
      const Value before = path.read(facts.tenant);
      const Value after = path.read(changed);
      if (before.missing() == after.missing() && (before.missing() || before.equals(after))) continue;
      const cel::Value message = effect.has_message ? effect.value.evaluate_text(scope) : cel::Value();
      denials.push_back(message.is(cel::Kind::string) ? std::string(message.as_text())
                                                      : path.text() + " cannot be changed after creation");
    }
  }
}

std::vector<Rule> read_rules(const YamlNode* node, const cel::Environment& environment, const BorderFacts& border,
                             Problems& problems) {
  std::vector<Rule> rules;
  if (node == nullptr || node->is_null()) return rules;
  if (!node->is_list()) {
    problems.add(node->mark, "patches", "must be a list, not " + std::string(node->kind_text()));
    return rules;
  }
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    const std::string key = "patches[" + std::to_string(i) + ']';
    rules.push_back(Rule::read(node->children[i], key, environment, border, problems));
    for (std::size_t j = 0; j < i; ++j)
      if (!rules[i].name().empty() && rules[j].name() == rules[i].name())
        problems.add(node->children[i].mark, key, "there are two patches named \"" + rules[i].name() + "\"");
  }
  return rules;
}

}  // namespace sublet::patches
