// Pending: the state that includes accepted, not yet durable writes, and the batches that wait for the commit thread.
//
// A Txn is checked against this state and given its revisions at once, so any number of changes of one object fit into
// one batch. When a batch cannot be written, rollback() rebuilds this state from the durable one.
// Threads: none of its own; the store's pending lock guards it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "store/tree.h"
#include "sublet/store/store.h"

namespace sublet::store {

/// A Txn on its way, with its objects built (outside the lock) and, once applied, its events.
struct PendingTxn {
  struct Change {
    std::string key;                 // only of a delete
    std::shared_ptr<Object> object;  // new version, or last state; null: a delete of the version as it was
    bool deleted = false;
  };
  std::vector<Guard> guards;
  std::vector<Change> changes;
  CommitCallback done;
  std::vector<EventPtr> events;  // one per change

  PendingTxn(Txn&& txn, CommitCallback callback);
  PendingTxn(PendingTxn&&) = default;
  PendingTxn& operator=(PendingTxn&&) = default;
  bool has_put() const;
};

struct Batch {
  std::vector<PendingTxn> txns;
  std::size_t ops = 0;
  PersistentMap map;      // state after it
  Revision revision = 0;  // of its last op
  std::vector<EventPtr> events() const;
  /// `previous_row`: revision of the log's newest row.
  std::vector<Row> rows(Revision previous_row) const;
};

class Pending {
 public:
  void reset(PersistentMap map, Revision last, std::size_t batch_ops_max);
  /// Checks the guards; applies and queues the Txn, or leaves everything (and `txn`) as it was and returns false.
  bool accept(PendingTxn& txn);
  bool empty() const { return queue_.empty(); }
  Batch take();
  const PersistentMap& map() const { return map_; }
  Revision last() const { return last_; }

  struct Undone {
    std::vector<PendingTxn> refused;      // these write, and there is no space
    std::vector<PendingTxn> conflicting;  // barriers, and deletes whose guards no longer hold
  };
  /// After `failed` could not be written: starts again from `durable`, keeping of the failed batch (if `retry_failed`)
  /// and of the queue only what does not write. Revisions that were given are never given again.
  Undone rollback(const PersistentMap& durable, Batch&& failed, bool retry_failed);
  /// Empties the queue.
  std::vector<PendingTxn> abandon(const PersistentMap& durable);

 private:
  bool apply(PendingTxn& txn);

  PersistentMap map_;
  Revision last_ = 0;  // revision given last
  std::deque<Batch> queue_;
  std::size_t batch_ops_max_ = 0;
};

}  // namespace sublet::store
