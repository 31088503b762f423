#include "syncer/border/contact.h"

#include <utility>

namespace sublet::syncer {

void Contact::add(const Answer& answer) {
  const MutexLock lock(mutex_);
  health_.code = answer.answered ? answer.code : 0;
  if (!answer.answered)
    return set_failure(answer.code ? "it answers with HTTP status " + std::to_string(answer.code) : answer.cause);
  health_.answered = clock_.now();
  health_.latency = answer.latency;
  answered_at_ = clock_.steady_now();
  if (answer.code == 401) return set_failure("it answers 401 Unauthorized");
  health_.failing_since.reset();
  health_.cause.clear();
}

void Contact::add_silence(std::string cause) {
  const MutexLock lock(mutex_);
  health_.code = 0;
  set_failure(std::move(cause));
}

void Contact::set_failure(std::string cause) {
  if (!health_.failing_since) health_.failing_since = clock_.now();
  health_.cause = std::move(cause);
}

SideHealth Contact::health() const {
  const MutexLock lock(mutex_);
  return health_;
}

std::optional<SteadyTime> Contact::answered_at() const {
  const MutexLock lock(mutex_);
  return answered_at_;
}

}  // namespace sublet::syncer
