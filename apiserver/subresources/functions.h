// The functions behind subresource.h, one file each. Internal to subresources/.
#pragma once

#include "apiserver/subresources/subresource.h"

namespace sublet::apiserver {

Result<SubresourceAnswer> bind_pod(WriteContext& context, schema::Value pod, const schema::Value& binding);
Result<SubresourceAnswer> evict_pod(WriteContext& context, schema::Value pod, const schema::Value& eviction);
Result<SubresourceAnswer> request_token(WriteContext& context, schema::Value account, const schema::Value& request);

Outcome review_self(WriteContext& context, schema::Value review);
Outcome review_self_access(WriteContext& context, schema::Value review);
Outcome review_access(WriteContext& context, schema::Value review);
Outcome review_local_access(WriteContext& context, schema::Value review);
Outcome review_self_rules(WriteContext& context, schema::Value review);
Outcome review_token(WriteContext& context, schema::Value review);

/// `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`.
schema::Document success_document();
/// Sets or adds the condition of this type; lastTransitionTime moves with the status.
void set_condition(schema::Value status, std::string_view type, std::string_view value, std::string_view reason,
                   std::string_view message, WallTime now);

}  // namespace sublet::apiserver
