// SyncerOptions: what a Syncer is started with.
//
// Plain data; `clock` and `random` must outlive the syncer.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct SyncerOptions {
  /// The syncer fills in service_environment for each pod. The caller fills in served_kinds (custom_kinds.h).
  TranslateContext context;
  std::string tenant_ca_pem;  // for consumers of token Secrets, through kube-root-ca.crt, which the tenant owns
  std::chrono::seconds sync_timeout{60};
  // Limit of changes to existing host objects: a burst, then a rate. Creations and deletions are not limited. An object
  // that changes often is written later, in its latest form.
  int host_changes_at_once = 1000, host_changes_per_second = 20;
  /// Called, from any thread and perhaps several times, when the host serves a custom resource in another way than when
  /// the syncer started: the syncer must be restarted.
  std::function<void()> kinds_changed{};
  /// Where to write the health record (health.h) from begin() to stop(); "": nowhere, and the host is not probed.
  std::string health_path{};
  Clock* clock = &Clock::system();     // now(): when tokens are due; steady_now(): delays in the queue
  Random* random = &Random::system();  // jitter of retries
};

}  // namespace sublet::syncer
