// PodStatus: the status that a tenant pod should show, from its host pod's. Pure; any thread.
//
// Everything the kubelet and the scheduler say is passed on, except: containers that the host injected are hidden, the
// tenant keeps its own qosClass, host names of claims are dropped.
#pragma once

#include "sublet/schema/document.h"

namespace sublet::syncer {

schema::Document tenant_pod_status(const schema::Value& host_pod, const schema::Value& tenant_pod);

}  // namespace sublet::syncer
