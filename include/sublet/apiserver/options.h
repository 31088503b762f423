// ServerOptions: configuration of a server: its callers' identities, its hooks, its addresses. Values; copied into the
// server at construction and constant afterwards.
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

/// The authenticated user of a request.
struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

/// Rights of a user of sublet's own (the syncer), which objects of the tenant neither grant nor revoke: the rules of a
/// ClusterRole, as JSON (`[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`).
struct ComponentRights {
  std::string user, rules;
};

/// Result of the border's admission of an object.
struct AdmissionVerdict {
  std::vector<Cause> denials;  // not empty: 403 with these reasons
  std::vector<std::string> warnings;
};
/// The border's admission (syncer/translate), which subletd plugs into a tenant's server. Called on loops with the
/// conformed, defaulted object, and its state before an update (missing for a create); pure.
using BorderAdmission =
    std::function<AdmissionVerdict(std::string_view kind, const schema::Value& object, const schema::Value& old)>;

/// A kind whose objects a syncer brings from a host. Only the syncer (ServerOptions::unix_socket_user) may write
/// objects with the label, or set the label; the kind's other objects are the tenant's.
struct MirroredKind {
  std::string group, resource;  // of the storage form
  std::string label;
  std::string next_step;  // what a refused user can do instead
};

/// A kind whose objects a syncer carries to a host, where they take effect. `judged`: the border admits them.
struct CarriedKind {
  std::string group, resource, kind;
  bool judged = false;
};

/// A request for a pod's log. `query`: validated PodLogOptions, with a container of the pod.
struct PodLogRequest {
  std::string namespace_name, pod_name, pod_uid, query;
};

/// Fetches a pod's log (the syncer's tunnel in a tenant, the simulated kubelet in simhost). Answers through the sink.
using PodLogs = std::function<void(const PodLogRequest& request, std::shared_ptr<net::ResponseSink> sink)>;

/// Fetches the host's OpenAPI v3, which has the descriptions that ours lacks: the document of a group version
/// ("apis/apps/v1"), or with "" the hashes of Kubernetes' own documents, as a map in JSON. Calls `done` once, within
/// some seconds, on any thread; at once when no host is connected.
using HostOpenApi = std::function<void(const std::string& path, std::function<void(Result<std::string>)> done)>;

class CallOutPlugin;             // apiserver/admission/call_out.h
class ConfiguredAuthentication;  // sublet/apiserver/configured_authentication.h
class LastWriters;               // sublet/apiserver/last_writers.h

/// Pod Security: defaults of namespaces without labels, and exemptions (upstream's PodSecurityConfiguration).
struct PodSecurityOptions {
  podsecurity::Policy defaults;
  std::vector<std::string> exempt_users, exempt_namespaces, exempt_runtime_classes;
};

struct ServerOptions : ClusterFacts {
  std::string version = "v1.36.3";      // /version's gitVersion
  std::string service_account_key_pem;  // signs and verifies tokens (ES256)
  std::string service_account_issuer = "https://kubernetes.default.svc.cluster.local";
  std::vector<std::pair<std::string, User>> static_tokens;  // bearer token -> user
  /// Further issuers of tokens, and the paths that accept anonymous requests; null: none, and all paths.
  std::shared_ptr<ConfiguredAuthentication> authentication;
  std::string unix_socket_user = "system:sublet:syncer";  // identity of peers on the unix socket
  std::vector<ComponentRights> component_rights;
  bool bootstrap_rights = true;  // start() writes upstream's roles, bindings, flow schemas and priority levels; false
                                 // for tests, which call as system:masters
  PodSecurityOptions pod_security;
  BorderAdmission border;
  bool runtime_classes_of_host = false;          // pods may name only RuntimeClasses that mirrored_from_host brought
  std::vector<MirroredKind> mirrored_from_host;  // empty where no syncer writes
  /// The host allocates the cluster IPs and node ports of Services, and the syncer brings them by /status; this server
  /// allocates none (docs/decisions/service-addresses.md). The answer to a write waits up to service_address_wait.
  bool service_addresses_of_host = false;
  std::chrono::milliseconds service_address_wait{1'000};
  std::vector<CarriedKind> carried_to_host;  // empty where no syncer reads
  std::vector<std::shared_ptr<const CallOutPlugin>>
      call_outs;             // admission that calls out, after the built-in plugins and before the webhooks
  OutboundOptions outbound;  // how webhooks are reached
  std::chrono::milliseconds request_timeout{60'000};  // for a write, with its calls outside
  std::int64_t seats = 600;  // of all priority levels (upstream: --max-requests-inflight and its mutating companion)
  PodLogs pod_logs;          // empty: 501 with the reason
  kube::PodConnections pod_connections;       // exec, attach and port-forward; empty: 501
  HostOpenApi host_openapi;                   // empty: there is no host
  kube::MetricsSource metrics;                // serves metrics.k8s.io for a local APIService; empty: not served
  std::shared_ptr<LastWriters> last_writers;  // notified of every commit; null: not needed
  std::size_t kept_items_bytes = 32u << 20;   // budget of encoded items of protobuf lists, whose length comes first;
                                              // beyond it items are encoded twice
  /// The kinds that the server begins with; Server::install_kinds() changes them.
  std::shared_ptr<const schema::Registry> kinds = schema::Registry::builtin();
};

}  // namespace sublet::apiserver
