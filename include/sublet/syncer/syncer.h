// Syncer: carries a virtual cluster's objects to the host and the truth about them back.
//
// Level-triggered: informers on both sides put keys on one work queue; a small pool of workers reconciles a key by
// reading both caches and writing what differs. No state of its own beyond the caches: a restart loses nothing. Host
// objects are found again by labels and by their names, which are a function of the tenant's (translate.h).
// Time and order are given from outside: the strand runs the informers, the executor the reconcilers, the clock says
// what time it is to both, and chance is the caller's too: whoever gives a SteppedStrand, a SteppedExecutor, a
// ManualClock and a SeededRandom owns all of them (tests/simulation/).
// Lifecycle: construct, start() (returns when all caches are filled) or, step by step, begin(), until synced(),
// serve(); then stop() (joins). What is given must outlive it. Threads: public calls from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/base/strand.h"
#include "sublet/kube/client.h"
#include "sublet/syncer/executor.h"
#include "sublet/syncer/health.h"
#include "sublet/syncer/host_gateway_options.h"
#include "sublet/syncer/syncer_options.h"

namespace sublet::syncer {

struct SyncerStats {
  std::uint64_t host_writes = 0, tenant_writes = 0, reconciles = 0, failures = 0, denied = 0, foreign = 0;
  std::size_t queue_depth = 0;
};

class Syncer {
 public:
  Syncer(Strand& informers, Executor& executor, kube::Client tenant, kube::Client host, SyncerOptions options);
  ~Syncer();

  /// Fills the caches, brings the host's RuntimeClasses to the tenant, starts the executor. service_unavailable when a
  /// side stays away.
  Outcome start();
  /// start() in its parts, for a caller who steps the strand and must not be waited for: begin() starts the copies ...
  void begin();
  /// ... and once all of them are filled ...
  bool synced() const;
  /// ... serve() does what comes before all others, on the caller's thread, and starts the executor.
  void serve();
  /// Any number of times, from any thread: each call returns when nothing runs any more.
  void stop();
  /// Nothing in line, nothing in work, and nothing delayed (a retry, a renewal) that is due within `ahead`.
  bool idle(std::chrono::milliseconds ahead = std::chrono::milliseconds(0)) const;
  /// Whether the copies are what both servers hold now (they are asked). With idle(): all that was begun has ended.
  Result<bool> caught_up() const;
  /// Puts every known object in line again: a resync that must cause no write.
  void resync();
  SyncerStats stats() const;
  /// What works at present, without `at`, `since` and `pid`.
  Health health() const;
  /// For HostGatewayOptions: as both copies know it, by the uids that they give the pod; only nodes that the tenant
  /// has.
  std::optional<MeasuredPod> measured_pod(const std::string& host_pod) const;
  std::optional<MeasuredNode> measured_node(const std::string& host_node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::syncer
