// WatchHub: who watches which prefix, and the delivery of batches to them.
//
// A watch joins under the store's state lock, in the moment when its history ends, and the commit thread takes joined
// watches in under the same lock when it publishes a batch: so there is neither gap nor repetition. Delivery itself
// holds no lock but the watch's own, which its end (the Subscription's destructor) takes too.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sublet/store/store.h"

namespace sublet::store {

/// One watch. Recursive, because a watcher may end its own Subscription while it is being called.
struct WatchEntry {
  std::string prefix;
  std::recursive_mutex mutex;
  std::shared_ptr<Watcher> watcher;  // guarded by mutex; null: ended
  std::atomic<bool> ended{false};    // the same, for who must not wait for the mutex

  /// Calls the watcher, unless it has ended; the caller holds `mutex`.
  void deliver(const std::vector<EventPtr>& events, Revision progress);
};

class WatchHub {
 public:
  /// The Subscription that keeps `entry` alive.
  std::unique_ptr<Subscription> subscription(std::shared_ptr<WatchEntry> entry);
  /// State lock held. Live from the next publish on.
  void join(std::shared_ptr<WatchEntry> entry);
  /// State lock held, commit thread: takes in who joined before the batch about to be published.
  void admit();
  /// Commit thread, no lock held.
  void deliver(const std::vector<EventPtr>& events, Revision revision);
  std::size_t watchers() const { return *live_; }

 private:
  using Entries = std::vector<std::shared_ptr<WatchEntry>>;
  Entries joining_;                                     // guarded by the store's state lock
  std::map<std::string, Entries, std::less<>> groups_;  // commit thread only
  // Shared with the subscriptions, which may outlive the store.
  std::shared_ptr<std::atomic<std::size_t>> live_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace sublet::store
