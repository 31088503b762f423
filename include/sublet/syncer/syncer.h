// Syncer: carries a virtual cluster's objects to the host and the truth about them back.
//
// Level-triggered: informers on both sides put keys on one work queue; a small pool of workers reconciles a key by
// reading both caches and writing what differs. No state of its own beyond the caches: a restart loses nothing. Host
// objects are found again by labels and by their names, which are a function of the tenant's (translate.h).
// Lifecycle: construct, start() (returns when all caches are filled), stop() (joins). The loop must outlive it and runs
// the informers. Threads: public calls from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct SyncerOptions {
  TranslateContext context;   // service_environment is filled per pod by the syncer
  std::string tenant_ca_pem;  // goes into token Secrets' consumers through kube-root-ca.crt, which the tenant owns
  int workers = 32;           // blocking calls in flight at most; bounds what a burst does to the host
  std::chrono::seconds sync_timeout{60};
  Clock* clock = &Clock::system();  // decides when tokens are due; delays of the queue are always real
};

struct SyncerStats {
  std::uint64_t host_writes = 0, tenant_writes = 0, reconciles = 0, failures = 0, denied = 0, foreign = 0;
  std::size_t queue_depth = 0;
};

class Syncer {
 public:
  Syncer(net::Loop& loop, kube::Client tenant, kube::Client host, SyncerOptions options);
  ~Syncer();

  /// Fills the caches, sweeps orphans, brings the host's RuntimeClasses to the tenant, starts the workers.
  /// service_unavailable when a side stays away.
  Outcome start();
  void stop();
  /// Nothing in line, nothing in work, and nothing delayed (a retry, a renewal) that is due within `ahead`.
  bool idle(std::chrono::milliseconds ahead = std::chrono::milliseconds(0)) const;
  /// Whether the copies are what both servers hold now (they are asked). With idle(): all that was begun has ended.
  Result<bool> caught_up() const;
  /// Puts every known object in line again: a resync that must cause no write.
  void resync();
  SyncerStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::syncer
