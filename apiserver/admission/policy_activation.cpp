#include "apiserver/admission/policy_activation.h"

#include "apiserver/authz/authorizer.h"

namespace sublet::apiserver {

namespace cel = patches::cel;
using schema::Document;
using schema::Value;

namespace {

constexpr const char* kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

User service_account_user(const cel::RightsQuestion& question) {
  const std::string& space = question.service_account_namespace;
  User user;
  user.name = "system:serviceaccount:" + space + ":" + question.service_account;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + space, std::string(kAuthenticatedGroup)};
  return user;
}

cel::RightsAnswer answer(const WriteContext& context, const cel::RightsQuestion& question) {
  if (!context.authorizer) return {false, {}, "there is no authorizer"};
  std::optional<User> account;
  if (!question.service_account.empty()) account = service_account_user(question);
  Attributes attributes;
  attributes.user = account ? &*account : &context.user;
  attributes.verb = question.verb;
  attributes.is_resource = question.path.empty();
  attributes.path = question.path;
  attributes.group = question.group;
  attributes.resource = question.resource;
  attributes.subresource = question.subresource;
  attributes.namespace_name = question.namespace_name;
  attributes.name = question.name;
  Decision decision = context.authorizer->decide(attributes);
  return {decision.allowed, std::move(decision.reason), {}};
}

// What expressions may know of the namespace; of what is in none (a namespace, too), nothing.
Document namespace_of(const AdmissionRequest& request) {
  if (request.namespace_name().empty() || request.is_namespace()) return {};
  auto stored = request.attempt().context.read("namespaces", "", request.namespace_name());
  if (!stored) return {};
  Value metadata = stored->root()["metadata"];
  for (const char* name : {"managedFields", "ownerReferences", "selfLink"}) metadata.erase(name);
  return std::move(*stored);
}

cel::Value value_of(const Document& document) {
  return document.root().is_null() ? cel::Value() : cel::Value::of(document.root());
}

cel::RightsQuestion about(const AdmissionRequest& request) {
  cel::RightsQuestion question;
  question.group = request.resource().group;
  question.resource = request.resource().resource;
  question.subresource = request.subresource();
  question.namespace_name = request.namespace_name();
  question.name = request.name();
  return question;
}

}  // namespace

PolicyInputs::PolicyInputs(const AdmissionRequest& request_, const MatchedResource& matched_)
    : request(request_),
      matched(matched_),
      object(request_.object_as(matched_)),
      old(request_.old_as(matched_)),
      namespace_object(namespace_of(request_)),
      review(request_.document(matched_)),
      authority(std::make_shared<const cel::Authority>(
          [&context = request_.attempt().context](const cel::RightsQuestion& question) {
            return answer(context, question);
          })) {}

void PolicyInputs::refresh() { object = request.object_as(matched); }

PolicyActivation::PolicyActivation(const PolicyInputs& inputs, const Value& params,
                                   const std::vector<NamedExpression>* variables)
    : inputs_(inputs), params_(params), variables_(variables), known_(variables ? variables->size() : 0) {}

cel::Value PolicyActivation::get(int slot) const {
  switch (slot) {
    case kObjectSlot:
      return value_of(inputs_.object);
    case kOldObjectSlot:
      return value_of(inputs_.old);
    case kNamespaceSlot:
      return value_of(inputs_.namespace_object);
    case kRequestSlot:
      return value_of(inputs_.review);
    case kParamsSlot:
      return params_ ? cel::Value::of(params_) : cel::Value();
    case kAuthorizerSlot:
      return cel::authorizer_value(inputs_.authority);
    case kRequestResourceSlot:
      return cel::resource_check_value(inputs_.authority, about(inputs_.request));
    default:
      return variable(static_cast<std::size_t>(slot - kVariableSlots));
  }
}

// Worked out when it is first read, and then kept.
cel::Value PolicyActivation::variable(std::size_t index) const {
  if (index >= known_.size()) return cel::Value::error("no such variable");
  if (known_[index]) return *known_[index];
  const auto& [name, expression] = (*variables_)[index];
  if (!expression.program)
    return cel::Value::error("composited variable \"" + name + "\" fails to compile: " + expression.problem);
  auto given = expression.program->run(*this);
  spent_ += given.cost;
  if (given.value.is_error())
    given.value =
        cel::Value::error("composited variable \"" + name + "\" fails to evaluate: " + given.value.failure().message);
  known_[index] = given.value;
  return given.value;
}

PolicyActivation::Given PolicyActivation::run(const PolicyExpression& expression, std::uint64_t& budget) {
  if (!expression.program) return {{}, "compilation error: " + expression.problem, false};
  spent_ = 0;
  auto given = expression.program->run(*this);
  if (given.cost + spent_ > budget) return {{}, kOutOfBudget, true};
  budget -= given.cost + spent_;
  if (!given.value.is_error()) return {std::move(given.value), {}, false};
  const std::string& why = given.value.failure().message;
  if (why.starts_with("type mismatch: ")) return {{}, why, false};
  return {{}, "expression '" + expression.source + "' resulted in error: " + why, false};
}

}  // namespace sublet::apiserver
