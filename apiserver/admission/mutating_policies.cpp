// MutatingAdmissionPolicy (k8s.io/apiserver/pkg/admission/plugin/policy/mutating): which policies match is found out
// for the object as it comes; then each changes it in turn, and sees what those before it have done.
#include "apiserver/admission/admission_hooks.h"
#include "apiserver/admission/policy_activation.h"
#include "apiserver/admission/policy_matches.h"
#include "apiserver/request/object_key.h"
#include "sublet/patches/patch.h"
#include "sublet/patches/typed_merge.h"

namespace sublet::apiserver {
namespace {

namespace cel = patches::cel;
using schema::Document;
using schema::Value;

// What reinvocation knows an evaluation by.
std::string id_of(const PolicyMatch& match) {
  const Value metadata = match.params.root()["metadata"];
  return match.policy.name + "/" + match.binding.name + "/" + metadata["namespace"].string() + "/" +
         metadata["name"].string();
}

tl::unexpected<Status> wrong(std::string why) { return fail(Reason::invalid, std::move(why)); }

// --- ApplyConfiguration ---

// Paths of what a configuration sets that is one thing: the rest of it would be lost without anybody's wish.
void find_atomics(const Value& value, const patches::MergeType& type, const std::string& path,
                  std::vector<std::string>& found) {
  if (value.is_object() && type.map) {
    if (type.map->atomic) found.push_back(path);
    for (const Value member : value)
      if (const auto* field = type.map->find(member.key()))
        find_atomics(member, *field->type, path + "." + std::string(member.key()), found);
  } else if (value.is_array() && type.list) {
    if (type.list->atomic) found.push_back(path);
    std::size_t index = 0;
    for (const Value entry : value) {
      const std::string at = path + "[" + std::to_string(index++) + "]";
      if (type.list->item) find_atomics(entry, *type.list->item, at, found);
    }
  }
}

Result<Document> apply_configuration(const Value& object, Value patch, const patches::MergeType& type) {
  patch.put("apiVersion", object["apiVersion"]);
  patch.put("kind", object["kind"]);
  if (const auto errors = patches::check_type(patch, type, patches::Duplicates::refused); !errors.empty())
    return wrong("error applying patch: failed to convert patch object to typed object: " + patches::text_of(errors));
  std::vector<std::string> atomics;
  find_atomics(patch, type, "", atomics);
  if (!atomics.empty()) {
    std::string names;
    for (const auto& path : atomics) names += (names.empty() ? "" : ", ") + path;
    return wrong("error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " +
                 names);
  }
  patches::TypeErrors errors = patches::check_type(object, type, patches::Duplicates::allowed);
  if (!errors.empty())
    return wrong("error applying patch: failed to convert original object to typed object: " +
                 patches::text_of(errors));
  Document merged = patches::merge(object, patch, type, errors);
  if (!errors.empty()) return wrong("error applying patch: failed to merge patch: " + patches::text_of(errors));
  return merged;
}

// --- JSONPatch ---

Result<Document> json_patch_of(const cel::Value& operations) {
  Document patch;
  patch.root().make_array();
  Outcome written;
  operations.each_item([&](const cel::Value& operation) {
    Value step = patch.root().push_object();
    for (const char* name : {"op", "path", "from"}) {
      const auto text = operation.find(name);
      if (text && text->is(cel::Kind::string) && !text->as_text().empty()) step.put(name, text->as_text());
    }
    if (!step.has("op")) step.put("op", "");
    if (!step.has("path")) step.put("path", "");
    const auto value = operation.find("value");
    if (value) written = cel::write(*value, step.add_member("value"));
    return written.has_value();
  });
  if (!written)
    return wrong("JSONPath valueExpression evaluated to a type that could not marshal to JSON: " +
                 written.error().message);
  return patch;
}

Result<Document> apply_policy_patch(const Value& object, const cel::Value& operations) {
  auto patch = json_patch_of(operations);
  if (!patch) return patch;
  Document changed = Document::copy_of(object);
  const auto applied = patches::apply_json_patch(changed.root(), patch->root());
  if (applied) return changed;
  // A test that fails says that there is nothing to do.
  if (applied.error().message.ends_with("test failed")) return Document::copy_of(object);
  return wrong("JSON Patch: " + applied.error().message);
}

class MutatingDispatch {
 public:
  MutatingDispatch(const Attempt& attempt, Reinvocation& rounds) : request_(attempt), rounds_(rounds) {}

