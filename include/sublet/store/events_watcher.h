// EventsWatcher: a Watcher that passes the events to a function and ignores progress. Threads: as Watcher.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sublet/store/watcher.h"

namespace sublet::store {

class EventsWatcher final : public Watcher {
 public:
  using Take = std::function<void(const std::vector<EventPtr>& events)>;
  explicit EventsWatcher(Take take) : take_(std::move(take)) {}
  void on_events(const std::vector<EventPtr>& events) override { take_(events); }
  void on_progress(Revision) override {}

 private:
  const Take take_;
};

/// The objects that `take` uses must outlive the Subscription.
inline std::shared_ptr<Watcher> watch_events(EventsWatcher::Take take) {
  return std::make_shared<EventsWatcher>(std::move(take));
}

}  // namespace sublet::store
