#include "controllers/runtime/feed.h"

#include <algorithm>
#include <limits>

namespace sublet::controllers {

class Feed::Ear final : public store::Watcher {
 public:
  explicit Ear(Feed& feed) : feed_(feed) {}
  void on_events(const std::vector<store::EventPtr>& events) override {
    feed_.told_.wait();
    for (const auto& event : events) {
      const bool gone = event->type == store::Event::Type::deleted;
      feed_.tell(gone && !event->previous ? event->object : event->previous, gone ? nullptr : event->object);
    }
  }
  void on_progress(store::Revision revision) override {
    feed_.told_.wait();  // a batch of other kinds has no events here, but moves revision()
    feed_.advance(revision);
  }

 private:
  Feed& feed_;
};

void Feed::add_index(By by) {
  if (has_index(by)) return;
  const MutexLock lock(mutex_);
  indexes_.emplace_back(by);
}

// What happens meanwhile waits on the commit thread for as long as it takes to go through what is there: once, at the
// start of the process. A latch, not a mutex: the commit thread waits for it with the watch's lock held, which this
// thread takes to begin the watch.
void Feed::start(store::Store& store) {
  auto [snapshot, subscription] = store.snapshot_and_watch(prefix_, std::make_shared<Ear>(*this));
  subscription_ = std::move(subscription);
  snapshot.scan(prefix_, {}, [this](const store::ObjectPtr& object) {
    tell(nullptr, object);
    return true;
  });
  advance(snapshot.revision());
  told_.count_down();
}

void Feed::tell(const store::ObjectPtr& before, const store::ObjectPtr& after) {
  {
    const MutexLock lock(mutex_);
    for (auto& index : indexes_) index.change(before, after);
  }
  for (const auto& handler : handlers_) handler({before, after});
}

void Feed::advance(store::Revision revision) {
  if (revision <= revision_.load()) return;
  revision_.store(revision);
  on_progress_();
}

std::vector<store::ObjectPtr> Feed::find(By by, std::string_view key) const {
  const MutexLock lock(mutex_);
  for (const auto& index : indexes_)
    if (index.by() == by) return index.find(key);
  return {};
}

bool Feed::has_index(By by) const {
  const MutexLock lock(mutex_);
  return std::any_of(indexes_.begin(), indexes_.end(), [by](const ObjectIndex& index) { return index.by() == by; });
}

Feed& Feeds::get(const kube::Resource& resource) { return with_prefix(key_prefix(resource)); }

Feed& Feeds::with_prefix(const std::string& prefix) {
  return feeds_.try_emplace(prefix, prefix, on_progress_).first->second;
}

void Feeds::start() {
  for (auto& [prefix, feed] : feeds_) feed.start(store_);
}

void Feeds::stop() {
  for (auto& [prefix, feed] : feeds_) feed.stop();
}

store::Revision Feeds::revision() const {
  auto least = std::numeric_limits<store::Revision>::max();
  for (const auto& [prefix, feed] : feeds_) least = std::min(least, feed.revision());
  return least;
}

}  // namespace sublet::controllers
