// Listeners: the functions that are called after each committed batch.
//
// A call only says that there is something to read. A watch reads its events from the history at its own pace, so no
// event can be lost or repeated here. notify() holds no lock but the listener's own, which the Subscription's
// destructor takes too: after it nothing is called.
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
  std::unique_ptr<Subscription> add(std::function<void()> committed);
  /// Commit thread, no lock held.
  void notify();

 private:
  /// Recursive, because a listener may end its own Subscription while it is being called.
  struct Listener {
    explicit Listener(std::function<void()> committed)
        : function(std::make_shared<const std::function<void()>>(std::move(committed))) {}
    RecursiveMutex mutex;
    std::shared_ptr<const std::function<void()>> function SUBLET_GUARDED_BY(mutex);  // null: ended
  };
  class Ending;

  Mutex mutex_;
  std::vector<std::weak_ptr<Listener>> all_ SUBLET_GUARDED_BY(mutex_);  // the subscriptions own them
};

}  // namespace sublet::store
