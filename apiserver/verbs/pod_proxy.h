// pods/NAME/proxy and services/NAME/proxy: a request to a pod's own HTTP server, up to where it leaves this API server.
#pragma once

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

void pod_proxy(const ContextPtr& context);

}  // namespace sublet::apiserver
