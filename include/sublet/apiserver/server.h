// Server: one virtual cluster's Kubernetes API (also the embedded host's), as a net::Handler over a Store.
//
// handle() runs on a connection's loop: filters over one RequestContext (deadline, authn, authz, limits), then a verb,
// a straight-line function (snapshot, request) -> Plan; a Plan with a Txn is answered by its commit.
// In-process callers (controllers, simhost) use make_in_process_transport(handler(), identity).
// Lifecycle: construct over an open Store; start() writes what must exist (system namespaces, kubernetes Service);
// stop() ends watches cleanly. Threads: handle() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sublet/apiserver/bootstrap.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Who asks, after authentication.
struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

/// What admission outside the generic set says of an object about to be created or updated.
struct AdmissionVerdict {
  std::vector<Cause> denials;  // not empty: 403 with these reasons
  std::vector<std::string> warnings;
};
/// Hook by which subletd plugs the border's admission (syncer/translate) into a tenant's server. Called on loops with
/// the conformed, defaulted object, and what it was before an update (missing: it is created); pure.
using BorderAdmission =
    std::function<AdmissionVerdict(std::string_view kind, const schema::Value& object, const schema::Value& old)>;

/// Fetches a log on behalf of a pod (the syncer's tunnel in a tenant, the simulated kubelet in simhost). `query` is the
/// request's query string. The implementation answers through the sink.
using PodLogs = std::function<void(const std::string& namespace_name, const std::string& pod_name,
                                   const std::string& query, std::shared_ptr<net::ResponseSink> sink)>;

struct ServerOptions : ClusterFacts {
  std::string version = "v1.36.3";      // /version's gitVersion
  std::string service_account_key_pem;  // signs and verifies tokens (ES256)
  std::string service_account_issuer = "https://kubernetes.default.svc.cluster.local";
  std::vector<std::pair<std::string, User>> static_tokens;  // bearer token -> user
  std::string unix_socket_user = "system:sublet:syncer";  // identity of peers on the unix socket (group system:masters)
  BorderAdmission border;
  PodLogs pod_logs;  // empty: 501 with the reason
  /// Kinds whose controller runs (in-process); create of another controller-driven kind answers with a Warning.
  std::vector<std::string> controlled_kinds;
};

class Server {
 public:
  Server(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock = Clock::system(),
         Random& random = Random::system());
  ~Server();

  /// Creates what every cluster has. Idempotent.
  Outcome start();
  net::Handler handler();
  /// /readyz turns 500; watches end cleanly.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
