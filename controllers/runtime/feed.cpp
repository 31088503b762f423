#include "controllers/runtime/feed.h"

#include <algorithm>
#include <limits>

namespace sublet::controllers {

class Feed::StoreWatcher final : public store::Watcher {
 public:
  explicit StoreWatcher(Feed& feed) : feed_(feed) {}
  void on_events(const std::vector<store::EventPtr>& events) override {
    feed_.presented_.wait();
    for (const auto& event : events) {
      const bool gone = event->type == store::Event::Type::deleted;
      feed_.handle(gone && !event->previous ? event->object : event->previous, gone ? nullptr : event->object);
    }
  }
  void on_progress(store::Revision revision) override {
    feed_.presented_.wait();  // a batch of other kinds has no events here, but moves revision()
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

// Changes wait on the commit thread until the snapshot's objects were presented: once, at the start of the process. A
// latch, not a mutex: the commit thread waits for it with the watch's lock held, which this thread takes to begin the
// watch.
store::Snapshot Feed::follow(store::Store& store) {
  auto [snapshot, subscription] = store.snapshot_and_watch(prefix_, std::make_shared<StoreWatcher>(*this));
  subscription_ = std::move(subscription);
  return std::move(snapshot);
}

void Feed::end_of_snapshot(store::Revision revision) {
  advance(revision);
  presented_.count_down();
}

void Feed::handle(const store::ObjectPtr& before, const store::ObjectPtr& after) {
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

namespace {

using ByPrefix = std::map<std::string_view, Feed*>;

// Most of the time goes into fetching each object from memory, so one pass serves all feeds.
void present_all(const store::Snapshot& snapshot, Feed& all, const ByPrefix& feeds) {
  std::string_view kind;
  Feed* of_kind = nullptr;
  snapshot.scan("", {}, [&](const store::ObjectPtr& object) {
    const std::string_view key = object->key;
    if (kind.empty() || !key.starts_with(kind)) {
      kind = key.substr(0, key.find('/') + 1);
      const auto found = feeds.find(kind);
      of_kind = kind.empty() || found == feeds.end() ? nullptr : found->second;
    }
    all.present(object);
    if (of_kind) of_kind->present(object);
    return true;
  });
}

void present(const store::Snapshot& snapshot, const ByPrefix& feeds) {
  if (const auto all = feeds.find(""); all != feeds.end()) return present_all(snapshot, *all->second, feeds);
  for (const auto& [prefix, feed] : feeds)
    snapshot.scan(prefix, {}, [one = feed](const store::ObjectPtr& object) {
      one->present(object);
      return true;
    });
}

}  // namespace

void Feeds::start() {
  struct Together {
    store::Snapshot snapshot;
    ByPrefix feeds = {};
  };
  std::map<store::Revision, Together> moments;  // one, unless a write comes in between
  for (auto& [prefix, feed] : feeds_) {
    store::Snapshot snapshot = feed.follow(store_);
    moments.try_emplace(snapshot.revision(), Together{snapshot}).first->second.feeds.emplace(prefix, &feed);
  }
  for (const auto& [revision, together] : moments) {
    present(together.snapshot, together.feeds);
    for (const auto& [prefix, feed] : together.feeds) feed->end_of_snapshot(revision);
  }
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
