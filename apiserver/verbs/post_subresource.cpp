#include "apiserver/codec/object_bytes.h"
#include "apiserver/subresources/subresource.h"
#include "apiserver/verbs/write_steps.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Result<Plan> plan_subresource(RequestContext& request, const store::Snapshot& pending, PostSubresource function,
                              const schema::Document& body) {
  auto current = find_current(request, pending);
  if (!current) return fail(current.error());
  auto old = stored_document(**current);
  if (!old) return fail(old.error());
  schema::Document parent = old->clone();
  Write write(request, pending);
  auto answer = function(write.context, parent.root(), body.root());
  if (!answer) return fail(answer.error());
  Result<Plan> plan = Plan{};
  if (answer->delete_parent) {
    auto options = delete_request_of(answer->delete_options.root());
    if (!options) return fail(options.error());
    plan = plan_delete(write, *current, *options);
  } else if (answer->store_parent) {
    auto put = make_put(parent.root(), request.storage(), request.strategy());
    if (!put) return fail(put.error());
    plan = write.put(answer->code, *current, std::move(*put));
  } else if (!write.txn.ops.empty() && !write.context.dry_run) {
    plan->txn = std::move(write.txn);
    plan->submit = true;
  }
  if (!plan) return plan;
  plan->answer = {.code = answer->code, .object = nullptr, .json = answer->body.to_json(), .op = std::nullopt};
  return plan;
}

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
                              schema::Table::builtin().find_kind(facts->group, facts->version, facts->kind)};
  auto decoded = decode_body({context->request.headers.get("Content-Type"), context->request.body}, expected,
                             *validation, context->warnings);
  if (!decoded) return reply_status(*context, decoded.error());
  auto body = std::make_shared<schema::Document>(std::move(*decoded));
  run_write(context, [body, function](RequestContext& request, const store::Snapshot& pending) {
    return plan_subresource(request, pending, function, *body);
  });
}

void answer_review(const ContextPtr& context) {
  auto decoded = decode_object(*context, FieldValidation::warn);
  if (!decoded) return reply_status(*context, decoded.error());
  const auto snapshot = context->core->store.snapshot();
  Write write(*context, snapshot);
  const Review review = review_for(context->storage().group, context->storage().resource);
  if (auto answered = review(write.context, decoded->root()); !answered)
    return reply_status(*context, answered.error());
  Value root = decoded->root();
  root.put("kind", context->served().kind);
  root.put("apiVersion", api_version(context->served().group, context->served().version));
  if (auto fits = schema::conform(root, context->route->type()); !fits) return reply_status(*context, fits.error());
  reply_json(*context, 201, root.to_json());
}

}  // namespace sublet::apiserver
