// AdmissionPolicy: a ValidatingAdmissionPolicy or MutatingAdmissionPolicy, compiled, and its bindings. MatchConditions:
// the conditions of a policy or a webhook.
//
// Immutable once read; any thread. Internal to admission/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/matching.h"
#include "apiserver/validation/policy_expressions.h"

namespace sublet::apiserver {

class PolicyActivation;

class MatchConditions {
 public:
  static MatchConditions read(const schema::Value& conditions, const PolicyEnvironment& environment, bool fails);
  bool empty() const { return conditions_.empty(); }
  /// Whether all are true. What cannot be evaluated counts as the failure policy says: an error, or no match.
  Result<bool> match(PolicyActivation& activation) const;

 private:
  std::vector<PolicyExpression> conditions_;
  bool fails_ = true;
};

struct PolicyBinding {
  std::string name, policy;
  Matching matching;
  // spec.paramRef; without: no parameters.
  bool has_param_ref = false, deny_without_params = false;
  std::string param_name, param_namespace;
  std::optional<kube::LabelSelector> param_selector;
  bool deny = false, warn = false, audit = false;

  static PolicyBinding read(const schema::Value& binding);
};

struct AdmissionPolicy {
  struct Validation {
    PolicyExpression expression;
    std::optional<PolicyExpression> says;  // messageExpression
    std::string message, reason;
  };
  struct Mutation {
    PolicyExpression expression;
    bool json_patch = false;
  };

  std::string name;
  Matching matching;
  bool fails = true;                      // failurePolicy
  bool reinvoke = false;                  // reinvocationPolicy: IfNeeded
  std::string param_version, param_kind;  // spec.paramKind; empty: none
  MatchConditions conditions;
  std::vector<NamedExpression> variables;
  std::vector<Validation> validations;
  std::vector<NamedExpression> audit_annotations;
  std::vector<Mutation> mutations;

  static AdmissionPolicy read(const schema::Value& policy);
};

/// What is asked of one request.
struct BoundPolicy {
  std::shared_ptr<const AdmissionPolicy> policy;
  std::vector<std::shared_ptr<const PolicyBinding>> bindings;  // never empty
};

}  // namespace sublet::apiserver
