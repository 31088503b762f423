// OwnMetrics: serves metrics.k8s.io/v1beta1 while a local APIService of it exists: get and list of pod and node metrics
// from ServerOptions::metrics, in the format and with the rights of metrics-server. Answers are JSON. An APIService
// that names a Service replaces it.
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
