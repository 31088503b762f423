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

Side::Side(kube::Client side_client, Clock& clock) : Side(std::move(side_client), clock, [](const Answer&) {}) {}

Side::Side(kube::Client side_client, Clock& clock, std::function<void(const Answer&)> report)
    : contact(clock),
      client(reporting(std::move(side_client), clock, [this, report = std::move(report)](const Answer& answer) {
        contact.add(answer);
        report(answer);
      })) {}

HostSide::HostSide(kube::Client host_client, kube::WorkQueue& queue, const SyncerOptions& options)
    : Side(std::move(host_client), *options.clock,
           [this](const Answer& answer) { outage.note_answer(answer.answered); }),
      outage(*options.clock, queue, *options.random),
      pace(*options.clock),
      changes(*options.clock, options.host_changes_at_once, options.host_changes_per_second) {}

}  // namespace sublet::syncer
