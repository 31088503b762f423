// LogGateway: the syncer's end of the tunnel (contract in sublet/apiserver/tunnel.h): takes log jobs from the tenant's
// API server and answers them with the host's log of the translated pod.
//
// Lifecycle: start() parks the first poll; the destructor ends all streams. Runs on the loop that the transports use;
// never blocks. Threads: construct and destroy from one thread, not the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::syncer {

struct LogGatewayOptions {
  std::string host_namespace;
  std::string host_bearer_token;  // when the host knows us by token
  std::function<std::string(const std::string& tenant_namespace, const std::string& tenant_pod)> host_name;
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
