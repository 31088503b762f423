// OwnMetrics: metrics.k8s.io/v1beta1 as this server serves it while there is a local APIService of it: get and list of
// what pods and nodes use, as ServerOptions::metrics says it, in the words and with the rights of metrics-server's API.
// Answers are JSON. An APIService that names a Service takes the group version away from here.
//
// Threads: the request's.
#pragma once

#include <string_view>

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

/// Its APIResourceList.
std::string_view metrics_resources();
/// Any request of the group version; its rights have been looked at.
void answer_metrics(const ContextPtr& context);

}  // namespace sublet::apiserver
