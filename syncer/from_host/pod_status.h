// PodStatus: the status that a tenant pod should show, from its host pod's. Pure; any thread.
//
// Which of it crosses is said by the rows of PodStatus (translate/fields_from_host.cpp); the tenant keeps its own
// qosClass, and its own word that the pod is being evicted (DisruptionTarget) while the host has none.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::syncer {

schema::Document tenant_pod_status(const schema::Value& host_pod, const schema::Value& tenant_pod);

}  // namespace sublet::syncer
