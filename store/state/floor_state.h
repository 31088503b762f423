// FloorState: builds the state at the compaction floor from the log's rows up to there.
//
// Of a large store that is nearly everything, so it is gathered first and becomes a tree at once, instead of by as many
// descents into a tree that grows: sorting keys by eight adjacent bytes costs a tenth of that. What is
// needed of an object is noted when it comes: later each look at one of a million is a wait for memory. Threads: none.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "store/state/tree.h"
#include "sublet/base/status.h"
#include "sublet/store/object.h"

namespace sublet::store {

class FloorState {
 public:
  FloorState() = default;
  FloorState(const FloorState&) = delete;
  FloorState& operator=(const FloorState&) = delete;

  /// Rows in revision order. Of a deletion, `object` needs no more than key and revision.
  void take(ObjectPtr object, Revision create_revision, bool deleted);

  struct Made {
    PersistentMap map;
    std::size_t bytes = 0;  // counted_bytes() of its objects
  };
  /// The state after all of them; adds the rows that it does not need to `garbage`. Fails by name when a row of the
  /// same key is missing.
  Result<Made> make(std::vector<Revision>& garbage);

 private:
  /// Resource and namespace.
  struct Group {
    std::uint32_t rank = 0;
    std::string_view beginning;  // common to all its names: "web-" distinguishes none of them
  };
  using Groups = std::map<std::string_view, Group>;  // by views into keys of rows_
  struct FloorRow {
    ObjectPtr object;
    Revision create_revision;
    Groups::iterator group;
    std::uint32_t bytes;
    bool deleted, begins;
  };
  /// Where a row belongs: by key, rows of one key in revision order.
  struct Place {
    std::uint32_t group, row;
    std::uint64_t head;
  };

  std::string_view key_of(const Place& place) const { return rows_[place.row].object->key; }
  bool same_key(const Place& x, const Place& y) const {
    return x.group == y.group && x.head == y.head && key_of(x) == key_of(y);
  }
  bool groups_are_apart() const;
  std::vector<Place> sorted();

  std::vector<FloorRow> rows_;
  Groups groups_;
  Groups::iterator last_ = groups_.end();  // most rows follow one of their own group
};

}  // namespace sublet::store
