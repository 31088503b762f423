#include "store/watch_hub.h"

#include <algorithm>

namespace sublet::store {
namespace {

class HubSubscription final : public Subscription {
 public:
  HubSubscription(std::shared_ptr<WatchEntry> entry, std::shared_ptr<std::atomic<std::size_t>> live)
      : entry_(std::move(entry)), live_(std::move(live)) {}
  ~HubSubscription() override {
    std::shared_ptr<Watcher> ended;  // destroyed after the lock: its destructor may do anything
    {
      const std::lock_guard lock(entry_->mutex);
      ended = std::move(entry_->watcher);
      entry_->ended = true;
    }
    live_->fetch_sub(1);
  }

 private:
  std::shared_ptr<WatchEntry> entry_;
  std::shared_ptr<std::atomic<std::size_t>> live_;
};

/// The events under the prefix; `buffer` holds them unless all are.
const std::vector<EventPtr>& matching(const std::vector<EventPtr>& events, std::string_view prefix,
                                      std::vector<EventPtr>& buffer) {
  const auto matches = [&](const EventPtr& event) { return std::string_view(event->object->key).starts_with(prefix); };
  if (std::all_of(events.begin(), events.end(), matches)) return events;
  std::copy_if(events.begin(), events.end(), std::back_inserter(buffer), matches);
  return buffer;
}

}  // namespace

void WatchEntry::deliver(const std::vector<EventPtr>& events, Revision progress) {
  const std::shared_ptr<Watcher> alive = watcher;  // it may end itself while it is being called
  if (!alive) return;
  if (!events.empty()) alive->on_events(events);
  if (watcher) alive->on_progress(progress);
}

std::unique_ptr<Subscription> WatchHub::subscription(std::shared_ptr<WatchEntry> entry) {
  live_->fetch_add(1);
  return std::make_unique<HubSubscription>(std::move(entry), live_);
}

void WatchHub::join(std::shared_ptr<WatchEntry> entry) {
  // Watches that come and go while nothing is written would otherwise pile up here.
  if (joining_.size() >= 64 && joining_.size() > 2 * watchers())
    std::erase_if(joining_, [](const std::shared_ptr<WatchEntry>& waiting) { return waiting->ended.load(); });
  joining_.push_back(std::move(entry));
}

void WatchHub::admit() {
  for (auto& entry : joining_) groups_[entry->prefix].push_back(std::move(entry));
  joining_.clear();
}

void WatchHub::deliver(const std::vector<EventPtr>& events, Revision revision) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    std::vector<EventPtr> buffer;
    const std::vector<EventPtr>& relevant = matching(events, group->first, buffer);
    std::erase_if(group->second, [&](const std::shared_ptr<WatchEntry>& entry) {
      const std::lock_guard lock(entry->mutex);
      entry->deliver(relevant, revision);
      return entry->watcher == nullptr;
    });
    group = group->second.empty() ? groups_.erase(group) : std::next(group);
  }
}

}  // namespace sublet::store
