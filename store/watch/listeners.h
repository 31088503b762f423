// Listeners: who is told that a batch was committed.
//
// Told is only that there is something to read: what a watch gets it reads from the history, at its own pace, so
// nothing here can be lost or said twice. tell() holds no lock but the listener's own, which its end (the
// Subscription's destructor) takes too: after that nothing is called.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/store/watcher.h"

namespace sublet::store {

class Listeners {
 public:
  /// Any thread. The Subscription may outlive this and the store.
  std::unique_ptr<Subscription> add(std::function<void()> told);
  /// Commit thread, no lock held.
  void tell();

 private:
  /// Recursive, because a listener may end its own Subscription while it is being called.
  struct Listener {
    explicit Listener(std::function<void()> told_)
        : told(std::make_shared<const std::function<void()>>(std::move(told_))) {}
    RecursiveMutex mutex;
    std::shared_ptr<const std::function<void()>> told SUBLET_GUARDED_BY(mutex);  // null: ended
  };
  class Ending;

  Mutex mutex_;
  std::vector<std::weak_ptr<Listener>> all_ SUBLET_GUARDED_BY(mutex_);  // the subscriptions own them
};

}  // namespace sublet::store
