// CpprestTransport: the CLI's HTTP client for the host API, over cpprestsdk. It reuses connections, as many as there
// are concurrent requests, and supports tls_server_name. For a command's requests, not for watches (the syncer uses
// net/http_client.h). Thread-safe; observers are called on cpprest's threads.
#pragma once

#include <memory>

#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http.h"

namespace sublet::cli {

Result<std::shared_ptr<net::Transport>> make_cpprest_transport(const kube::ClusterAccess& access);

}  // namespace sublet::cli
