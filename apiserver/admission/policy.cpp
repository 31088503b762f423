#include "apiserver/admission/policy.h"

#include "apiserver/admission/policy_activation.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

PolicyExpression compiled_expression(const Value& source, const PolicyEnvironment& environment, Gives gives) {
  return compile_expression(source.text(), environment, gives);
}

void read_validations(const Value& spec, const PolicyEnvironment& environment, AdmissionPolicy& policy) {
  for (const Value validation : spec["validations"]) {
    AdmissionPolicy::Validation made{compiled_expression(validation["expression"], environment, Gives::boolean),
                                     std::nullopt, validation["message"].string(), validation["reason"].string()};
    if (!validation["messageExpression"].text().empty())
      made.says = compiled_expression(validation["messageExpression"], environment.without_authorizer(), Gives::text);
    policy.validations.push_back(std::move(made));
  }
  for (const Value annotation : spec["auditAnnotations"])
    policy.audit_annotations.push_back(
        {annotation["key"].string(),
         compiled_expression(annotation["valueExpression"], environment, Gives::text_or_null)});
}

void read_mutations(const Value& spec, const PolicyEnvironment& environment, AdmissionPolicy& policy) {
  for (const Value mutation : spec["mutations"]) {
    const bool json_patch = mutation["patchType"].text() == "JSONPatch";
    const Value source = mutation[json_patch ? "jsonPatch" : "applyConfiguration"]["expression"];
    policy.mutations.push_back({compiled_expression(source, environment.with_patches(),
                                                    json_patch ? Gives::json_patches : Gives::object_patch),
                                json_patch});
  }
}

}  // namespace

MatchConditions MatchConditions::read(const Value& conditions, const PolicyEnvironment& environment, bool fails) {
  MatchConditions made;
  made.fails_ = fails;
  for (const Value condition : conditions)
    made.conditions_.push_back(compiled_expression(condition["expression"], environment, Gives::boolean));
  return made;
}

Result<bool> MatchConditions::match(PolicyActivation& activation) const {
  std::uint64_t budget = kMatchConditionsCostMax;
  std::vector<std::string> errors;
  for (const PolicyExpression& condition : conditions_) {
    const auto given = activation.run(condition, budget);
    if (given.stops) {
      if (!fails_) return false;
      return fail(Reason::forbidden, given.error);
    }
    if (!given.error.empty())
      errors.push_back(given.error);
    else if (!given.value.as_bool())
      return false;
  }
  if (errors.empty()) return true;
  if (!fails_) return false;
  if (errors.size() == 1) return fail(Reason::forbidden, std::move(errors[0]));
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "[" : ", ") + error;
  return fail(Reason::forbidden, text + "]");
}

PolicyBinding PolicyBinding::read(const Value& binding) {
  const Value spec = binding["spec"], ref = spec["paramRef"];
  PolicyBinding made;
  made.name = binding["metadata"]["name"].string();
  made.policy = spec["policyName"].string();
  made.matching = Matching::of_resources(spec["matchResources"]);
  made.has_param_ref = ref.is_object();
  made.deny_without_params = ref["parameterNotFoundAction"].text() == "Deny";
  made.param_name = ref["name"].string();
  made.param_namespace = ref["namespace"].string();
  if (ref.has("selector"))
    if (auto selector = kube::LabelSelector::from_object(ref["selector"])) made.param_selector = std::move(*selector);
  for (const Value action : spec["validationActions"]) {
    made.deny = made.deny || action.text() == "Deny";
    made.warn = made.warn || action.text() == "Warn";
    made.audit = made.audit || action.text() == "Audit";
  }
  return made;
}

AdmissionPolicy AdmissionPolicy::read(const Value& policy) {
  const Value spec = policy["spec"];
  AdmissionPolicy made;
  made.name = policy["metadata"]["name"].string();
  made.matching = Matching::of_resources(spec["matchConstraints"]);
  made.fails = spec["failurePolicy"].text() != "Ignore";
  made.reinvoke = spec["reinvocationPolicy"].text() == "IfNeeded";
  made.param_version = spec["paramKind"]["apiVersion"].string();
  made.param_kind = spec["paramKind"]["kind"].string();
  PolicyEnvironment environment({.params = !made.param_kind.empty()});
  made.variables = compile_variables(spec["variables"], environment);
  made.conditions = MatchConditions::read(spec["matchConditions"], environment, made.fails);
  read_validations(spec, environment, made);
  read_mutations(spec, environment, made);
  return made;
}

}  // namespace sublet::apiserver
