#include "apiserver/admission/admission.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/subresources/subresource.h"
#include "apiserver/verbs/manage_fields.h"
#include "apiserver/verbs/phases.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

// A body names its parent again, except for a TokenRequest, which may leave the name out.
constexpr std::string_view kNamedFreely = "TokenRequest";

// What is answered with its own kind (a review, a TokenRequest) shows who sent what, as anything that is created.
Document managed_by_sender(RequestContext& context, const ManagedEndpoint& endpoint, Value sent) {
  return FieldManager(endpoint).update(Value(), sent, field_manager(context), context.core->clock.now());
}

// A function of its own for the whole of plan: what it reads (budgets, the node) counts with every Txn that is tried.
class SubresourceRun final : public WriteRun {
 public:
  SubresourceRun(const ContextPtr& context, const schema::SubresourceFacts& facts, PostSubresource function,
                 Document body)
      : WriteRun(context), facts_(facts), function_(function), body_(std::move(body)) {
    const auto& kinds = *context->kinds;
    const auto type = kinds.find_kind(facts.group, facts.version, facts.kind);
    managed_fields_ = managed_by_sender(
        *context, {kinds, facts.group, facts.version, facts.kind, type, facts.name, nullptr}, body_.root());
  }

 private:
  Result<Draft> draft(Write& write) override {
    auto current = find_current(write.request, write.pending);
    if (!current) return fail(current.error());
    Draft draft = {};
    draft.verb = WriteVerb::subresource;
    draft.current = std::move(*current);
    draft.object = body_.clone();
    return draft;
  }

  Result<Plan> plan(Write& write, Draft& draft) override {
    auto parent = stored_document(*draft.current);
    if (!parent) return fail(parent.error());
    auto answer = function_(write.context, parent->root(), draft.object.root());
    if (!answer) return fail(answer.error());
    if (answer->body["kind"].text() == facts_.kind) put_managed_fields(answer->body.root(), managed_fields_.root());
    auto plan = store(write, draft.current, parent->root(), *answer);
    if (plan) plan->answer = {.code = answer->code, .object = nullptr, .json = answer->body.to_json(), .op = {}};
    return plan;
  }

  static Result<Plan> store(Write& write, const store::ObjectPtr& current, Value parent,
                            const SubresourceAnswer& answer) {
    if (answer.delete_parent) {
      auto options = delete_request_of(answer.delete_options.root());
      if (!options) return fail(options.error());
      return plan_delete_of(write, current, parent, *options);
    }
    if (answer.store_parent) {
      auto old = stored_document(*current);
      if (!old) return fail(old.error());
      if (auto admitted = admit_validating(write.context, WriteVerb::update, parent, old->root()); !admitted)
        return fail(admitted.error());
      return write.put(answer.code, current->key, current, parent);
    }
    Plan plan;
    plan.submit = !write.txn.ops.empty() && !write.context.dry_run;
    if (plan.submit) plan.txn = std::move(write.txn);
    return plan;
  }

  const schema::SubresourceFacts& facts_;  // the Registry's, which the request holds
  const PostSubresource function_;
  const Document body_;
  Document managed_fields_;
};

}  // namespace

void post_to_subresource(const ContextPtr& context) {
  const auto* facts = find_subresource(*context->route, context->info.subresource);
  const PostSubresource function =
      post_subresource(context->storage().group, context->storage().resource, context->info.subresource);
  if (!facts || !function) {
    return reply_status(*context, not_found_status(context->served().group, context->served().resource,
                                                   context->info.name + "/" + context->info.subresource));
  }
  auto validation = check_write_options(*context, "CreateOptions");
  if (!validation) return reply_status(*context, validation.error());
  const ExpectedKind expected{facts->group, facts->version, facts->kind,
                              context->kinds->find_kind(facts->group, facts->version, facts->kind)};
  auto decoded = decode_body({context->request.headers.get("Content-Type"), context->request.body}, expected,
                             *validation, context->warnings);
  if (!decoded) return reply_status(*context, decoded.error());
  if (facts->kind != kNamedFreely && decoded->root()["metadata"]["name"].text() != context->info.name)
    return reply_status(
        *context, bad_request("name in URL does not match name in " + std::string(facts->kind) + " object").value());
  std::make_shared<SubresourceRun>(context, *facts, function, std::move(*decoded))->start();
}

void answer_review(const ContextPtr& context) {
  auto decoded = decode_object(*context, FieldValidation::warn);
  if (!decoded) return reply_status(*context, decoded.error());
  const auto snapshot = context->core->store.snapshot();
  Write write(*context, snapshot);
  const Document managed_fields = managed_by_sender(*context, managed_endpoint(*context), decoded->root());
  const Review review = review_for(context->storage().group, context->storage().resource);
  if (auto answered = review(write.context, decoded->root()); !answered)
    return reply_status(*context, answered.error());
  Value root = decoded->root();
  root.put("kind", context->served().kind);
  root.put("apiVersion", api_version(context->served().group, context->served().version));
  put_managed_fields(root, managed_fields.root());
  if (auto fits = schema::conform(root, context->route->type()); !fits) return reply_status(*context, fits.error());
  reply_json(*context, 201, root.to_json());
}

}  // namespace sublet::apiserver
