// HostGateway: the syncer's end of the tunnel (contract: sublet/apiserver/tunnel.h). It takes jobs from the tenant's
// API server, sends each to the host or to a tenant pod, and returns the answer.
//
// Jobs:
// - log: the log of the host pod, after the host has confirmed by uid that the pod is the tenant's. Of the query only
//   PodLogOptions are passed on.
// - call: an HTTPS request to the address that the host reports for the pod. Never to a pod on the host's network.
// - exec, attach, port-forward: the same request for the host pod, filtered by sublet/kube/pod_connect.h. After a 101
//   the two connections are spliced. Every other answer of the host, redirects too, is passed on.
// - proxy: a request to the host's pods/NAME/proxy (sublet/kube/pod_proxy.h). Links in the answer that point there are
//   rewritten for the client.
// - OpenAPI v3: the host's documents of Kubernetes' own group versions, for their descriptions.
// - metrics: the host's metrics API, for pods and nodes that `measured_pod` and `measured_node` know.
//
// Limits: at most `streams_max` jobs at a time; further ones are answered 429. A followed log holds a connection to
// each side while it is read, so the gateway needs transports of its own with as many connections. Lifecycle: start()
// sends the first poll; the destructor ends all streams. Threads: runs on the loop of the transports and never blocks.
// Construct and destroy from one thread that is not the loop's.
#pragma once

#include <memory>

#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/syncer/host_gateway_options.h"

namespace sublet::syncer {

class HostGateway {
 public:
  HostGateway(net::Loop& loop, std::shared_ptr<net::Transport> tenant, std::shared_ptr<net::Transport> host,
              HostGatewayOptions options);
  ~HostGateway();
  void start();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::syncer
