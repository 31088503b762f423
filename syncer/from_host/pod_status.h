// PodStatus: the status that a tenant pod should show, from its host pod's. Pure; any thread.
//
// Which of it crosses is said by the rows of PodStatus (translate/fields_from_host.cpp); the tenant keeps its own
// qosClass, its own word that the pod is being evicted (DisruptionTarget) while the host has none, and the conditions
// that its own controllers write. Readiness gates are judged here, by those: a pod is Ready when the host says so and
// all of them are True.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// Somebody in the tenant writes conditions of this pod too: a write of the status is then to be of the pod as it was
/// read, or it would take theirs back.
bool has_conditions_of_tenant(const schema::Value& tenant_pod);
/// A text of the host in the tenant's names (text_for_tenant.h).
using TextForTenant = std::function<std::string(std::string_view text)>;
schema::Document tenant_pod_status(const TranslateContext& context, const schema::Value& host_pod,
                                   const schema::Value& tenant_pod, const TextForTenant& text_for_tenant);

}  // namespace sublet::syncer
