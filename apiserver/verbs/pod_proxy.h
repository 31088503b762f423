// pods/NAME/proxy and services/NAME/proxy: a request to a pod's own HTTP server, up to where it leaves this API server.
#pragma once

#include <string_view>
#include <utility>

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

void pod_proxy(const ContextPtr& context);

/// The path as the client has it, in two: up to "proxy", and what is the pod's.
std::pair<std::string_view, std::string_view> split_at_proxy(std::string_view path);

}  // namespace sublet::apiserver
