// Controllers: the built-in controllers of a virtual cluster.
//
// - namespaces: a namespace that is being deleted loses its pods, then all other content, then its finalizer
// - defaults: the `default` ServiceAccount and the `kube-root-ca.crt` ConfigMap of every namespace
// - objects that describe the API server: the Service `kubernetes` and others, restored after deletion
// - events: removed an hour after they were last seen
// - Jobs, CronJobs, Endpoints and EndpointSlices, PodDisruptionBudgets, aggregated
//   ClusterRoles, certificate requests, tokens, clean-up of pods: as upstream's controllers, under their names
// They read through listers over the store (lister.h) and write as clients of the API (controller.h). All share one
// runtime: one watch per kind, a queue per controller, an Executor for all. At rest there is no task, no timer and no
// write. Nothing polls except for outside facts: API servers behind APIServices, and whether the host measures.
// Lifecycle: start() over a started server; stop() (or the destructor) waits for what is being reconciled. Store,
// executor, clock and the client's server must live until then. Threads: start() and stop() from one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/api_availability.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/controllers/executor.h"
#include "sublet/kube/client.h"
#include "sublet/net/tls_context.h"
#include "sublet/schema/registry.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

/// The kinds that the server has at present (Server::kinds).
using CurrentKinds = std::function<std::shared_ptr<const schema::Registry>()>;

/// Which process does the work of upstream's controller manager.
enum class ManagedBy : std::uint8_t {
  builtin,   // these controllers
  upstream,  // a kube-controller-manager; of these run those that it does not have or that must differ
  none,      // of these run those that upstream's API server has itself
};
/// "builtin", "upstream", "none". bad_request for another word.
Result<ManagedBy> managed_by(std::string_view word);

struct ControllersOptions {
  ManagedBy managed_by = ManagedBy::builtin;
  apiserver::ClusterFacts cluster;  // as the server has them
  net::KeyPair authority{};         // signs certificates; without a key none are
  /// Asked whenever a namespace is emptied, so that kinds which came at run time go with it.
  CurrentKinds kinds = schema::Registry::builtin;
  /// A client with the rights of a controller's account ("system:serviceaccount:kube-system:deployment-controller");
  /// "": the server's own identity. null: all controllers use the client of the Controllers.
  std::function<std::unique_ptr<kube::Client>(const std::string& user)> client_as = nullptr;
  /// Server::check_api_service(); null: APIServices get no condition Available.
  apiserver::ApiServiceCheck check_api_service = nullptr;
  /// Answers whether the host measures what pods and nodes use (then ServerOptions::metrics answers); null: it does
  /// not.
  apiserver::MetricsCheck check_metrics = nullptr;
  std::vector<std::string>
      carried_to_host{};  // resources whose objects a syncer carries: the host binds claims, not we
  /// The label of ResourceQuotas of kube-system that are about all namespaces; "": none is.
  std::string platform_quotas{};
  std::size_t ended_pods_max = 12'500;  // of more, the oldest are removed
  std::chrono::seconds event_age_max{3600};
  std::chrono::milliseconds event_sweep_interval{600'000};  // events are removed at most this late
};

class Controllers {
 public:
  Controllers(store::Store& store, const kube::Client& client, Executor& executor, ControllersOptions options,
              Clock& clock = Clock::system());
  ~Controllers();

  void start();
  void stop();
  /// Returns true while no key is queued or being reconciled. For tests and for a quiet start.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::controllers
