// Controllers: what keeps a virtual cluster in order from within, each a pure client of kube::Client.
//
// - namespaces: a namespace that is being deleted loses its pods, then all other content, then its finalizer
// - defaults: the `default` ServiceAccount and the `kube-root-ca.crt` ConfigMap of every namespace
// - kubernetes Service: the Service `kubernetes` with its endpoints, restored after deletion
// - events: removed an hour after they were last seen
// All share one worker thread and a few narrow informers (field selectors, so that no tenant's ConfigMaps are kept
// twice); nothing polls but the expiry of events, every few minutes.
// Lifecycle: start() over a client of a running server; stop() (or the destructor) joins the worker. `loop` must run
// until then, and is where the client's watches are delivered. Threads: start() and stop() from one thread.
#pragma once

#include <chrono>
#include <memory>

#include "sublet/apiserver/server.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"

namespace sublet::controllers {

struct ControllersOptions {
  apiserver::ServerOptions server;  // as the server has them: CA, advertised address, service network
  std::chrono::seconds event_age_max{3600};
  std::chrono::milliseconds event_sweep_interval{600'000};
};

class Controllers {
 public:
  Controllers(const kube::Client& client, net::Loop& loop, ControllersOptions options);
  ~Controllers();

  void start();
  void stop();
  /// Nothing is in line and nothing is being worked on; for tests and for a quiet start.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::controllers
