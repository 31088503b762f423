// PodState: what the syncer remembers of pods beside the informers' copies. All of it can be lost: a restarted syncer
// reads it from both servers again.
//
// Threads: any; each member locks for itself.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sublet/base/mutex.h"
#include "syncer/border/awaited_claims.h"
#include "syncer/border/identity.h"
#include "syncer/border/pod_uses.h"

namespace sublet::syncer {

/// The tenant pods that host pods belong to, and the tenant pods that may have a host pod which no copy shows.
class PodOwners {
 public:
  /// Records the owner of a host pod. Returns true if the recorded owner changed.
  bool record(const std::string& host_pod, const TenantIdentity& owner);
  /// Returns the recorded owner. It is kept beyond the end of the host pod, whose last events arrive after it.
  std::optional<TenantIdentity> owner_of(const std::string& host_pod) const;

  /// Records a tenant pod without a node that may have run: an earlier syncer may have made its host pod.
  void add_from_before(const std::string& tenant_uid);
  void remove_from_before(const std::string& tenant_uid);
  /// Returns true if that tenant pod may have had a host pod, made by this syncer or by an earlier one.
  bool may_have_run(const std::string& host_pod, const std::string& tenant_uid) const;

  /// Records that the tenant's server has reported the deletion of a pod whose host pod exists.
  void add_deleted(const std::string& tenant_uid);
  void remove_deleted(const std::string& tenant_uid);
  bool is_deleted(const std::string& tenant_uid) const;

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, TenantIdentity> owners_ SUBLET_GUARDED_BY(mutex_);  // by name of the host pod
  std::unordered_set<std::string> from_before_ SUBLET_GUARDED_BY(mutex_);             // uids of tenant pods
  std::unordered_set<std::string> deleted_ SUBLET_GUARDED_BY(mutex_);                 // uids of tenant pods
};

struct PodState {
  explicit PodState(const TranslateContext& context) : uses(context) {}

  PodUses uses;
  SettledPods settled;
  AwaitedClaims awaited_claims;
  PodOwners owners;
};

}  // namespace sublet::syncer
