#include "apiserver/admission/admission.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/request/members.h"
#include "apiserver/strategies/no_effect.h"
#include "apiserver/strategies/service_allocation.h"
#include "apiserver/verbs/manage_fields.h"
#include "apiserver/verbs/phases.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Status precondition_conflict(const RequestContext& context, std::string_view sent, std::string_view stored) {
  return conflict_status(context.served().group, context.served().resource, context.info.name,
                         "Precondition failed: UID in precondition: " + std::string(sent) +
                             ", UID in object meta: " + std::string(stored));
}

Status missing_version(const RequestContext& context) {
  Cause cause{"FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"};
  return invalid_status(context.served().group, context.served().resource, context.info.name, {std::move(cause)});
}

// The sender's uid and resourceVersion against what is stored.
Outcome check_update_preconditions(const RequestContext& context, const store::Object& current, const Value& object) {
  const Value meta = object["metadata"];
  const auto uid = meta["uid"].text(), version = meta["resourceVersion"].text();
  // Of a patch the uid is no precondition but a field, which validation finds changed.
  const bool is_precondition = context.info.verb != Verb::patch || context.info.subresource == "scale";
  if (is_precondition && !uid.empty() && uid != current.index.uid)
    return fail(precondition_conflict(context, uid, current.index.uid.str()));
  if (version.empty() || version == "0") {
    if (strategy_of(*context.route).unconditional_update) return {};
    return fail(missing_version(context));
  }
  if (version == std::to_string(current.revision)) return {};
  return fail(conflict_status(context.served().group, context.served().resource, context.info.name, kObjectModified));
}

// /status and /approval change status (and metadata), as other views may; the main endpoint changes everything else,
// which is its strategy's to see to (prepare_update).
void keep_other_endpoints_fields(const RequestContext& context, Value object, const Value& old) {
  const auto& sub = context.info.subresource;
  if (sub.empty() || sub == "scale") return;
  if (const View* view = find_view(strategy_of(*context.route), sub); view && view->changes_spec) return;
  if (brings_host_addresses(context.core->options, context.user, context.storage())) return;
  const auto is_foreign = [](std::string_view key) {
    return key != "metadata" && key != "status" && key != "kind" && key != "apiVersion";
  };
  std::vector<std::string> foreign;
  for (Value member : object)
    if (is_foreign(member.key())) foreign.emplace_back(member.key());
  for (Value member : old)
    if (is_foreign(member.key())) foreign.emplace_back(member.key());
  for (const auto& key : foreign) copy_field(object, old, key);
}

// PUT namespaces/x/finalize changes spec.finalizers and metadata: the status has an endpoint of its own.
void keep_old_status(Value object, const Value& old) { copy_field(object, old, "status"); }

// +1 when something beside metadata and status changed.
void count_generation(const RequestContext& context, Value object, const Value& old) {
  if (!strategy_of(*context.route).generation || context.info.subresource == "status") return;
  bool same = true;
  const bool status_counts = context.served().custom && !context.served().has_status;
  for (Value member : object)
    if (member.key() != "metadata" && (status_counts || member.key() != "status") && member.key() != "kind" &&
        member.key() != "apiVersion")
      same = same && member.equals(old[member.key()]);
  for (Value member : old) same = same && object.has(member.key());
  if (!same) object["metadata"].put("generation", old["metadata"]["generation"].integer() + 1);
}

std::vector<Cause> causes_of(Write& write, const Value& object, const Value& old) {
  const RequestContext& context = write.request;
  const Strategy& strategy = strategy_of(*context.route);
  std::vector<Cause> causes;
  validate_object_meta_update(object["metadata"], old["metadata"], causes, strategy.finalizers);
  // The fields of the other endpoint are as they were, so a whole check can only speak of what changed.
  collect_causes(context, object, NameRule::path_segment, causes);  // its name is what it was
  if (const auto validate = update_steps(strategy, context.info.subresource).validate) validate(object, old, causes);
  if (strategy.judge_update) strategy.judge_update(write.context, object, old, causes);
  return causes;
}

class UpdateRun final : public WriteRun {
 public:
  UpdateRun(const ContextPtr& context, DraftBody body) : WriteRun(context), body_(std::move(body)) {}

