// Feed: the one watch of a kind. It updates the kind's indexes and calls the change handlers of all controllers.
//
// Lifecycle: add indexes and handlers, then follow() once, then present() for each object of the snapshot and
// end_of_snapshot(). Feeds::start() does this for all feeds in one pass. stop() (or the destructor) ends the watch;
// afterwards no handler runs. Threads: one thread until end_of_snapshot(), which runs the handlers for existing
// objects; then the store's commit thread, in order, never two at once. find() and revision() from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/runtime/object_index.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/change.h"
#include "sublet/kube/client.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

class Feed {
 public:
  /// `on_progress` is called whenever revision() has moved, where handlers run.
  Feed(std::string prefix, std::function<void()> on_progress)
      : prefix_(std::move(prefix)), on_progress_(std::move(on_progress)) {}
  ~Feed() { stop(); }

  void add_index(By by);
  void add_handler(ChangeHandler handler) { handlers_.push_back(std::move(handler)); }
  /// Begins the watch after the returned snapshot. Changes wait until end_of_snapshot().
  store::Snapshot follow(store::Store& store);
  void present(const store::ObjectPtr& object) { handle(nullptr, object); }
  void end_of_snapshot(store::Revision revision);
  void stop() { subscription_.reset(); }

  /// Returns the revision up to which indexes and handlers have seen everything.
  store::Revision revision() const { return revision_.load(); }
  /// Returns no objects when there is no such index.
  std::vector<store::ObjectPtr> find(By by, std::string_view key) const;
  bool has_index(By by) const;

 private:
  class StoreWatcher;
  void handle(const store::ObjectPtr& before, const store::ObjectPtr& after);
  void advance(store::Revision revision);

  const std::string prefix_;
  const std::function<void()> on_progress_;
  std::vector<ChangeHandler> handlers_;  // fixed once started
  std::latch presented_{1};              // the snapshot's objects; changes come after them
  mutable Mutex mutex_;
  std::vector<ObjectIndex> indexes_ SUBLET_GUARDED_BY(mutex_);  // the set is fixed once started
  std::atomic<store::Revision> revision_{0};
  std::unique_ptr<store::Subscription> subscription_;
};

/// The feeds of all controllers, by kind. get() before start().
class Feeds {
 public:
  Feeds(store::Store& store, std::function<void()> on_progress) : store_(store), on_progress_(std::move(on_progress)) {}
  Feed& get(const kube::Resource& resource);
  /// Returns the feed of all kinds.
  Feed& of_all() { return with_prefix(""); }
  void start();
  void stop();
  store::Store& store() const { return store_; }
  /// Returns the revision up to which all feeds have seen everything.
  store::Revision revision() const;

 private:
  Feed& with_prefix(const std::string& prefix);

  store::Store& store_;
  const std::function<void()> on_progress_;
  std::map<std::string, Feed> feeds_;  // by prefix; fixed once started
};

}  // namespace sublet::controllers
