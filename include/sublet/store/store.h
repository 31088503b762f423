// Store: the tenant's objects, durable before they are acknowledged, watched in revision order.
//
// Shape: a Log (the durability seam: sqlite_log.h) under the index in memory, with its snapshots, and the history, with
// its compaction; joined by Store, which runs the one commit thread.
//
//   submit(Txn) --guards checked against pending state, revisions given--> queue --> commit thread: one SQLite
//   transaction and fsync for the whole batch --> durable state, snapshot, history --> listeners told --> callbacks
//
// A watch is a cursor: a revision from which its owner reads changes() in the history, as fast as it can use them, live
// or long behind. The commit thread only tells that there is something to read, once per batch and listener; so a slow
// watch costs nothing but its revision, and nothing waits for it.
//
// Lifecycle: open() replays the log and starts the commit thread; close() (or the destructor) drains it.
// Threads: everything is callable from any thread. Callbacks come on the commit thread and must not block: hand over to
// a loop. Two things come on the caller's own thread instead: the history of a resumed Watcher, inside watch(), and the
// error of a write that is refused at once, inside submit(). So hold no lock there that the callback takes.
// Guarantees: Ordered, Unique, Atomic per Txn in visibility, Resumable within the compaction window, Bookmarkable (at
// every Changes::up_to); a revision that anybody was told is never reused nor reversed, also across restarts.
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
#include "sublet/store/sparse.h"
#include "sublet/store/uid.h"

namespace sublet::store {

/// The store's one counter. The first write of a new store gets kFirstRevision.
using Revision = std::int64_t;
inline constexpr Revision kFirstRevision = 2;  // an empty store is at revision 1, so that "0" never names a state

/// Immutable, shared bytes.
using Bytes = std::shared_ptr<const std::string>;

/// What the index keeps beside an object's bytes, so that selectors need no parsing. Filled by the writer.
/// Small on purpose: it is in memory for every object.
struct Index {
  Uid uid;
  Sparse<std::pair<std::string, std::string>> labels;  // sorted by key
  Sparse<std::pair<std::string, std::string>> fields;  // selectable fields beyond name and namespace, by path
  Sparse<std::string> owner_uids;
};

/// One stored version of one object. Immutable; shared by snapshots, watchers and answers.
/// `key` is "<resource>.<group>/<namespace>/<name>" or "<resource>.<group>/<name>"; the core group gives "pods/...".
/// `bytes` is the JSON of the stored version without apiVersion and kind, with a hole of zero bytes for the value of
/// metadata.resourceVersion at `hole`: the text is bytes[0,hole) + decimal(revision) + bytes[hole,end).
struct Object {
  std::string key;
  std::string bytes;
  std::uint32_t hole = 0;        // offset in `bytes`; kNoHole when the object carries no resourceVersion
  Revision revision = 0;         // of this version
  Revision create_revision = 0;  // of the first version under this key
  Index index;
  static constexpr std::uint32_t kNoHole = 0xffffffff;
  /// The JSON text with the revision filled in.
  std::string json() const;
  void append_json(std::string& out) const;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// What a writer hands in for one key.
struct Put {
  std::string bytes;
  std::uint32_t hole = Object::kNoHole;
  Index index = {};
};

/// One op of a transaction: a put, or a delete when `put` is empty. Each op gets its own revision.
struct Op {
  std::string key;
  std::optional<Put> put = {};
  /// For a delete: the final state that watchers see (finalizers emptied etc.); empty: the stored version as it was.
  std::optional<Put> last_state = {};
  /// A put by which an object goes (its deletionTimestamp, the status of what ends): it passes where deletes do, on a
  /// full disk and beyond the quota.
  bool of_deletion = false;
};

/// `revision` 0: the key must not exist. Otherwise the key's latest pending version must have this revision.
struct Guard {
  std::string key;
  Revision revision = 0;
};

struct Txn {
  std::vector<Guard> guards = {};
  std::vector<Op> ops = {};
};

/// A committed change. `object` is the new version, or for a delete the last state stamped with the delete's revision.
struct Event {
  enum class Type : std::uint8_t { created, updated, deleted } type;
  ObjectPtr object;
  ObjectPtr previous;  // version before; null for created
  Revision revision = 0;
};
using EventPtr = std::shared_ptr<const Event>;

/// A consistent view at one revision. Cheap to copy and to hold; never changes.
class Snapshot {
 public:
  Snapshot() = default;
  Revision revision() const;
  ObjectPtr get(std::string_view key) const;
  /// Objects whose key starts with `prefix`, in key order, starting after `start_after` (empty: from the beginning);
  /// stops when `visit` returns false.
  void scan(std::string_view prefix, std::string_view start_after,
            const std::function<bool(const ObjectPtr&)>& visit) const;
  /// Number of objects under the prefix (O(log n)).
  std::size_t count(std::string_view prefix) const;
  /// Number of those that stand behind `key` (O(log n)).
  std::size_t count_after(std::string_view prefix, std::string_view key) const;