  Outcome run(const std::vector<BoundPolicy>& policies) {
    std::vector<PolicyMatch> matches;
    for_each_match(
        request_, policies, [&](PolicyMatch match) { matches.push_back(std::move(match)); },
        [&](const AdmissionPolicy& policy, const PolicyBinding* binding, const std::string& why) {
          note(policy, binding, why, Reason::forbidden);
        });
    for (const PolicyMatch& match : matches)
      if (auto done = invoke(match); !done) return done;
    if (errors_.empty()) return {};
    Status status = forbidden_request(request_, "");
    status.message = errors_[0].message;
    status.reason = errors_[0].reason;
    status.code = 403;
    for (auto& error : errors_) status.causes.push_back({"", std::move(error.message), ""});
    return fail(std::move(status));
  }

 private:
  struct Error {
    std::string message;
    Reason reason;
  };

  void note(const AdmissionPolicy& policy, const PolicyBinding* binding, const std::string& why, Reason reason) {
    if (!policy.fails) return;
    errors_.push_back({binding
                           ? "policy '" + policy.name + "' with binding '" + binding->name + "' denied request: " + why
                           : "policy \"" + policy.name + "\" denied request: " + why,
                       reason});
  }

  Outcome invoke(const PolicyMatch& match) {
    const AdmissionPolicy& policy = match.policy;
    PolicyInputs inputs(request_, match.matched);
    const Value params = match.params_value();
    if (!policy.conditions.empty()) {
      PolicyActivation activation(inputs, params, &policy.variables);
      const auto matched = policy.conditions.match(activation);
      if (!matched) note(policy, &match.binding, matched.error().message, Reason::invalid);
      if (!matched || !*matched) return {};
    }
    const std::string id = id_of(match);
    if (rounds_.second_round() && !rounds_.policies.is_required(id)) return {};
    bool changed = false;
    for (const auto& mutation : policy.mutations) {
      auto done = mutate(mutation, inputs, params, policy);
      if (!done) {
        note(policy, &match.binding, done.error().message, Reason::invalid);
        continue;
      }
      changed = changed || *done;
      inputs.refresh();
    }
    if (changed) {
      rounds_.policies.require();
      rounds_.want();
    }
    if (policy.reinvoke) rounds_.policies.invoked(id);
    return {};
  }

  Result<bool> mutate(const AdmissionPolicy::Mutation& mutation, const PolicyInputs& inputs, const Value& params,
                      const AdmissionPolicy& policy) {
    if (!mutation.expression.program) return wrong(mutation.expression.problem);
    std::uint64_t budget = kPolicyCostMax;
    PolicyActivation activation(inputs, params, &policy.variables);
    const auto given = activation.run(mutation.expression, budget);
    if (!given.error.empty()) return wrong(given.error);
    auto changed =
        mutation.json_patch ? apply_policy_patch(inputs.object.root(), given.value) : configure(inputs, given.value);
    if (!changed) return fail(changed.error());
    return request_.take(inputs.matched, changed->root());
  }

  Result<Document> configure(const PolicyInputs& inputs, const cel::Value& given) {
    Document patch = Document::object();
    if (auto written = cel::write(given, patch.root()); !written) return wrong(written.error().message);
    const auto& type = patches::merge_type_of(request_.attempt().context.kinds, *inputs.matched.resource);
    return apply_configuration(inputs.object.root(), patch.root(), type);
  }

  const AdmissionRequest request_;
  Reinvocation& rounds_;
  std::vector<Error> errors_;
};

}  // namespace

Outcome mutating_policies(const Attempt& attempt) {
  const auto hooks = current_hooks(attempt.context);
  if (!hooks || hooks->mutating_policies.empty() || attempt.verb == WriteVerb::remove) return {};
  Reinvocation once;
  MutatingDispatch dispatch(attempt, attempt.rounds ? *attempt.rounds : once);
  return dispatch.run(hooks->mutating_policies);
}

}  // namespace sublet::apiserver
