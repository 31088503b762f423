// Tunnel: how a tenant's API server, which has no host credentials, gets a pod's log from the syncer, which has no
// listening port; and how it calls a pod that stands behind a Service (a webhook's), whose address only the syncer can
// be sure of.
//
// The syncer keeps one GET /sublet.dev/v1/tunnel parked on the unix socket. A log request of a tenant becomes a job:
// the parked GET is answered by {"id","namespace","pod","uid","query"}. The syncer fetches the host's log and sends it
// as POST /sublet.dev/v1/tunnel/<id>?code=200 with pieces of the body, one at a time, and ?end=1 with the last; each
// POST is answered when the piece was taken (back-pressure), or by 410 when the tenant's client has gone. When it goes
// while no piece is on its way, the next answer to a poll is {"closed":[id, ...]}, of all that went meanwhile. Only
// peers on the unix socket may use these paths.
// A call has a member more in its job: "call":{"port","serverName","ca","method","target","headers","body","timeout"},
// time in milliseconds, the body in base64; with "anyCertificate", or "certificate" and "key" to show, for an API
// server of the tenant's. The syncer makes it an HTTPS request to the address that the host has given the tenant's pod,
// and brings the answer as it brings a log; with "relayed":true as it comes, its headers as those of a proxied request.
// Where there is none, the piece says why, with the content type application/vnd.sublet.call-failed. exec, attach and
// port-forward have another member: "connect":{"subresource","method","user","requestId","headers"}. The syncer asks
// the host for the upgrade; when the host answers 101, it comes back with GET /sublet.dev/v1/tunnel/<id>, Upgrade:
// sublet-tunnel, and the host's headers, each name behind "Sublet-Host-". Both, the client and the syncer, are then
// answered 101, and bytes go between the two unread (net::splice) until one of them leaves. Any other answer of the
// host comes in pieces as a log does. A request to a pod's own HTTP server goes the same way: "connect" has a member
// "proxy":{"scheme","port","path","prefix","body"} more, the body in base64, and the first piece bears the pod's
// headers behind "Sublet-Host-"; links in them and in HTML begin with the prefix already. A job
// {"id","openapi":"apis/apps/v1"} asks for the host's OpenAPI v3 document of that group version, {"id","openapi":""}
// for the hashes of those that are Kubernetes' own, {"apis/apps/v1":"HASH"}. A question of what pods and nodes use has
// no pod, but a member "metrics" (sublet/kube/resource_metrics.h); its answer comes as a log does, in the tenant's
// words. Threads: any. The Tunnel must outlive the handler that it wraps.
#pragma once

#include <memory>
#include <string>

#include "sublet/apiserver/api_availability.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/kube/pod_connect.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::apiserver {

inline constexpr std::string_view kTunnelProtocol = "sublet-tunnel";  // Upgrade
inline constexpr std::string_view kTunnelHostHeader = "Sublet-Host-";

class Tunnel {
 public:
  explicit Tunnel(net::Loop& loop, Clock& clock = Clock::system());
  ~Tunnel();

  /// For ServerOptions::pod_logs.
  PodLogs pod_logs();
  /// For ServerOptions::pod_connections.
  kube::PodConnections pod_connections();
  /// For ServerOptions::host_openapi. Without a syncer that asks for jobs the answer is "no" at once, but in the first
  /// ten seconds, in which one may be on its way.
  HostOpenApi host_openapi();
  /// For ServerOptions::metrics.
  kube::MetricsSource metrics();
  /// Whether the host has a metrics API.
  MetricsCheck metrics_check();
  /// For OutboundOptions::services.
  ServiceCaller service_calls();
  /// For OutboundOptions::relay.
  ServiceRelay service_relay();
  /// Serves the tunnel's own paths and passes everything else on.
  net::Handler wrap(net::Handler inner);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
