// HostConnector: opens a connection to a host's API. The caller of a driver chooses the HTTP client, so that drivers
// and daemons link none of their own.
#pragma once

#include <functional>
#include <memory>

#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http.h"

namespace sublet::cluster {

using HostConnector = std::function<Result<std::shared_ptr<net::Transport>>(const kube::ClusterAccess&)>;

}  // namespace sublet::cluster
