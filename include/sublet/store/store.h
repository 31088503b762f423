// Store: the tenant's objects. A write is durable before it is acknowledged; watches see all writes in revision order.
//
//   submit(Txn): guards checked against the pending state, revisions given
//     -> queue -> commit thread: one append to the Log for the whole batch
//     -> durable state, snapshot, history -> listeners -> callbacks
//
// A watch is a cursor: a revision from which its owner reads changes(), live or far behind. The commit thread only
// signals that there is something to read, once per batch and listener. A slow watch costs nothing but its revision,
// and no other watch or writer waits for it.
//
// Lifecycle: open() replays the log and starts the commit thread; close() (or the destructor) drains it.
// Threads: all functions may be called from any thread. Callbacks run on the commit thread and must not block; they
// post long work to a loop. Two calls run on the caller's own thread: the history of a resumed Watcher, inside watch(),
// and the error of a write that is refused at once, inside submit(). Hold no lock there that the callback takes.
// Guarantees: watches are ordered, see each event once, resume within the compaction window, and get a bookmark at
// every Changes::up_to. A transaction becomes visible as a whole. A revision that a client has seen is never reused or
// reversed, also across restarts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/store/log.h"
#include "sublet/store/object.h"
#include "sublet/store/snapshot.h"
#include "sublet/store/watcher.h"

namespace sublet::store {

struct Committed {
  std::vector<Revision> revisions;  // one per op
  std::vector<EventPtr> events;     // one per op
};
/// Called once: on the commit thread after the batch is durable and published or has failed, or inside submit() when
/// the write is refused at once. Nothing was written, except where noted. Reasons: too_many_requests (the disk is
/// full), forbidden (the store has reached its quota), internal_error (I/O error: the outcome is unknown),
/// service_unavailable (the store is closed or poisoned), conflict (a delete or barrier came after a write that the
/// full disk undid: prepare it again).
using CommitCallback = std::function<void(Result<Committed>)>;

/// What a store may hold; 0: no limit. Bytes count the keys and JSON of the present objects. History comes on top,
/// within its own bounds (StoreOptions).
struct StoreQuota {
  std::size_t objects = 0, bytes = 0;
};
/// What a store holds, including accepted writes that are not durable yet.
struct StoreUsage {
  std::size_t objects = 0, bytes = 0;
  StoreQuota quota = {};
  /// Returns the use of the quota in percent, of objects or bytes, whichever is higher; 0 without a quota.
  int percent() const;
  /// Returns the same as text: "850 of 1000 objects (85 %)".
  std::string words() const;
};
/// A server warns from this percentage on.
inline constexpr int kNearlyFullPercent = 80;

/// The time that history is kept at least, when the operator sets no other.
inline constexpr std::chrono::seconds kDefaultCompactInterval{300};

struct StoreOptions {
  const Clock* clock = &Clock::system();  // for ages and probes; after a test moves it, a write wakes the store
  StoreQuota quota = {};                  // a write that adds beyond it is refused (forbidden)
  std::size_t batch_ops_max = 512;        // ops per commit batch; bounds latency of the first in a batch
  std::chrono::seconds compact_interval{kDefaultCompactInterval};  // history is kept at least this long
  std::size_t history_events_max = 100'000;      // in-memory events kept for resumed watches and exact lists
  std::size_t history_bytes_max = 64u << 20;     // and the bytes that only these events hold
  std::size_t compact_step_rows = 256;           // rows deleted per step at most
  std::chrono::microseconds compact_step{2000};  // a step takes this long or as long as a commit: writers wait for it
  std::chrono::milliseconds full_probe{1000};    // while the disk is full, one write per interval is tried
  /// Called once on the commit thread when an I/O error poisoned the store: the process should end and be restarted.
  std::function<void(const std::string& why)> on_poisoned;
};

struct StoreStats {
  Revision revision = 0, compacted = 0;
  std::size_t objects = 0, history_events = 0;
  std::uint64_t commits = 0, ops = 0;
  bool read_only = false;  // the disk is full; deletes are still accepted
  bool poisoned = false;   // an I/O error left the outcome of a commit unknown; only a restart helps
};

class Store {
 public:
  /// Replays `log` and starts the commit thread.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Log> log, StoreOptions options = {});
  virtual ~Store() = default;

  /// Returns the latest durable state.
  virtual Snapshot snapshot() const = 0;
  /// Returns the latest state including accepted writes that are not durable yet. A writer prepares its Txn against it.
  virtual Snapshot pending() const = 0;
  /// Returns the state at an older revision. Fails with expired below the compaction floor, with timeout
  /// (ResourceVersionTooLarge) above the latest revision.
  virtual Result<Snapshot> snapshot_at(Revision revision) const = 0;
  /// Checks the guards against the pending state at once. Returns false when one fails: nothing happened, prepare
  /// again. Otherwise returns true and calls `done` when the batch is durable, or with the error when the store refuses
  /// writes (poisoned, read-only, at its quota, closed). Deleting a key that does not exist counts as a failed guard.
  /// A Txn without ops is a barrier: `done` is called when everything that was pending is durable, or with conflict
  /// when some of it was undone. Use it to answer an error or an update that changes nothing.
  virtual bool submit(Txn txn, CommitCallback done) = 0;
  /// Submits and waits, for tools and tests. Fails with conflict when a guard fails.
  Result<Committed> commit(Txn txn);

  /// Returns the events after `from` for keys with `prefix`, from at most `max` events of all keys. Fails with expired
  /// when `from` is below the compaction floor or older than the history; with timeout when it is ahead of the store.
  virtual Result<Changes> changes(std::string_view prefix, Revision from, std::size_t max = 512) const = 0;
  /// Calls `committed` after each batch, on the commit thread, before the batch's writes are answered; changes() has
  /// the batch by then. `committed` must return quickly. It may read from the store and end its own Subscription.
  virtual std::unique_ptr<Subscription> listen(std::function<void()> committed) = 0;
  /// Delivers the events after `from`, then each batch as it is committed. For watchers that are as fast as the commit
  /// thread. Fails as changes() does.
  virtual Result<std::unique_ptr<Subscription>> watch(std::string_view prefix, Revision from,
                                                      std::shared_ptr<Watcher> watcher) = 0;
  /// Takes a snapshot and watches from its revision on. All calls to the watcher come on the commit thread.
  virtual std::pair<Snapshot, std::unique_ptr<Subscription>> snapshot_and_watch(std::string_view prefix,
                                                                                std::shared_ptr<Watcher> watcher) = 0;
  /// Drops history below `revision` (at most the current one) and returns when the log is compacted.
  virtual Outcome compact(Revision revision) = 0;
  virtual Revision compacted() const = 0;
  virtual StoreStats stats() const = 0;
  /// Takes one lock and counts nothing.
  virtual StoreUsage usage() const = 0;
  /// Drains the queue, checkpoints and stops the commit thread. Later submits fail with service_unavailable.
  virtual void close() = 0;
};

}  // namespace sublet::store
