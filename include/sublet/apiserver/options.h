// ServerOptions: what a server is told from outside: who its callers are, what it plugs in, where it can be reached.
// Values; copied into the server at construction and never changed afterwards.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/apiserver/cluster_facts.h"
#include "sublet/apiserver/outbound.h"
#include "sublet/base/status.h"
#include "sublet/kube/pod_connect.h"
#include "sublet/kube/resource_metrics.h"
#include "sublet/net/http.h"
#include "sublet/podsecurity/policy.h"
#include "sublet/schema/document.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// Who asks, after authentication.
struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

/// Rights of a user of the house (the syncer), which no object of the tenant gives or takes away: the rules of a
/// ClusterRole, as JSON (`[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`).
struct HouseRights {
  std::string user, rules;
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

/// A kind whose objects a syncer brings from a host: those with the label are written by the syncer alone
/// (ServerOptions::unix_socket_user), and nobody else may set the label. Objects of the kind without it are anybody's.
struct MirroredKind {
  std::string group, resource;  // of the storage form
  std::string label;
  std::string next_step;  // what somebody who is refused can do instead
};

/// A kind whose objects a syncer carries to a host, where they have their effect. `judged`: the border is asked.
struct CarriedKind {
  std::string group, resource, kind;
  bool judged = false;
};

/// Whose log is asked for. `query` is the request's query string (PodLogOptions), with a container that is the pod's.
struct PodLogRequest {
  std::string namespace_name, pod_name, pod_uid, query;
};

/// Fetches a log on behalf of a pod (the syncer's tunnel in a tenant, the simulated kubelet in simhost). The
/// implementation answers through the sink.
using PodLogs = std::function<void(const PodLogRequest& request, std::shared_ptr<net::ResponseSink> sink)>;

/// Asks the host for its OpenAPI v3, which has the descriptions that ours lacks: for the document of a group version
/// ("apis/apps/v1"), or with "" for the hashes of those of Kubernetes' own, as a map in JSON. `done` is called once,
/// within some seconds, on any thread; at once when nobody could be asked.
using HostOpenApi = std::function<void(const std::string& path, std::function<void(Result<std::string>)> done)>;

class CallOutPlugin;             // apiserver/admission/call_out.h
class ConfiguredAuthentication;  // sublet/apiserver/configured_authentication.h
class LastWriters;               // sublet/apiserver/last_writers.h

/// Pod Security: what counts where a namespace's labels say nothing, and whom it does not concern (upstream's
/// PodSecurityConfiguration).
struct PodSecurityOptions {
  podsecurity::Policy defaults;
  std::vector<std::string> exempt_users, exempt_namespaces, exempt_runtime_classes;
};

struct ServerOptions : ClusterFacts {
  std::string version = "v1.36.3";      // /version's gitVersion
  std::string service_account_key_pem;  // signs and verifies tokens (ES256)
  std::string service_account_issuer = "https://kubernetes.default.svc.cluster.local";
  std::vector<std::pair<std::string, User>> static_tokens;  // bearer token -> user
  /// Who else says who somebody is, and where anonymous requests may go; null: nobody, and everywhere.
  std::shared_ptr<ConfiguredAuthentication> authentication;
  std::string unix_socket_user = "system:sublet:syncer";  // identity of peers on the unix socket
  std::vector<HouseRights> house_rights;
  bool bootstrap_rights = true;  // upstream's roles, bindings, flow schemas and priority levels are written at the
                                 // start; without: for tests that ask as system:masters
  PodSecurityOptions pod_security;
  BorderAdmission border;
  bool runtime_classes_of_host = false;          // pods may name only RuntimeClasses that mirrored_from_host brought
  std::vector<MirroredKind> mirrored_from_host;  // empty where no syncer writes
  /// A host gives Services their cluster IPs and node ports, and the syncer brings them by /status: none is given away
  /// here (docs/decisions/service-addresses.md). A write's answer waits so long for them.
  bool service_addresses_of_host = false;
  std::chrono::milliseconds service_address_wait{1'000};
  std::vector<CarriedKind> carried_to_host;  // empty where no syncer reads
  std::vector<std::shared_ptr<const CallOutPlugin>>
      call_outs;             // admission that asks outside, after the built-in plugins and before the webhooks
  OutboundOptions outbound;  // how webhooks are reached
  std::chrono::milliseconds request_timeout{60'000};  // for a write, with all that it asks outside
  std::int64_t seats = 600;  // of all priority levels (upstream: --max-requests-inflight and its mutating companion)
  PodLogs pod_logs;          // empty: 501 with the reason
  kube::PodConnections pod_connections;       // the same of exec, attach and port-forward
  HostOpenApi host_openapi;                   // empty: there is no host
  kube::MetricsSource metrics;                // answers metrics.k8s.io for a local APIService of it; empty: nobody does
  std::shared_ptr<LastWriters> last_writers;  // told of every commit; null: nobody asks
  std::size_t kept_items_bytes = 32u << 20;   // of protobuf lists, encoded to say their length first, in all; the rest
                                              // is encoded twice
  /// The kinds that the server begins with; Server::install_kinds() changes them.
  std::shared_ptr<const schema::Registry> kinds = schema::Registry::builtin();
};

}  // namespace sublet::apiserver
