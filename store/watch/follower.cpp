#include "store/watch/follower.h"

#include <utility>

namespace sublet::store {

Follower::Follower(Store& store, std::string_view prefix, std::shared_ptr<Watcher> watcher)
    : place_(new Place{store, std::string(prefix), {}, 0, std::move(watcher)}) {}

Follower::~Follower() {
  std::shared_ptr<Watcher> ended;  // destroyed after the lock: its destructor may do anything
  const RecursiveLock lock(place_->mutex);
  ended = std::move(place_->watcher);
}

Outcome Follower::follow(Revision from) {
  const RecursiveLock lock(place_->mutex);
  place_->at = from;
  listen();
  return read(*place_);
}

Snapshot Follower::follow_snapshot() {
  const RecursiveLock lock(place_->mutex);
  listen();
  Snapshot snapshot = place_->store.snapshot();
  place_->at = snapshot.revision();
  return snapshot;
}

void Follower::listen() {
  listening_ = place_->store.listen([place = place_] {
    const RecursiveLock lock(place->mutex);
    (void)read(*place);
  });
}

Outcome Follower::read(Place& place) {
  for (bool at_end = false; !at_end && place.watcher;) {
    const auto changes = place.store.changes(place.prefix, place.at);
    if (!changes) return fail(changes.error());
    place.at = changes->up_to;
    at_end = changes->at_end;
    const std::shared_ptr<Watcher> alive = place.watcher;  // it may end itself while it is being called
    if (!changes->events.empty()) alive->on_events(changes->events);
    if (place.watcher) alive->on_progress(changes->up_to);
  }
  return {};
}

}  // namespace sublet::store
