// Side: one of the two API servers that the syncer works with. The host's side also has what limits and delays writes.
//
// One per Border. Threads: any; each member locks for itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "sublet/base/mutex.h"
#include "sublet/kube/client.h"
#include "sublet/syncer/syncer_options.h"
#include "syncer/border/change_pace.h"
#include "syncer/border/contact.h"
#include "syncer/border/outage.h"
#include "syncer/border/token_bucket.h"

namespace sublet::syncer {

/// Patches that changed nothing, such as those of a field that the host's release does not know. They are not sent
/// again while the host object has the same version.
class VainPatches {
 public:
  bool contains(const std::string& host_uid, const std::string& attempt) const;
  void add(const std::string& host_uid, std::string attempt);

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string> attempts_ SUBLET_GUARDED_BY(mutex_);  // by uid of the host object
};

struct Side {
  Side(kube::Client side_client, Clock& clock);

  Contact contact;  // the client reports to it
  kube::Client client;
  std::atomic<std::uint64_t> writes{0};

 protected:
  /// For a side whose other members want to hear of answers too.
  Side(kube::Client side_client, Clock& clock, std::function<void(const Answer&)> report);
};

struct HostSide : Side {
  HostSide(kube::Client host_client, kube::WorkQueue& queue, const SyncerOptions& options);

  Outage outage;
  ChangePace pace;      // of changes to one host object
  TokenBucket changes;  // of changes to all host objects
  VainPatches vain_patches;
  std::atomic<std::uint64_t> foreign_objects{0};
};

}  // namespace sublet::syncer
