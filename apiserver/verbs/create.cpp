#include <algorithm>

#include "apiserver/admission/admission.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/request_attributes.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/strategies/no_effect.h"
#include "apiserver/verbs/manage_fields.h"
#include "apiserver/verbs/phases.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Status exists_status(const RequestContext& context, const store::Object& existing) {
  Status status = already_exists_status(context.served().group, context.served().resource, name_of_key(existing.key));
  if (auto document = stored_document(existing); document && (*document)["metadata"].has("deletionTimestamp"))
    status.message = "object is being deleted: " + status.message;
  return status;
}

std::string key_of_new(const Write& write, const Value& object) {
  const auto& request = write.request;
  return object_key(request.storage(), request.info.namespace_name, object["metadata"]["name"].text());
}

// A PUT or an apply that finds nothing creates, which is a right of its own.
Outcome may_create(const RequestContext& request) {
  if (request.info.verb == Verb::create) return {};
  Attributes attributes = attributes_of(request);
  attributes.verb = "create";
  return request.core->authorizer.check(attributes);
}

constexpr std::string_view kVersionSet = "resourceVersion should not be set on objects to be created";

bool is_number(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A POST alone has none to bring: a PUT or an apply whose object is gone creates it, whatever version it knew. Upstream
// answers from its storage, after everything else was judged, and without a reason.
Outcome brings_no_version(const RequestContext& request, const Value& object) {
  const std::string_view version = object["metadata"]["resourceVersion"].text();
  if (request.info.verb != Verb::create || version.find_first_not_of('0') == std::string_view::npos) return {};
  Status status;
  status.code = 500;
  status.message = kVersionSet;
  return fail(std::move(status));
}

class CreateRun final : public WriteRun {
 public:
  CreateRun(const ContextPtr& context, DraftBody body) : WriteRun(context), body_(std::move(body)) {}

 private:
  Result<Draft> draft(Write& write) override {
    auto object = body_.take(write.request);
    if (!object) return fail(object.error());
    Draft draft;
    draft.object = std::move(*object);
    return draft;
  }
  DraftBody body_;
};

}  // namespace

Outcome mutate_new(Write& write, Draft& draft) {
  RequestContext& request = write.request;
  const Value object = draft.object.root();
  if (auto matched = match_url(request, object); !matched) return matched;
  if (!is_number(object["metadata"]["resourceVersion"].text())) return bad_request(std::string(kVersionSet));
  begin_metadata(write, object);
  apply_defaults(request, object);
  manage_fields(write, draft);
  return admit_mutating(write.context, WriteVerb::create, object, Value(), &draft.rounds);
}

Outcome validate_new(Write& write, Draft& draft) {
  const RequestContext& request = write.request;
  const Value object = draft.object.root();
  identify(write, object);
  draft.named_here = generate_name(write, object);
  if (auto matched = match_url(request, object); !matched) return matched;  // whatever admission has made of it
  if (const auto prepare = strategy_of(*request.route).prepare_create)
    if (auto prepared = prepare(write.context, object); !prepared) return prepared;
  std::vector<Cause> causes;
  const auto& strategy = strategy_of(*request.route);
  collect_causes(request, object, strategy.name_rule, causes);
  if (strategy.validate_create) strategy.validate_create(object, causes);
  if (strategy.judge_create) strategy.judge_create(write.context, object, causes);
  if (!causes.empty())
    return fail(invalid_status(request.served().group, request.served().kind, object["metadata"]["name"].text(),
                               std::move(causes)));
  warn(write.context, object, Value());
  if (auto may = may_create(request); !may) return may;
  return admit_validating(write.context, WriteVerb::create, object, Value());
}

Result<Plan> plan_new(Write& write, Draft& draft) {
  RequestContext& request = write.request;
  if (auto charged = charge_quota(write.context, WriteVerb::create, draft.object.root(), Value()); !charged)
    return fail(charged.error());
  if (auto unset = brings_no_version(request, draft.object.root()); !unset) return fail(unset.error());
  const auto claim = strategy_of(*request.route).claim_create;
  schema::Document claimed;  // what was claimed for one Txn is not kept for the next
  if (claim) claimed = draft.object.clone();
  const Value object = claim ? claimed.root() : draft.object.root();
  std::string key = key_of_new(write, object);
  if (const auto existing = write.pending.get(key)) {
    if (!draft.named_here) return fail(exists_status(request, *existing));
    Value meta = object["metadata"];  // somebody else took the name meanwhile
    meta.erase("name");
    generate_name(write, object);
    draft.object["metadata"].put("name", meta["name"]);
    key = key_of_new(write, object);
  }
  guard_namespace(write.context);
  if (claim)
    if (auto outcome = claim(write.context, object); !outcome) return fail(outcome.error());
  auto plan = write.put(201, std::move(key), nullptr, object);
  if (plan) warn_of_no_effect(write.context, object, Value());
  return plan;
}

void create_object(const ContextPtr& context) {
  auto validation = check_write_options(*context, "CreateOptions");
  if (!validation) return reply_status(*context, validation.error());
  auto decoded = decode_object(*context, *validation);
  if (!decoded) return reply_status(*context, decoded.error());
  std::make_shared<CreateRun>(context, DraftBody(std::move(*decoded), *validation))->start();
}

}  // namespace sublet::apiserver
