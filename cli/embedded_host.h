// The embedded host: one `subletd simhost` a state folder, started on demand and stopped with the last virtual cluster.
//
// Its address and its shape are kept across restarts, so that the syncers that knew it find it again by themselves.
// Blocking. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "cli/commands.h"
#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

/// Starts it when it does not run, and waits until it is ready. A shape that one of other shape cannot take is named on
/// stderr. Gives the access to it.
Result<kube::ClusterAccess> start_embedded_host(const EmbeddedHostShape& shape, std::chrono::seconds timeout);
bool embedded_host_runs();
/// The file with the access that start_embedded_host() gives.
std::string embedded_host_kubeconfig();
/// Stops it and removes all that it had.
Outcome stop_embedded_host();

}  // namespace sublet::cli
