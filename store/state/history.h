// History: the events since the compaction floor, and the state at any revision in between.
//
// Events are in revision order. A tree root is kept at least every kRootStride events, always where a batch ended; a
// state in between is the root before it plus a replay of at most a stride and a batch. Roots share nearly everything,
// so what history costs is the superseded versions, which `bytes` estimates.
// Threads: none of its own. The commit thread alone changes it, under the store's state lock, and so may read it
// without.
#pragma once

#include <deque>
#include <vector>

#include "store/state/tree.h"
#include "sublet/store/object.h"

namespace sublet::store {

/// Applies the event to a state.
void apply_event(PersistentMap& map, const Event& event);

class History {
 public:
  static constexpr std::size_t kRootStride = 128;

  /// Starts over: nothing is known before `revision`, whose state is `map`.
  void reset(PersistentMap map, Revision revision);
  /// One batch; `map` is the state after it.
  void append(const std::vector<EventPtr>& events, const PersistentMap& map);

  /// Watches from, and states at, revisions below this are gone.
  Revision floor() const { return roots_.front().revision; }
  std::size_t size() const { return events_.size(); }
  std::size_t bytes() const { return bytes_; }

  /// Looks at up to `max` events after `from` and appends those under `prefix` to `out`. Returns the revision of the
  /// last one looked at.
  Revision read_after(Revision from, std::string_view prefix, std::size_t max, std::vector<EventPtr>& out) const;
  /// Of the newest event kept; the floor when there is none.
  Revision last() const { return events_.empty() ? floor() : events_.back()->revision; }

  /// How to make the state at a revision that is not below the floor.
  struct Recipe {
    PersistentMap map;
    std::vector<EventPtr> replay;
    PersistentMap make() const;
  };
  Recipe recipe(Revision revision) const;

  bool exceeds(std::size_t events_max, std::size_t bytes_max) const {
    return events_.size() > events_max || bytes_ > bytes_max;
  }
  /// The lowest floor with which the history fits the limits; the present floor when it fits already.
  Revision floor_within(std::size_t events_max, std::size_t bytes_max) const;
  /// The highest floor that drops no more than the oldest `events`.
  Revision floor_after(std::size_t events) const;
  /// Raises the floor to `revision`, whose state is `map` (recipe(revision).make()). Returns what was dropped, so that
  /// it can be destroyed outside the lock.
  struct Dropped {
    std::vector<EventPtr> events;
    std::vector<PersistentMap> roots;
  };
  Dropped raise_floor(Revision revision, PersistentMap map);

 private:
  struct Root {
    Revision revision;
    PersistentMap map;
  };
  std::size_t index_after(Revision revision) const;

  std::deque<EventPtr> events_;
  std::deque<Root> roots_;  // the first is the floor
  std::size_t events_since_root_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace sublet::store
