// Admission of what is asked of a pod and stored nowhere (operation CONNECT): exec, attach, port-forward, proxy.
// Webhooks and policies see its options as the object, and may refuse or change them; none of the built-in plugins is
// about it.
#pragma once

#include <functional>

#include "apiserver/verbs/verb.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// The request's options as upstream's: of the query, and of a proxy the path behind it.
schema::Document connect_options(const RequestContext& context);
/// Goes on with `then` and what admission has made of connect_options(), which is null when nobody changed them; or
/// answers the refusal. At once, when nobody is configured to be asked.
void admit_connect(const ContextPtr& context, std::function<void(const schema::Value& changed)> then);
/// Options as a query, with the parameters that upstream reads.
std::string query_of_options(const schema::Value& options);

}  // namespace sublet::apiserver
