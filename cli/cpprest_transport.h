// CpprestTransport: the CLI's way to the host API, over cpprestsdk. Blocking: start() returns after the answer was
// delivered. Good for a few requests from a command; not for watches (the syncer has net/http_client.h).
#pragma once

#include <memory>

#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http.h"

namespace sublet::cli {

Result<std::shared_ptr<net::Transport>> make_cpprest_transport(const kube::ClusterAccess& access);

}  // namespace sublet::cli
