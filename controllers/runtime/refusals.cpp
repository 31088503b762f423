#include "controllers/runtime/refusals.h"

#include "controllers/runtime/calls.h"
#include "sublet/base/log.h"
#include "sublet/controllers/stored_object.h"

namespace sublet::controllers {

bool is_refusal(const Status& status) {
  return (status.is(Reason::forbidden) || status.is(Reason::invalid)) && !is_namespace_ending(status);
}

bool Refusals::is_new(const std::string& key, const Outcome& outcome) {
  const MutexLock lock(mutex_);
  if (outcome || !is_refusal(outcome.error())) {
    if (!reported_.empty()) reported_.erase(key);
    return false;
  }
  std::string& last = reported_[key];
  if (last == outcome.error().message) return false;
  last = outcome.error().message;
  return true;
}

void Refusals::report(const std::string& key, const Outcome& outcome, bool warned) {
  if (!is_new(key, outcome)) return;
  const std::string& message = outcome.error().message;
  log::warning("controller.write_refused", {{"controller", controller_}, {"key", key}, {"error", message}});
  if (warned || reconciled_.kind.empty()) return;
  if (const auto object = store_.snapshot().get(key_prefix(reconciled_.resource) + key))
    events_.warning(ref_of(reconciled_, *object), "WriteRefused", message);
}

}  // namespace sublet::controllers