 private:
  Result<Draft> draft(Write& write) override {
    RequestContext& request = write.request;
    auto object = body_.take(request);
    if (!object) return fail(object.error());
    if (auto matched = match_url(request, object->root()); !matched) return fail(matched.error());
    auto current = find_current(request, write.pending);
    if (current) return draft_of_change(*request.route, std::move(*current), std::move(*object));
    if (!strategy_of(*request.route).create_on_update || !request.info.subresource.empty())
      return fail(current.error());
    Draft draft;
    draft.object = std::move(*object);
    draft.absent_key = request.key();
    return draft;
  }
  DraftBody body_;
};

// What was stored under an earlier schema, or in another version, is compared as the sender would read it now.
void as_read(const Route& route, const Value& old) {
  const auto* reading = conversion_of(route);
  if (!reading) return;
  reading->from_storage(old);
  (void)schema::conform(old, route.type());  // it was of its kind when it was stored
}

}  // namespace

Result<Draft> draft_of_change(const Route& route, store::ObjectPtr current, schema::Document object) {
  auto old = working_document(*current, route);
  if (!old) return fail(old.error());
  return draft_of_change(std::move(current), std::move(*old), std::move(object));
}

Draft draft_of_change(store::ObjectPtr current, schema::Document old, schema::Document object) {
  Draft draft;
  draft.verb = WriteVerb::update;
  draft.current = std::move(current);
  draft.old = std::move(old);
  draft.object = std::move(object);
  return draft;
}

Outcome mutate_change(Write& write, Draft& draft) {
  RequestContext& request = write.request;
  const Value object = draft.object.root(), old = draft.old.root();
  if (request.served().custom) as_read(*request.route, old);
  if (auto allowed = check_update_preconditions(request, *draft.current, object); !allowed) return allowed;
  apply_defaults(request, object);
  std::optional<schema::Document> managed_fields;
  if (!draft.is_managed) managed_fields = managed_fields_of(write, draft);
  if (request.info.subresource == "finalize")
    keep_old_status(object, old);
  else
    keep_other_endpoints_fields(request, object, old);
  keep_metadata(object, old);
  if (managed_fields) put_managed_fields(object, managed_fields->root());
  return admit_mutating(write.context, WriteVerb::update, object, old, &draft.rounds);
}

Outcome validate_change(Write& write, Draft& draft) {
  const RequestContext& request = write.request;
  const Value object = draft.object.root(), old = draft.old.root();
  if (const auto prepare = update_steps(strategy_of(*request.route), request.info.subresource).prepare)
    if (auto prepared = prepare(write.context, object, old); !prepared) return prepared;
  count_generation(request, object, old);
  keep_managed_times(object, old);
  auto causes = causes_of(write, object, old);
  if (!causes.empty())
    return fail(invalid_status(request.served().group, request.served().kind, request.info.name, std::move(causes)));
  warn(write.context, object, old);
  return admit_validating(write.context, WriteVerb::update, object, old);
}

Result<Plan> plan_change(Write& write, Draft& draft) {
  const RequestContext& request = write.request;
  const Strategy& strategy = strategy_of(*request.route);
  if (auto charged = charge_quota(write.context, WriteVerb::update, draft.object.root(), draft.old.root()); !charged)
    return fail(charged.error());
  const auto claim = update_steps(strategy, request.info.subresource).claim;
  schema::Document claimed;  // what was claimed for one Txn is not kept for the next
  if (claim) claimed = draft.object.clone();
  const Value object = claim ? claimed.root() : draft.object.root(), old = draft.old.root();
  if (claim)
    if (auto outcome = claim(write.context, object, old); !outcome) return fail(outcome.error());
  if (!may_be_removed(strategy, object, old)) {
    auto plan = write.put(200, draft.current->key, draft.current, object);
    if (plan && plan->answer.object != draft.current) warn_of_no_effect(write.context, object, old);
    return plan;
  }
  if (strategy.on_removed) strategy.on_removed(write.context, object);
  auto put = write.stored_form(object);
  if (!put) return fail(put.error());
  return write.erase(draft.current, std::move(*put));
}

void update_object(const ContextPtr& context) {
  auto validation = check_write_options(*context, "UpdateOptions");
  if (!validation) return reply_status(*context, validation.error());
  auto decoded = decode_object(*context, *validation);
  if (!decoded) return reply_status(*context, decoded.error());
  std::make_shared<UpdateRun>(context, DraftBody(std::move(*decoded), *validation))->start();
}

}  // namespace sublet::apiserver
