// Patch steps: reading a PATCH request and applying it to a tree, for objects and for what is shown of them (Scale).
// Internal to verbs/.
#pragma once

#include "apiserver/codec/request_body.h"
#include "apiserver/verbs/verb.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {

/// Kubernetes' own: what the sender wants of the object, by server-side apply (apply.h).
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";
bool is_apply(const RequestContext& context);

struct PatchRequest {
  Outcome (*apply)(schema::Value target, const schema::Value& patch, schema::Type type) = nullptr;
  schema::Document patch;
  schema::ParseNotes notes;
  FieldValidation validation = FieldValidation::warn;
};

/// Content type, options and body of a PATCH.
Result<PatchRequest> read_patch(const RequestContext& context);
/// Patches `target` in place and brings it into the form of `type`; what is unknown there is judged by the request.
Outcome apply_patch(RequestContext& context, const PatchRequest& request, schema::Value target, schema::Type type);

}  // namespace sublet::apiserver
