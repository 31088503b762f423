#include "syncer/border/pod_uses.h"

#include "sublet/net/digest.h"
#include "syncer/border/identity.h"
#include "syncer/border/queue_key.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {

PodUses::PodUses(TranslateContext context) : context_(std::move(context)) {
  // What a pod uses needs no patches' effects, and none of their cost.
  context_.patched = false;
}

PodUsePtr PodUses::of(const kube::CachedObject& tenant_pod) {
  const std::size_t ephemeral_bytes = tenant_pod.raw({"spec", "ephemeralContainers"}).size();
  {
    const MutexLock lock(mutex_);
    const auto known = known_.find(tenant_pod.uid);
    if (known != known_.end() && known->second->ephemeral_bytes == ephemeral_bytes) return known->second;
  }
  PodUsePtr use = look(tenant_pod, ephemeral_bytes);
  if (!use) return std::make_shared<PodUse>();  // not kept: what is denied now may be corrected
  const MutexLock lock(mutex_);
  return known_[tenant_pod.uid] = std::move(use);
}

std::vector<std::string> PodUses::keys_in_use(const kube::CachedObject& tenant_pod) {
  const std::string phase = tenant_pod.text({"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" ? std::vector<std::string>() : of(tenant_pod)->keys;
}

void PodUses::forget(const kube::CachedObject& tenant_pod) {
  const MutexLock lock(mutex_);
  known_.erase(tenant_pod.uid);
}

PodUsePtr PodUses::look(const kube::CachedObject& tenant_pod, std::size_t ephemeral_bytes) const {
  const schema::Document pod = whole(tenant_pod, "v1", "Pod");
  auto translated = translate(context_, "Pod", pod.root(), Operation::update);
  if (!translated) return nullptr;
  auto use = std::make_shared<PodUse>();
  use->ephemeral_bytes = ephemeral_bytes;
  for (const Reference& reference : translated->references)
    use->keys.push_back(queue_key(reference.kind, tenant_pod.namespace_name, reference.tenant_name));
  use->tokens = std::move(translated->tokens);
  if (!use->tokens.empty())
    use->keys.push_back(queue_key("PodToken", tenant_pod.namespace_name, use->tokens.front().batch));
  return use;
}

std::string SettledPods::fingerprint(const kube::CachedObject& tenant_pod, const kube::CachedObject& host_pod) {
  std::string bytes;
  for (const kube::CachedObject* pod : {&tenant_pod, &host_pod}) {
    for (const std::string_view part :
         {pod->raw({"metadata", "labels"}), pod->raw({"metadata", "annotations"}), pod->raw({"spec"})})
      bytes.append(std::to_string(part.size())).append(":").append(part);
  }
  return net::sha256_hex(bytes, 32);
}

bool SettledPods::settled(const std::string& tenant_uid, const std::string& fingerprint) const {
  const MutexLock lock(mutex_);
  const auto found = fingerprints_.find(tenant_uid);
  return found != fingerprints_.end() && found->second == fingerprint;
}

void SettledPods::settle(const std::string& tenant_uid, std::string fingerprint) {
  const MutexLock lock(mutex_);
  fingerprints_[tenant_uid] = std::move(fingerprint);
}

void SettledPods::forget(const std::string& tenant_uid) {
  const MutexLock lock(mutex_);
  fingerprints_.erase(tenant_uid);
}

}  // namespace sublet::syncer
