// MetricsAnswer: a tenant's question of metrics.k8s.io, asked of the host and answered in the tenant's words: of the
// host namespace's PodMetrics those of pods that are the virtual cluster's (as Measured says), under their own names,
// with their own labels, and without containers that the tenant does not know; of the host's NodeMetrics those of nodes
// that the tenant sees. Pure.
#pragma once

#include <string>

#include "sublet/kube/resource_metrics.h"
#include "sublet/net/http.h"
#include "sublet/syncer/host_gateway_options.h"

namespace sublet::syncer {

/// A DNS subdomain, as names of objects on the host are: nothing that leads to another path.
bool is_name(std::string_view text);
/// Whether questions about it are answered at all: by the options' functions.
bool is_offered(kube::MetricsQuestion::About about, const HostGatewayOptions& options);
/// What the host is asked (a request's target). The question is the tenant's side's word: names that are no names make
/// it bad_request.
Result<std::string> host_target(const kube::MetricsQuestion& question, const HostGatewayOptions& options);
/// Out of what the host has answered.
net::Response tenant_answer(const kube::MetricsQuestion& question, const HostGatewayOptions& options, int code,
                            const std::string& body);

}  // namespace sublet::syncer
