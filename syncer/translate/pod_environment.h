// PodEnvironment: what every container of a virtual cluster is told of its API server, the variables that a kubelet
// makes of Service default/kubernetes. They stand once, in a host ConfigMap that each host container takes as its first
// `envFrom` (docs/decisions/pod-environment.md), so that no pod carries them. Pure; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sublet/syncer/translate_context.h"

namespace sublet::syncer {

/// KUBERNETES_SERVICE_HOST and its seven fellows.
std::vector<std::pair<std::string, std::string>> api_server_variables(const TranslateContext& context);
/// Name of the host ConfigMap, one a virtual cluster.
std::string host_environment_name(const TranslateContext& context);
/// The host ConfigMap with the border's labels and annotations; it stands for the tenant's Service default/kubernetes.
schema::Document make_host_environment(const TranslateContext& context);
/// The first part of its key, and what its kAnnotationTenantKind says.
inline constexpr std::string_view kEnvironmentKind = "PodEnvironment";

}  // namespace sublet::syncer
