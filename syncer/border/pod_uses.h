// What is remembered of each tenant pod, so that a burst, which brings each pod back many times, translates it but
// once.
//
// PodUses: what each tenant pod uses on the host beside itself: ConfigMaps, Secrets, tokens.
//
// Translation's own answer, asked once per pod and not at each change of its status: what a pod uses never changes, but
// that ephemeral containers come. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/kube/informer.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct PodUse {
  std::vector<std::string> keys;  // of the queue, and of the tenant pods' index kUsesIndex
  std::vector<TokenRequest> tokens;
  std::size_t ephemeral_bytes = 0;  // of the ephemeral containers' JSON, to see that others came
};
using PodUsePtr = std::shared_ptr<const PodUse>;

inline constexpr const char* kUsesIndex = "uses";

class PodUses {
 public:
  explicit PodUses(TranslateContext context);

  /// Never null; empty for a pod that may not cross. A pod that is over is answered as if it were not.
  PodUsePtr of(const kube::CachedObject& tenant_pod);
  /// What it keeps on the host now: nothing once it is over.
  std::vector<std::string> keys_in_use(const kube::CachedObject& tenant_pod);
  /// The pod is gone.
  void forget(const kube::CachedObject& tenant_pod);

 private:
  PodUsePtr look(const kube::CachedObject& tenant_pod, std::size_t ephemeral_bytes) const;

  TranslateContext context_;
  Mutex mutex_;
  std::unordered_map<std::string, PodUsePtr> known_ SUBLET_GUARDED_BY(mutex_);  // by uid
};

/// SettledPods: pods whose host pod was found, or made, as the tenant's wants it. While neither side's labels,
/// annotations and spec have changed since, nothing needs to be translated for an answer. Thread-safe.
class SettledPods {
 public:
  /// Over all that translation reads of the tenant's pod, and all that it owns of the host's.
  static std::string fingerprint(const kube::CachedObject& tenant_pod, const kube::CachedObject& host_pod);
  bool settled(const std::string& tenant_uid, const std::string& fingerprint) const;
  void settle(const std::string& tenant_uid, std::string fingerprint);
  void forget(const std::string& tenant_uid);

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string> fingerprints_ SUBLET_GUARDED_BY(mutex_);  // by the tenant pod's uid
};

}  // namespace sublet::syncer
