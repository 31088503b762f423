#include "apiserver/admission/admission.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/strategies/no_effect.h"
#include "apiserver/verbs/write_steps.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Status exists_status(const RequestContext& context, const store::Object& existing) {
  Status status = already_exists_status(context.served().group, context.served().resource, context.info.name);
  if (auto document = stored_document(existing); document && (*document)["metadata"].has("deletionTimestamp"))
    status.message = "object is being deleted: " + status.message;
  return status;
}

}  // namespace

Result<Plan> plan_create(Write& write, Value object) {
  RequestContext& request = write.request;
  if (auto matched = match_url(request, object); !matched) return fail(matched.error());
  if (!object["metadata"]["resourceVersion"].text().empty())
    return bad_request("resourceVersion should not be set on objects to be created");
  begin_metadata(write, object);
  apply_defaults(request, object);
  if (auto named = generate_name(write, object); !named) return fail(named.error());
  if (auto admitted = admit_mutating(write.context, WriteVerb::create, object, Value()); !admitted)
    return fail(admitted.error());
  if (const auto prepare = request.strategy().prepare_create)
    if (auto prepared = prepare(write.context, object); !prepared) return fail(prepared.error());
  if (auto valid = validate_new(request, object); !valid) return fail(valid.error());
  if (auto admitted = admit_validating(write.context, WriteVerb::create, object, Value()); !admitted)
    return fail(admitted.error());
  const std::string url_name = request.info.name;  // the function may run again: the name is the object's, not ours
  request.info.name = object["metadata"]["name"].string();
  Result<Plan> plan = [&]() -> Result<Plan> {
    if (const auto existing = write.pending.get(request.key())) return fail(exists_status(request, *existing));
    auto put = make_put(object, request.storage(), request.strategy());
    if (!put) return fail(put.error());
    return write.put(201, nullptr, std::move(*put));
  }();
  request.info.name = url_name;
  if (plan) warn_of_no_effect(write.context, object, Value());
  return plan;
}

void create_object(const ContextPtr& context) {
  auto validation = check_write_options(*context, "CreateOptions");
  if (!validation) return reply_status(*context, validation.error());
  auto decoded = decode_object(*context, *validation);
  if (!decoded) return reply_status(*context, decoded.error());
  // The function may run again, so it works on a copy but for the common first time.
  auto body = std::make_shared<schema::Document>(std::move(*decoded));
  run_write(context, [body](RequestContext& request, const store::Snapshot& pending) -> Result<Plan> {
    schema::Document object = body->clone();
    Write write(request, pending);
    return plan_create(write, object.root());
  });
}

}  // namespace sublet::apiserver
