// Server: one virtual cluster's Kubernetes API (also the embedded host's), as a net::Handler over a Store.
//
// A request runs on its connection's loop: filters over one RequestContext (apiserver/filters/pipeline.cpp has their
// order), then a verb. A write passes through its phases (apiserver/verbs/phases.h) and is answered when it is durable.
// In-process callers (controllers, simhost) use make_in_process_transport(handler(), identity).
// Lifecycle: construct over an open Store; start() writes the objects that must exist; stop() ends watches cleanly.
// Threads: the handler and install_kinds() from any.
#pragma once

#include <memory>

#include "sublet/apiserver/api_availability.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class Server {
 public:
  Server(store::Store& store, net::Loop& loop, ServerOptions options, Clock& clock = Clock::system(),
         Random& random = Random::system());
  ~Server();

  /// Creates the objects that every cluster has. Idempotent.
  Outcome start();
  net::Handler handler();
  /// The kinds that the next request uses.
  std::shared_ptr<const schema::Registry> kinds() const;
  /// Serves these kinds from the next request on; running requests and watches keep the kinds that they began with.
  /// Objects of kinds that are gone stay stored. Any thread.
  void install_kinds(std::shared_ptr<const schema::Registry> kinds);
  /// For controllers; the server must outlive the returned function.
  ApiServiceCheck check_api_service();
  /// Turns /readyz to 500 and ends watches cleanly.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
