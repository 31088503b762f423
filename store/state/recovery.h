// recovery: rebuilds the state and its history from the log's rows, and checks that no row is missing.
//
// A row says with create_revision whether it begins an object, and above the compaction floor the version before it
// must still be there: so a lost row is found, although each row's checksum is right. Pure but for the log that is
// read.
#pragma once

#include <vector>

#include "store/state/history.h"
#include "sublet/store/store.h"

namespace sublet::store {

struct Recovered {
  PersistentMap map;
  std::size_t bytes = 0;  // counted_bytes() of its objects
  History history;
  Revision last = 0;
  std::vector<Revision> garbage;  // rows that no state at or above the floor needs; a compaction was cut short
};

/// `limits`: the history's bounds; its floor rises when there is more.
Result<Recovered> recover(Log& log, const StoreOptions& limits);

/// Adds the rows that no state needs once the floor has passed the event.
void add_garbage(const Event& event, std::vector<Revision>& garbage);

}  // namespace sublet::store
