// Follower: a Watcher's position in the history. The commit thread moves it forward.
//
// Ends with its destruction, also from within a call; may outlive the store.
#pragma once

#include <memory>
#include <string>

#include "sublet/base/mutex.h"
#include "sublet/store/store.h"

namespace sublet::store {

class Follower final : public Subscription {
 public:
  Follower(Store& store, std::string_view prefix, std::shared_ptr<Watcher> watcher);
  ~Follower() override;
  /// Delivers the events after `from`, then new ones as they come.
  Outcome follow(Revision from);
  /// Returns a snapshot and delivers the events after it.
  Snapshot follow_snapshot();

 private:
  struct Place {
    Store& store;
    const std::string prefix;
    RecursiveMutex mutex;  // recursive, because a watcher may end itself while it is being called
    Revision at SUBLET_GUARDED_BY(mutex) = 0;
    std::shared_ptr<Watcher> watcher SUBLET_GUARDED_BY(mutex);  // null: ended
  };
  static Outcome read(Place& place) SUBLET_REQUIRES(place.mutex);
  void listen();

  const std::shared_ptr<Place> place_;
  std::unique_ptr<Subscription> listening_;
};

}  // namespace sublet::store
