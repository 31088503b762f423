// ValidatingAdmissionPolicy (k8s.io/apiserver/pkg/admission/plugin/policy/validating): every policy that matches is
// asked with each of its bindings and their parameters; all are evaluated, and the first denial is reported.
#include <algorithm>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/admission/audit_annotation.h"
#include "apiserver/admission/policy_activation.h"
#include "apiserver/admission/policy_matches.h"
#include "sublet/base/log.h"
#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

namespace cel = patches::cel;

struct Denial {
  std::string text;
  Reason reason = Reason::invalid;
};

// What a policy says of one request with one set of parameters.
struct Verdict {
  struct Failure {
    std::string message;
    Reason reason = Reason::invalid;
  };
  std::vector<Failure> failures;    // of validations, as validationActions want
  std::vector<std::string> errors;  // of audit annotations: always denied
};

class Evaluation {
 public:
  Evaluation(const AdmissionPolicy& policy, const PolicyInputs& inputs, const schema::Value& params)
      : policy_(policy), inputs_(inputs), params_(params) {}

  Verdict run() {
    if (!policy_.conditions.empty()) {
      PolicyActivation activation(inputs_, params_, &policy_.variables);
      const auto matched = policy_.conditions.match(activation);
      if (!matched) return broken(matched.error().message);
      if (!*matched) return {};
    }
    validate();
    if (!stopped_.empty()) return broken(stopped_);
    annotate();
    if (!stopped_.empty()) return broken(stopped_);
    return std::move(verdict_);
  }

 private:
  // Nothing that was found out counts when the evaluation as a whole fails.
  Verdict broken(const std::string& why) const {
    Verdict verdict;
    if (policy_.fails) verdict.failures.push_back({why, Reason::invalid});
    return verdict;
  }

  void validate() {
    std::uint64_t budget = kPolicyCostMax;
    PolicyActivation activation(inputs_, params_, &policy_.variables);
    for (const auto& validation : policy_.validations) {
      const auto given = activation.run(validation.expression, budget);
      if (given.stops) {
        stopped_ = given.error;
        return;
      }
      if (!given.error.empty()) {
        if (policy_.fails) verdict_.failures.push_back({given.error, Reason::invalid});
      } else if (!given.value.as_bool()) {
        const Reason reason = reason_from_name(validation.reason);
        verdict_.failures.push_back(
            {message_of(validation, activation, budget), validation.reason.empty() ? Reason::invalid : reason});
      }
    }
  }

  static std::string message_of(const AdmissionPolicy::Validation& validation, PolicyActivation& activation,
                                std::uint64_t& budget) {
    constexpr std::size_t kMessageMax = 5 * 1024;
    std::string message;
    if (validation.says) {
      const auto given = activation.run(*validation.says, budget);
      if (given.stops) return "failed messageExpression: " + given.error;
      if (given.error.empty() && given.value.is(cel::Kind::string)) message = trimmed(given.value.as_text());
      if (message.size() > kMessageMax || message.find('\n') != std::string::npos) message.clear();
    }
    if (message.empty()) message = trimmed(validation.message);
    if (message.empty()) message = "failed expression: " + std::string(trimmed(validation.expression.source));
    return message;
  }

  void annotate() {
    if (policy_.audit_annotations.empty()) return;
    std::uint64_t budget = kPolicyCostMax;
    PolicyActivation activation(inputs_, params_, &policy_.variables);
    for (const auto& annotation : policy_.audit_annotations) {
      const auto given = activation.run(annotation.expression, budget);
      if (given.stops) {
        stopped_ = given.error;
        return;
      }
      if (!given.error.empty() && policy_.fails) verdict_.errors.push_back(given.error);
      if (!given.error.empty() || !given.value.is(cel::Kind::string)) continue;
      if (const auto value = trimmed(given.value.as_text()); !value.empty())
        log_audit_annotation("policy", policy_.name, annotation.name, value);
    }
  }

  const AdmissionPolicy& policy_;
  const PolicyInputs& inputs_;
  const schema::Value params_;
  std::string stopped_;
  Verdict verdict_;
};

class ValidatingDispatch {
 public:
  explicit ValidatingDispatch(const Attempt& attempt) : request_(attempt) {}

  Outcome run(const std::vector<BoundPolicy>& policies) {
    for_each_match(
        request_, policies, [&](const PolicyMatch& match) { ask(match); },
        [&](const AdmissionPolicy& policy, const PolicyBinding* binding, const std::string& why) {
          if (policy.fails) deny(policy, binding, why, Reason::invalid);
        });
    if (!denial_) return {};
    Status status = forbidden_request(request_, denial_->text);
    status.causes.push_back({"", denial_->text, ""});
    status.reason = denial_->reason;
    status.code = default_http_code(denial_->reason);
    return fail(std::move(status));
  }

 private:
  void ask(const PolicyMatch& match) {
    const Verdict verdict = Evaluation(match.policy, inputs(match.matched), match.params_value()).run();
    for (const auto& failure : verdict.failures) act(match.policy, match.binding, failure);
    for (const auto& error : verdict.errors) deny(match.policy, &match.binding, error, Reason::invalid);
  }

  void act(const AdmissionPolicy& policy, const PolicyBinding& binding, const Verdict::Failure& failure) {
    if (binding.deny) deny(policy, &binding, failure.message, failure.reason);
    if (binding.warn)
      request_.attempt().context.warnings.push_back("Validation failed for ValidatingAdmissionPolicy '" + policy.name +
                                                    "' with binding '" + binding.name + "': " + failure.message);
    if (binding.audit)  // until there is an audit log
      log::info("admission.policy_violated",
                {{"policy", policy.name}, {"binding", binding.name}, {"message", failure.message}});
  }

  void deny(const AdmissionPolicy& policy, const PolicyBinding* binding, const std::string& why, Reason reason) {
    if (denial_) return;  // only the first is reported
    denial_ = Denial{"ValidatingAdmissionPolicy '" + policy.name + "'" +
                         (binding ? " with binding '" + binding->name + "'" : "") + " denied request: " + why,
                     reason};
  }

  const PolicyInputs& inputs(const MatchedResource& matched) {
    for (const auto& known : inputs_)
      if (known->matched.resource == matched.resource) return *known;
    inputs_.push_back(std::make_unique<PolicyInputs>(request_, matched));
    return *inputs_.back();
  }

  const AdmissionRequest request_;
  std::vector<std::unique_ptr<PolicyInputs>> inputs_;  // one per version that a policy wants
  std::optional<Denial> denial_;
};

}  // namespace

Outcome validating_policies(const Attempt& attempt) {
  const auto hooks = current_hooks(attempt.context);
  if (!hooks || hooks->validating_policies.empty()) return {};
  ValidatingDispatch dispatch(attempt);
  return dispatch.run(hooks->validating_policies);
}

}  // namespace sublet::apiserver
