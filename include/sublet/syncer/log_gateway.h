// LogGateway: the syncer's end of the tunnel (contract in sublet/apiserver/tunnel.h): takes log jobs from the tenant's
// API server and answers them with the host's log of the translated pod, once the host has said that this pod is the
// tenant's (its uid): another's object may have its name. Of the query only PodLogOptions cross. A job that is a call
// becomes an HTTPS request to that pod's own address, which the host says; never to a pod on the host's network.
// exec, attach and port-forward become the same request of the host's pod, with what sublet/kube/pod_connect.h
// lets through; when the host answers 101, its connection and one to the tenant are spliced. Anything else that it
// says, redirects too, is its answer. A request to a pod's own HTTP server becomes one to the host's pods/NAME/proxy of
// that pod (sublet/kube/pod_proxy.h); where the answer links to that place, the client reads of its own. Of the host's
// OpenAPI v3 the documents of Kubernetes' own group versions are passed on, for their descriptions. What pods and nodes
// use is asked of the host's metrics API, and said of those that `measured_pod` and `measured_node` know.
//
// At most `streams_max` of them are carried at a time; further ones are answered 429. A log that is followed holds a
// connection to each side for as long as somebody reads it, so the transports are to be the gateway's own, with as many
// connections: what syncs must not wait for them.
//
// Lifecycle: start() parks the first poll; the destructor ends all streams. Runs on the loop that the transports use;
// never blocks. Threads: construct and destroy from one thread, not the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sublet/net/address_rules.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {

inline constexpr std::size_t kLogStreamsMax = 256;

/// A pod of the tenant's that runs on the host.
struct MeasuredPod {
  std::string namespace_name, name;
  schema::Document labels;
  std::vector<std::string> containers;  // that the tenant knows
};

/// A node that the tenant has.
struct MeasuredNode {
  std::string name;
  schema::Document labels;
};

class NodeNames;

struct LogGatewayOptions {
  std::string virtual_cluster_uid;  // which our host objects bear
  std::string host_namespace;
  std::string host_bearer_token;  // when the host knows us by token
  std::function<std::string(const std::string& tenant_namespace, const std::string& tenant_pod)> host_name;
  std::size_t streams_max = kLogStreamsMax;
  net::AddressRules call_rules = {};  // where pods' addresses may lie
  /// Whose pod has this name in the host namespace, and the node of this name: as the tenant has them;
  /// nullopt: it has none. Syncer::measured_pod() and measured_node().
  std::function<std::optional<MeasuredPod>(const std::string& host_pod)> measured_pod = nullptr;
  std::function<std::optional<MeasuredNode>(const std::string& host_node)> measured_node = nullptr;
  /// Null: nodes are called as on the host, and nothing of a session is read (docs/decisions/sessions-as-bytes.md).
  std::shared_ptr<const NodeNames> node_names = nullptr;
};

class LogGateway {
 public:
  LogGateway(net::Loop& loop, std::shared_ptr<net::Transport> tenant, std::shared_ptr<net::Transport> host,
             LogGatewayOptions options);
  ~LogGateway();
  void start();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::syncer
