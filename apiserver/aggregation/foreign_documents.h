// ForeignDocuments: discovery and OpenAPI documents of the tenant's own API servers, as last returned; OpenAPI v2 is
// fetched when it is requested.
//
// Threads: the request's.
#pragma once

#include <functional>
#include <string>

#include "apiserver/discovery/foreign.h"
#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

struct ForeignDocuments {
  ForeignApis apis;
  std::string key;  // another one when anything differs; empty: there are none
};
/// Without what this server serves itself.
ForeignDocuments foreign_documents(const RequestContext& context);
/// Asks every server that can be had. `then` runs on the request's loop, or at once when there is none; what a server
/// does not say within five seconds is missing.
void with_foreign_openapi(const ContextPtr& context, std::function<void(ForeignOpenApi)> then);

}  // namespace sublet::apiserver
