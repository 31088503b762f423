// terminal_status: the last status of a pod that the host removed before its kubelet could report one.
//
// A deletion with grace 0 removes the host pod at once, but a finalizer keeps the tenant's pod. Its kubelet would write
// this status (k8s.io/kubernetes/pkg/kubelet/status: TerminatePod, kubernetes#116410). Pure.
#pragma once

#include "sublet/base/clock.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {

/// Returns the status of `pod` with phase Failed, without ready conditions, and with every container terminated. A
/// terminal phase and terminated containers stay.
schema::Document terminal_status(const schema::Value& pod, WallTime now);

}  // namespace sublet::syncer
