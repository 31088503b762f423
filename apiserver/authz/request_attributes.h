// RequestAttributes: what a request asks of the authorizer, as upstream reads it off method, path and query. The
// answer points into the context.
#pragma once

#include "apiserver/authz/attributes.h"
#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

Attributes attributes_of(const RequestContext& context);

}  // namespace sublet::apiserver
