#include "syncer/border/pod_state.h"

namespace sublet::syncer {
namespace {

constexpr std::size_t kOwnersMax = 8192;

}  // namespace

bool PodOwners::record(const std::string& host_pod, const TenantIdentity& owner) {
  const MutexLock lock(mutex_);
  if (owners_.size() >= kOwnersMax) owners_.clear();
  TenantIdentity& known = owners_[host_pod];
  const bool is_news = known.uid != owner.uid;
  known = owner;
  return is_news;
}

std::optional<TenantIdentity> PodOwners::owner_of(const std::string& host_pod) const {
  const MutexLock lock(mutex_);
  const auto found = owners_.find(host_pod);
  if (found == owners_.end()) return std::nullopt;
  return found->second;
}

void PodOwners::add_from_before(const std::string& tenant_uid) {
  const MutexLock lock(mutex_);
  from_before_.insert(tenant_uid);
}

void PodOwners::remove_from_before(const std::string& tenant_uid) {
  const MutexLock lock(mutex_);
  from_before_.erase(tenant_uid);
}

bool PodOwners::may_have_run(const std::string& host_pod, const std::string& tenant_uid) const {
  const MutexLock lock(mutex_);
  if (from_before_.contains(tenant_uid)) return true;
  const auto known = owners_.find(host_pod);
  return known != owners_.end() && known->second.uid == tenant_uid;
}

void PodOwners::add_deleted(const std::string& tenant_uid) {
  const MutexLock lock(mutex_);
  if (deleted_.size() < kOwnersMax) deleted_.insert(tenant_uid);  // the tenant's server is asked about the others
}

void PodOwners::remove_deleted(const std::string& tenant_uid) {
  const MutexLock lock(mutex_);
  deleted_.erase(tenant_uid);
}

bool PodOwners::is_deleted(const std::string& tenant_uid) const {
  const MutexLock lock(mutex_);
  return deleted_.contains(tenant_uid);
}

}  // namespace sublet::syncer
