// Feed: the one watch of a kind, from which its indexes and all controllers that it concerns are told.
//
// Lifecycle: indexes and handlers are added, then follow(), once; of what was there then, whoever called it tells the
// feed each object and its end (Feeds::start() does, for all of them in one pass). stop() (or the destructor) ends
// that: afterwards no handler runs. Threads: add and start from one thread; handlers run on that thread for what is
// there, then on the store's commit thread, in order, never two at once. find() and revision() from any thread.
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
#include "sublet/controllers/controller.h"
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
  /// From now on what happens is told, behind what is in this snapshot: present() of each object, then told().
  store::Snapshot follow(store::Store& store);
  void present(const store::ObjectPtr& object) { tell(nullptr, object); }
  void told(store::Revision revision);
  void stop() { subscription_.reset(); }

  /// Indexes and handlers have seen everything up to here.
  store::Revision revision() const { return revision_.load(); }
  /// Empty also when there is no such index.
  std::vector<store::ObjectPtr> find(By by, std::string_view key) const;
  bool has_index(By by) const;

 private:
  class Ear;
  void tell(const store::ObjectPtr& before, const store::ObjectPtr& after);
  void advance(store::Revision revision);

  const std::string prefix_;
  const std::function<void()> on_progress_;
  std::vector<ChangeHandler> handlers_;  // fixed once started
  std::latch told_{1};                   // what is there; what happens comes after it
  mutable Mutex mutex_;
  std::vector<ObjectIndex> indexes_ SUBLET_GUARDED_BY(mutex_);  // which ones is fixed once started guarded by mutex_
  std::atomic<store::Revision> revision_{0};
  std::unique_ptr<store::Subscription> subscription_;
};

/// The feeds of all controllers, by kind. get() before start().
class Feeds {
 public:
  Feeds(store::Store& store, std::function<void()> on_progress) : store_(store), on_progress_(std::move(on_progress)) {}
  Feed& get(const kube::Resource& resource);
  /// One of all kinds, whatever they are.
  Feed& of_all() { return with_prefix(""); }
  void start();
  void stop();
  store::Store& store() const { return store_; }
  /// All feeds have seen everything up to here.
  store::Revision revision() const;

 private:
  Feed& with_prefix(const std::string& prefix);

  store::Store& store_;
  const std::function<void()> on_progress_;
  std::map<std::string, Feed> feeds_;  // by prefix; fixed once started
};

}  // namespace sublet::controllers
