// FloorState: what stood at the compaction floor, from the log's rows up to there.
//
// Of a large store that is nearly everything, so it is gathered first and becomes a tree at once, instead of by as many
// descents into a tree that grows: sorting keys by eight bytes that stand side by side costs a tenth of that. Threads:
// none.
#pragma once

#include <string>
#include <vector>

#include "store/tree.h"
#include "sublet/store/store.h"

namespace sublet::store {

class FloorState {
 public:
  /// Rows in revision order. Of a deletion, `object` needs no more than key and revision.
  void take(ObjectPtr object, Revision create_revision, bool deleted) {
    rows_.push_back({std::move(object), create_revision, deleted});
  }

  /// The state after all of them; adds the rows that it does not need to `garbage`. Fails by name when a row of the
  /// same key is missing.
  Result<PersistentMap> make(std::vector<Revision>& garbage);

 private:
  struct FloorRow {
    ObjectPtr object;
    Revision create_revision;
    bool deleted;
  };
  void sort();

  std::vector<FloorRow> rows_;
};

}  // namespace sublet::store