  struct Tree;  // persistent tree, store/tree.h
  explicit Snapshot(std::shared_ptr<const Tree> tree, Revision revision);

 private:
  std::shared_ptr<const Tree> tree_;
  Revision revision_ = 0;
};

/// A stretch of history.
struct Changes {
  std::vector<EventPtr> events = {};  // in revision order
  Revision up_to = 0;                 // there are no others up to here: read on from it, or tell it as a bookmark
  bool at_end = false;                // `up_to` is the store's latest revision; else there is more
};

/// Is called with a watch's events in revision order, already filtered by prefix, never two calls at once: history
/// first, in chunks on the thread that called watch(), then each batch on the commit thread. Must return quickly and
/// must not write (ending its own Subscription is allowed).
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_events(const std::vector<EventPtr>& events) = 0;
  /// Every event up to `revision` has been delivered (for bookmarks).
  virtual void on_progress(Revision revision) = 0;
};

/// Keeps a listener or watch; destroying it ends it. After the destructor returns no call runs or will run.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

struct Committed {
  std::vector<Revision> revisions;  // one per op
  std::vector<EventPtr> events;     // one per op
};
/// Called once, on the commit thread, after the batch is durable and published, or after it failed; a refused write's
/// error comes inside submit(). Reasons: too_many_requests (disk full: nothing was written), forbidden (it would add to
/// a store that has reached its quota: nothing was written), internal_error (I/O error: the outcome is unknown),
/// service_unavailable (refused: closed or poisoned), conflict (a delete or barrier that was queued behind a write
/// which the full disk then undid: nothing was written, prepare again).
using CommitCallback = std::function<void(Result<Committed>)>;

/// Durability seam: an ordered, append-only log of rows. Implementations: SqliteLog (store/sqlite_log.h), MemoryLog
/// (tests).
struct Row {
  Revision revision = 0;
  std::string key;
  bool deleted = false;
  Revision create_revision = 0;
  std::string value;  // encoded Put (store/row_codec.h): header with format version, encoding, transform id, checksum
  bool of_deletion = false;  // not kept: a put that passes where deletes do
};

class Log {
 public:
  virtual ~Log() = default;
  /// Calls `visit` for every kept row in revision order. Fails (by name, with what to do) on damage.
  virtual Outcome replay(const std::function<Outcome(Row&&)>& visit) = 0;
  /// Revision below which rows were compacted.
  virtual Revision compacted() const = 0;
  /// The highest revision of any row that was ever durable here, also of those that compaction has removed since. What
  /// append() refused does not count: nobody was told its revisions.
  virtual Revision last() const = 0;
  /// Makes all rows durable in one transaction, or none of them. An error other than `full` leaves the outcome unknown.
  enum class AppendError { none, full, io };
  virtual AppendError append(const std::vector<Row>& rows, std::string& error_text) = 0;
  /// Removes the given superseded rows and records the new floor. Called in small steps on the commit thread.
  virtual AppendError compact(const std::vector<Revision>& superseded, Revision floor, std::string& error_text) = 0;
  /// Work for an idle moment (checkpoint). Called on the commit thread.
  virtual void idle() {}
  /// The disk is full, and deletes live on what was reserved for them: history should make room.
  virtual bool short_of_space() const { return false; }
};

/// What a store may hold; 0: no limit. Bytes are those of the objects' keys and JSON as they are now; history comes on
/// top, within its own bounds (StoreOptions).
struct StoreQuota {
  std::size_t objects = 0, bytes = 0;
};
/// What it holds, accepted writes included.
struct StoreUsage {
  std::size_t objects = 0, bytes = 0;
  StoreQuota quota = {};
  /// Of the quota, the fuller of its two; 0 without one.
  int percent() const;
  /// "850 of 1000 objects (85 %)", the fuller of the two.
  std::string words() const;
};
/// From how many percent on a server warns.
inline constexpr int kNearlyFullPercent = 80;

struct StoreOptions {
  const Clock* clock = &Clock::system();       // of ages and probes; a test that moves its own wakes by a write
  StoreQuota quota = {};                       // beyond it, what adds to the store is refused (forbidden)
  std::size_t batch_ops_max = 512;             // ops per commit batch; bounds latency of the first in a batch
  std::chrono::seconds compact_interval{300};  // history is kept at least this long
  std::size_t history_events_max = 100'000;    // in-memory events kept for resumed watches and exact lists
  std::size_t history_bytes_max = 64u << 20;   // and the bytes that only they hold: updates of large objects add up
  std::size_t compact_step_rows = 256;  // rows deleted per step at most; fewer when a step would take longer than
  std::chrono::microseconds compact_step{2000};  // this (or than a commit takes): writers wait for no more
  std::chrono::milliseconds full_probe{1000};    // while the disk is full, one write per so long may try again
  /// Called once on the commit thread when an I/O error poisoned the store: the process should end and be restarted.
  std::function<void(const std::string& why)> on_poisoned;
};

struct StoreStats {
  Revision revision = 0, compacted = 0;
  std::size_t objects = 0, history_events = 0;
  std::uint64_t commits = 0, ops = 0;
  bool read_only = false;  // the disk is full; deletes still pass
  bool poisoned = false;   // an I/O error left the outcome of a commit unknown; only a restart helps
};

class Store {
 public:
  /// Replays `log` and starts the commit thread.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Log> log, StoreOptions options = {});
  virtual ~Store() = default;

