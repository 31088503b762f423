// Events live for an hour after they were last seen. A new event only schedules a sweep: then all are
// looked through, the old ones removed, and the next look set to when the first of the rest is due, if there is any.

#include <algorithm>
#include <atomic>
#include <optional>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kEventSweep = "sweep";

WallTime last_seen(const store::Object& event) {
  auto latest = WallTime::min();
  for (auto raw : {raw_of(event, {"lastTimestamp"}), raw_of(event, {"eventTime"}),
                   raw_of(event, {"series", "lastObservedTime"}), raw_of(event, {"metadata", "creationTimestamp"})})
    if (auto time = parse_time(kube::json_unquote(raw))) latest = std::max(latest, *time);
  return latest;
}

class EventController final : public Controller {
 public:
  explicit EventController(Context& context) : context_(context), events_(context.lister(kEvents)) {}

  void start() override {
    context_.on_change(kEvents, [this](const Change& change) {
      if (change.after) look_after(context_.options().event_sweep_interval);
    });
  }

  Outcome reconcile(const std::string&) override {
    waiting_ = false;
    const auto too_old = context_.clock().now() - context_.options().event_age_max;
    std::optional<WallTime> oldest;
    for (const auto& event : events_.list()) {
      const auto seen = last_seen(*event);
      if (seen > too_old)
        oldest = std::min(oldest.value_or(seen), seen);
      else if (auto outcome = remove(*event); !outcome)
        return outcome;
    }
    if (oldest) look_after(std::chrono::ceil<std::chrono::milliseconds>(*oldest - too_old));
    return {};
  }

 private:
  /// One look is enough: what comes while it is waited for is younger than what it waits for.
  void look_after(std::chrono::milliseconds delay) {
    if (waiting_.exchange(true)) return;
    context_.enqueue_after(std::string(kEventSweep), std::max(delay, context_.options().event_sweep_interval));
  }

  Outcome remove(const store::Object& event) {
    kube::DeleteOptions options;
    options.resource_version = std::to_string(event.revision);
    // Seen again in the meantime, or gone already.
    return settled(context_.client().remove(kEvents, namespace_of(event), name_of(event), options),
                   {Reason::conflict, Reason::not_found});
  }

  Context& context_;
  const Lister events_;
  std::atomic<bool> waiting_{false};  // a look is in line
};

}  // namespace

std::unique_ptr<Controller> make_event_controller(Context& context) {
  return std::make_unique<EventController>(context);
}

}  // namespace sublet::controllers
