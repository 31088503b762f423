// Apply: PATCH of application/apply-patch+yaml, for objects (created when they are not there) and what is shown of
// them (Scale). Internal to verbs/.
#pragma once

#include "apiserver/apply/field_manager.h"
#include "apiserver/verbs/phases.h"

namespace sublet::apiserver {

struct ApplyRequest {
  schema::Document config;
  std::vector<std::string> duplicate_fields;
  FieldValidation validation = FieldValidation::warn;
  bool force = false;
};

/// Options and body.
Result<ApplyRequest> read_apply(const RequestContext& context);
/// What `live` (nothing: it is made) becomes; both as the endpoint has them. Fields that the config has twice are
/// judged by the request.
Result<schema::Document> apply_config(Write& write, const ApplyRequest& request, const ManagedEndpoint& endpoint,
                                      std::optional<schema::Document> live);
void apply_object(const ContextPtr& context);

}  // namespace sublet::apiserver
