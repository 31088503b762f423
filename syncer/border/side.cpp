#include "syncer/border/side.h"

#include <utility>

namespace sublet::syncer {
namespace {

constexpr std::size_t kVainMax = 8192;

}  // namespace

bool VainPatches::contains(const std::string& host_uid, const std::string& attempt) const {
  const MutexLock lock(mutex_);
  const auto known = attempts_.find(host_uid);
  return known != attempts_.end() && known->second == attempt;
}

void VainPatches::add(const std::string& host_uid, std::string attempt) {
  const MutexLock lock(mutex_);
  if (attempts_.size() >= kVainMax) attempts_.clear();
  attempts_[host_uid] = std::move(attempt);
}

HostSide::HostSide(kube::Client host_client, kube::WorkQueue& queue, const SyncerOptions& options)
    : Side{telling(std::move(host_client), [this](bool answered) { outage.heard(answered); })},
      outage(*options.clock, queue, *options.random),
      pace(*options.clock),
      changes(*options.clock, options.host_changes_at_once, options.host_changes_per_second) {}

}  // namespace sublet::syncer
