// Rule: one patch of a template, compiled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "patches/template/effects.h"

namespace sublet::patches {

class Rule {
 public:
  /// Reads the entry `patches[index]`; `environment` knows the template's parameters.
  static Rule read(const YamlNode& node, const std::string& key, cel::Environment environment,
                   const BorderFacts& border, Problems& problems);

  const std::string& name() const { return name_; }
  bool targets(std::string_view kind) const;

  /// Runs the rule. Failures of expressions become denials that name the rule.
  void apply(const ObjectScope::Facts& facts, PatchReport& report) const;
  /// Reasons why an update that changes what the rule freezes is refused. `facts.tenant` is the old object.
  void check_update(const ObjectScope::Facts& facts, const schema::Value& changed,
                    std::vector<std::string>& denials) const;

 private:
  void read_variables(const YamlNode* node, const std::string& key, cel::Environment& environment, Problems& problems);
  Result<bool> holds(const ObjectScope& scope) const;

  std::string name_;
  std::vector<std::string> kinds_;
  std::vector<VariableRule> variables_;
  std::optional<cel::Program> when_;
  std::vector<Effect> effects_;
};

/// Reads the list; reports names that come twice.
std::vector<Rule> read_rules(const YamlNode* node, const cel::Environment& environment, const BorderFacts& border,
                             Problems& problems);

}  // namespace sublet::patches
