// ConnectAdmission: admission of requests to a pod (operation CONNECT): exec, attach, port-forward, proxy. Webhooks and
// policies see the options as the object, and may refuse or change them; no built-in plugin applies.
#pragma once

#include <functional>

#include "apiserver/verbs/verb.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// The request's options as upstream's: of the query, and of a proxy the path behind it.
schema::Document connect_options(const RequestContext& context);
/// Calls `then` with the options as admission changed them (null: unchanged), or answers the refusal. Calls it at once
/// when no webhook or policy is configured.
void admit_connect(const ContextPtr& context, std::function<void(const schema::Value& changed)> then);
/// Options as a query, with the parameters that upstream reads.
std::string query_of_options(const schema::Value& options);

}  // namespace sublet::apiserver
