// Watcher: receives the committed changes under a prefix, in revision order.
//
// Threads and lifecycle: see Store::watch() and Store::changes().
#pragma once

#include <vector>

#include "sublet/store/object.h"

namespace sublet::store {

/// A part of the history.
struct Changes {
  std::vector<EventPtr> events = {};  // in revision order
  Revision up_to = 0;                 // no other events up to here: continue from it, or send it as a bookmark
  bool at_end = false;                // `up_to` is the store's latest revision; else there is more
};

/// Gets a watch's events in revision order, already filtered by prefix, and never two calls at once: history first, in
/// chunks on the thread that called watch(), then each batch on the commit thread. A watcher must return quickly and
/// must not write. It may end its own Subscription.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_events(const std::vector<EventPtr>& events) = 0;
  /// Every event up to `revision` has been delivered (for bookmarks).
  virtual void on_progress(Revision revision) = 0;
};

/// Owns a listener or a watch; destroying it ends the calls. After the destructor returns no call runs or will run.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

}  // namespace sublet::store
