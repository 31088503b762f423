// CpprestTransport: the CLI's way to the host API, over cpprestsdk. Its connections are kept and used again, as many as
// there are requests at once; tls_server_name is honoured. Good for a command's requests; not for watches (the syncer
// has net/http_client.h). Thread-safe; observers are called on cpprest's threads.
#pragma once

#include <memory>

#include "sublet/base/status.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http.h"

namespace sublet::cli {

Result<std::shared_ptr<net::Transport>> make_cpprest_transport(const kube::ClusterAccess& access);

}  // namespace sublet::cli
