#include "apiserver/verbs/phases.h"

namespace sublet::apiserver {
namespace {

Outcome nothing(Write&, Draft&) { return {}; }

Outcome validate_removal(Write& write, Draft& draft) {
  return admit_validating(write.context, WriteVerb::remove, schema::Value(), draft.old.root());
}

// The body alone: what becomes of the parent is the subresource's to plan.
Outcome mutate_subresource(Write& write, Draft& draft) {
  return admit_mutating(write.context, draft.verb, draft.object.root(), schema::Value(), &draft.rounds);
}

Outcome validate_subresource(Write& write, Draft& draft) {
  return admit_validating(write.context, draft.verb, draft.object.root(), schema::Value());
}

Result<Plan> no_plan(Write&, Draft&) {
  return fail(Reason::internal_error, "removals, subresources and connections are planned by what asked for them");
}

struct VerbPhases {
  WriteVerb verb;
  Outcome (*mutate)(Write& write, Draft& draft);
  Outcome (*validate)(Write& write, Draft& draft);
  Result<Plan> (*plan)(Write& write, Draft& draft);
};
constexpr VerbPhases kVerbPhases[] = {
    {WriteVerb::create, mutate_new, validate_new, plan_new},
    {WriteVerb::update, mutate_change, validate_change, plan_change},
    {WriteVerb::remove, nothing, validate_removal, no_plan},
    {WriteVerb::subresource, mutate_subresource, validate_subresource, no_plan},
    {WriteVerb::connect, mutate_subresource, validate_subresource, no_plan},
};

const VerbPhases& phases_of(const Draft& draft) { return kVerbPhases[static_cast<std::size_t>(draft.verb)]; }

}  // namespace

Outcome mutate_draft(Write& write, Draft& draft) { return phases_of(draft).mutate(write, draft); }

Outcome validate_draft(Write& write, Draft& draft) { return phases_of(draft).validate(write, draft); }

Result<Plan> plan_draft(Write& write, Draft& draft) { return phases_of(draft).plan(write, draft); }

Result<Plan> plan_at_once(Write& write, Draft& draft) {
  if (auto mutated = mutate_draft(write, draft); !mutated) return fail(mutated.error());
  if (auto valid = validate_draft(write, draft); !valid) return fail(valid.error());
  return plan_draft(write, draft);
}

}  // namespace sublet::apiserver
