// Events live for an hour after they were last seen. They come in numbers and nobody watches them go, so instead of
// keeping a copy of them all, they are looked through page by page every few minutes.

#include <algorithm>

#include "controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kName = "events";
constexpr int kPage = 100;
const kube::Resource kEvents{"", "v1", "events"};

WallTime last_seen(const Value& event) {
  auto latest = WallTime::min();
  for (auto text : {event["lastTimestamp"].text(), event["eventTime"].text(),
                    event["series"]["lastObservedTime"].text(), event["metadata"]["creationTimestamp"].text()})
    if (auto time = parse_time(text)) latest = std::max(latest, *time);
  return latest;
}

class EventController final : public Controller {
 public:
  explicit EventController(const Hub& hub) : hub_(hub) {}

  std::string_view name() const override { return kName; }

  void start() override { again(); }

  Outcome reconcile(const std::string&) override {
    again();
    kube::ListOptions options;
    options.limit = kPage;
    do {
      auto page = hub_.client.list(kEvents, "", options);
      if (!page) return fail(page.error());
      for (auto event : (*page)["items"])
        if (auto outcome = expire(event); !outcome) return outcome;
      options.continue_token = (*page)["metadata"]["continue"].string();
    } while (!options.continue_token.empty());
    return {};
  }

 private:
  void again() { hub_.enqueue_after(kName, "sweep", hub_.options.event_sweep_interval); }

  Outcome expire(const Value& event) {
    if (last_seen(event) + hub_.options.event_age_max > hub_.clock.now()) return {};
    auto metadata = event["metadata"];
    kube::DeleteOptions options;
    options.resource_version = metadata["resourceVersion"].string();
    auto removed = hub_.client.remove(kEvents, metadata["namespace"].text(), metadata["name"].text(), options);
    // Seen again in the meantime, or gone already.
    if (removed || removed.error().is(Reason::conflict) || removed.error().is(Reason::not_found)) return {};
    return fail(removed.error());
  }

  const Hub& hub_;
};

}  // namespace

std::unique_ptr<Controller> make_event_controller(const Hub& hub) { return std::make_unique<EventController>(hub); }

}  // namespace sublet::controllers