  /// Latest durable state.
  virtual Snapshot snapshot() const = 0;
  /// Latest state including accepted, not yet durable writes: what a writer must prepare a Txn against.
  virtual Snapshot pending() const = 0;
  /// State at an older revision: expired below the compaction floor, timeout (ResourceVersionTooLarge) above the
  /// latest.
  virtual Result<Snapshot> snapshot_at(Revision revision) const = 0;
  /// Checks the guards against the pending state at once: false when one fails (nothing happened; prepare again), or
  /// true, and `done` is called when the batch is durable. When the store refuses writes (poisoned, read-only, at its
  /// quota, closed) returns true and calls `done` with the error. Deleting a key that does not exist counts as a failed
  /// guard. A Txn without ops is a barrier: `done` comes when everything that was pending is durable (answer an error
  /// or a no-op update so), or with conflict when some of that was undone.
  virtual bool submit(Txn txn, CommitCallback done) = 0;
  /// Blocking submit for tools and tests; conflict when a guard fails.
  Result<Committed> commit(Txn txn);

  /// The events after `from` for keys with `prefix`, looking at no more than `max` of all. expired when `from` is below
  /// the compaction floor or out of the kept history; timeout when it is ahead of the store.
  virtual Result<Changes> changes(std::string_view prefix, Revision from, std::size_t max = 512) const = 0;
  /// Calls `committed` after each batch, on the commit thread, before its writes are answered: from now on changes()
  /// has it. Must return quickly; may call the readers here, and end its own Subscription.
  virtual std::unique_ptr<Subscription> listen(std::function<void()> committed) = 0;
  /// For who can use events as fast as they are committed: the two above in one, from `from` on. Fails as changes().
  virtual Result<std::unique_ptr<Subscription>> watch(std::string_view prefix, Revision from,
                                                      std::shared_ptr<Watcher> watcher) = 0;
  /// Snapshot and watch in one step: the snapshot's revision is the watch's `from`. All calls on the commit thread.
  virtual std::pair<Snapshot, std::unique_ptr<Subscription>> snapshot_and_watch(std::string_view prefix,
                                                                                std::shared_ptr<Watcher> watcher) = 0;
  /// Drops history below `revision` (at most the current one) and returns when the log is compacted.
  virtual Outcome compact(Revision revision) = 0;
  virtual Revision compacted() const = 0;
  virtual StoreStats stats() const = 0;
  /// Cheap.
  virtual StoreUsage usage() const = 0;
  /// Drains the queue, checkpoints and stops the commit thread. Later submits fail with service_unavailable.
  virtual void close() = 0;
};

}  // namespace sublet::store
