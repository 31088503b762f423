// Tunnel: lets a tenant's API server, which has no host credentials, ask the host through the syncer, which has no
// listening port. It carries pod logs, exec, attach and port-forward, requests to pods' own servers, calls of webhooks
// and API servers that run in pods, the host's OpenAPI documents, and resource metrics.
//
// Protocol (names in sublet/kube/tunnel_wire.h); only peers on the unix socket may use its paths:
// 1. The syncer keeps one GET open. A request of a tenant becomes a job, which answers that GET.
// 2. The syncer asks the host and posts the answer in pieces, one at a time: ?code= is the host's status code, ?end=
//    marks the last piece. Each POST is answered once the client has room (back-pressure), or with 410 when the client
//    has left. When a client leaves while no piece is on its way, the next poll is answered with the job's id as
//    closed.
// 3. When the host answers an upgrade with 101, the syncer comes back with a GET for the job and "Upgrade:
//    sublet-tunnel". The client and the syncer are then answered 101, and bytes pass between the two unread
//    (net::splice). The headers of the host's answer carry the prefix "Sublet-Host-".
//
// Errors: without a syncer, clients are answered 503 after 10 s. An answer that breaks off aborts the client's.
// Threads: any. Lifecycle: the Tunnel must outlive the handler that it wraps.
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

class Tunnel {
 public:
  explicit Tunnel(net::Loop& loop, Clock& clock = Clock::system());
  ~Tunnel();

  /// For ServerOptions::pod_logs.
  PodLogs pod_logs();
  /// For ServerOptions::pod_connections.
  kube::PodConnections pod_connections();
  /// For ServerOptions::host_openapi. Fails at once when no syncer polls, except in the first ten seconds, in which
  /// one may be starting.
  HostOpenApi host_openapi();
  /// For ServerOptions::metrics.
  kube::MetricsSource metrics();
  /// Asks whether the host has a metrics API.
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
