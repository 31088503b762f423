// Pending: the state with accepted writes that are not durable yet, and the batches that wait for the commit thread.
//
// A Txn is checked against this state and given its revisions at once, so any number of changes of one object fit into
// one batch. When a batch cannot be written, rollback() rebuilds this state from the durable one.
// Threads: none of its own; the store's pending lock guards it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "store/state/tree.h"
#include "sublet/store/store.h"

namespace sublet::store {

/// What the quota counts of an object.
inline std::size_t counted_bytes(const Object& object) { return object.key.size() + object.bytes.size(); }

/// A Txn on its way, with its objects built (outside the lock) and, once applied, its events.
struct PendingTxn {
  struct Change {
    std::string key;                 // only of a delete
    std::shared_ptr<Object> object;  // new version, or last state; null: a delete of the version as it was
    bool deleted = false;
    bool of_deletion = false;  // a put that passes where deletes do
  };
  std::vector<Guard> guards;
  std::vector<Change> changes;
  CommitCallback done;
  std::vector<EventPtr> events;  // one per change

  PendingTxn(Txn&& txn, CommitCallback callback);
  PendingTxn(PendingTxn&&) = default;
  PendingTxn& operator=(PendingTxn&&) = default;
  /// Returns true for puts that belong to no deletion: they wait while the disk is full and count against the quota.
  bool needs_room() const;
};

struct Batch {
  std::vector<PendingTxn> txns;
  std::size_t ops = 0;
  PersistentMap map;  // state after it, and what it holds
  std::size_t bytes = 0;
  Revision revision = 0;  // of its last op
  std::vector<EventPtr> events() const;
  /// `previous_row`: revision of the log's newest row.
  std::vector<Row> rows(Revision previous_row) const;
};

class Pending {
 public:
  void reset(PersistentMap map, std::size_t bytes, Revision last, const StoreOptions& options);
  enum class Answer { accepted, guard_failed, over_quota };
  /// Checks the guards and the quota; applies and queues the Txn, or leaves everything (and `txn`) as it was.
  Answer accept(PendingTxn& txn);
  bool empty() const { return queue_.empty(); }
  Batch take();
  const PersistentMap& map() const { return map_; }
  Revision last() const { return last_; }
  StoreUsage usage() const { return {map_.size(), bytes_, quota_}; }

  struct Undone {
    std::vector<PendingTxn> refused;      // these write, and there is no space
    std::vector<PendingTxn> conflicting;  // barriers, and deletes whose guards no longer hold
  };
  /// After `failed` could not be written: starts again from `durable`. Of the queue, and of the failed batch if
  /// `retry_failed`, only deletes and barriers stay. Revisions are never given again.
  Undone rollback(const PersistentMap& durable, std::size_t bytes, Batch&& failed, bool retry_failed);
  /// Empties the queue.
  std::vector<PendingTxn> abandon(const PersistentMap& durable, std::size_t bytes);

 private:
  Answer apply(PendingTxn& txn);
  bool over_quota(const PersistentMap& next, std::size_t bytes) const;

  PersistentMap map_;
  std::size_t bytes_ = 0;  // of map_'s objects
  Revision last_ = 0;      // revision given last
  std::deque<Batch> queue_;
  std::size_t batch_ops_max_ = 0;
  StoreQuota quota_;
};

}  // namespace sublet::store
