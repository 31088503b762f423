// LoggedStore: the Store over a Log, with the commit thread and two locks. pending_mutex_ guards what writers change
// (Pending, requests to the commit thread, refusals); state_mutex_ guards what readers see (durable snapshot, history).
// They are never held together, and neither is held across I/O or a callback.
#include <algorithm>
#include <deque>
#include <future>
#include <thread>

#include "store/state/history.h"
#include "store/state/pending.h"
#include "store/state/recovery.h"
#include "store/watch/follower.h"
#include "store/watch/listeners.h"
#include "sublet/base/clock.h"
#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/base/mutex.h"
#include "sublet/base/wake_batch.h"
#include "sublet/store/store.h"
#include "sublet/store/threadless_store.h"

namespace sublet::store {
namespace {

constexpr std::chrono::seconds kFullCompactRetry{10};  // and compaction, which needs a little space to make more
constexpr int kCompactIntervalParts = 8;               // how finely the age of history is known
// What is dropped of history at once, while writers may wait. More rows than these to delete: compaction is behind.
constexpr std::size_t kFloorStepEvents = 256, kBehindRows = 65'536;
constexpr std::size_t kHistorySlackEvents = 512, kHistorySlackBytes = 1 << 20;
constexpr std::size_t kStepRowsMin = 16;
// What is kept of history while deletes live on the disk's reserve: enough for watches that keep up.
constexpr std::size_t kShortHistoryEvents = 1024, kShortHistoryBytes = 1 << 20;
metrics::Gauge& read_only_gauge() {
  static auto& gauge = metrics::gauge("sublet_store_read_only", "1 while the disk is full and only deletes pass.");
  return gauge;
}

constexpr std::string_view kFullMessage =
    "the disk of this virtual cluster is full: nothing was written. Deletes still work; free some space, and writes "
    "work again by themselves";

Status full_status(const std::string& text) {
  Status status =
      fail(Reason::too_many_requests, std::string(kFullMessage) + (text.empty() ? "" : " (" + text + ")")).value();
  status.causes.push_back({"StorageFull", "no space left for the store's file", ""});
  return status;
}

// In the words of a ResourceQuota, which clients know. (kube-apiserver answers 500 when etcd has reached its own.)
Status quota_status(const StoreUsage& usage, const PendingTxn& txn) {
  const auto side = [](std::size_t objects, std::size_t bytes) {
    return "objects=" + std::to_string(objects) + ",bytes=" + std::to_string(bytes);
  };
  std::size_t objects = 0, bytes = 0;
  for (const PendingTxn::Change& change : txn.changes)
    if (!change.deleted) ++objects, bytes += counted_bytes(*change.object);
  Status status = fail(Reason::forbidden,
                       "exceeded quota of this virtual cluster's store, requested: " + side(objects, bytes) +
                           ", used: " + side(usage.objects, usage.bytes) +
                           ", limited: " + side(usage.quota.objects, usage.quota.bytes) +
                           ": nothing was written. Delete what is not needed, or have its operator raise the quota")
                      .value();
  status.causes.push_back({"StorageQuotaExceeded", usage.words(), ""});
  return status;
}

Status expired_status(Revision revision, Revision floor) {
  return fail(Reason::expired, "The resourceVersion for the provided watch is too old: " + std::to_string(revision) +
                                   " (oldest kept: " + std::to_string(floor) + ")")
      .value();
}

Status too_large_status(Revision revision, Revision current) {
  Status status = fail(Reason::timeout, "Timeout: Too large resource version: " + std::to_string(revision) +
                                            ", current: " + std::to_string(current))
                      .value();
  status.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  status.retry_after_seconds = 1;
  return status;
}

class LoggedStore final : public Store {
 public:
  LoggedStore(std::unique_ptr<Log> log, StoreOptions options, Recovered recovered, bool has_thread)
      : options_(std::move(options)),
        has_thread_(has_thread),
        log_(std::move(log)),
        durable_bytes_(recovered.bytes),
        garbage_(recovered.garbage.begin(), recovered.garbage.end()) {
    pending_.reset(recovered.map, durable_bytes_, recovered.last, options_);
    durable_map_ = recovered.map;
    durable_ = Snapshot(std::make_shared<Snapshot::Tree>(Snapshot::Tree{std::move(recovered.map)}), recovered.last);
    history_ = std::move(recovered.history);
    if (history_.size() != 0) mark_age(recovered.last);
    if (has_thread_) thread_ = std::thread([this] { run(); });
  }
  ~LoggedStore() override { close(); }

  Snapshot snapshot() const override;
  Snapshot pending() const override;
  Result<Snapshot> snapshot_at(Revision revision) const override;
  bool submit(Txn txn, CommitCallback done) override;
  Result<Changes> changes(std::string_view prefix, Revision from, std::size_t max) const override;
  std::unique_ptr<Subscription> listen(std::function<void()> committed) override;
  Result<std::unique_ptr<Subscription>> watch(std::string_view prefix, Revision from,
                                              std::shared_ptr<Watcher> watcher) override;
  std::pair<Snapshot, std::unique_ptr<Subscription>> snapshot_and_watch(std::string_view prefix,
                                                                        std::shared_ptr<Watcher> watcher) override;
  Outcome compact(Revision revision) override;
  Revision compacted() const override;
  StoreStats stats() const override;
  StoreUsage usage() const override;
  void close() override;

 private:
  std::optional<Status> refusal(const PendingTxn& txn) SUBLET_REQUIRES(pending_mutex_);
  void wait_for_work(MutexLock& lock) SUBLET_REQUIRES(pending_mutex_);

  /// Does the commit thread's work on the caller's thread, for a store without one.
  void run_on_caller();

  // The commit thread's own.
  void run();
  void commit(Batch batch);
  void publish(Batch& batch, const std::vector<EventPtr>& events);
  void bound_history(Revision before);
  void warn_of_usage();
  void answer(Batch& batch);
  void on_full(Batch batch, const std::string& text);
  void poison(const std::string& text, Batch* batch);
  void leave_read_only();
  void mark_age(Revision revision);
  Revision floor_wanted(Revision requested) const;
  void raise_floor(Revision floor);
  SteadyTime::duration age_part() const {
    return SteadyTime::duration(options_.compact_interval) / kCompactIntervalParts;
  }
  std::optional<SteadyTime> next_compaction() const;  // when compact_step has work; the epoch: now
  bool compaction_due() const;
  void compact_beside(SteadyTime::duration commit_took);
  void compact_step();
  Log::AppendError compact_log(std::size_t count, std::string& error);
  void finish_compacted();
  void finish_compact_requests(const Outcome& outcome);

  const StoreOptions options_;
  const bool has_thread_;
  std::unique_ptr<Log> log_;  // commit thread only, once it runs

  mutable Mutex pending_mutex_;
  CondVar work_;
  Pending pending_ SUBLET_GUARDED_BY(pending_mutex_);
  bool waiting_ SUBLET_GUARDED_BY(pending_mutex_) = false;  // the commit thread sleeps in work_
  bool closing_ SUBLET_GUARDED_BY(pending_mutex_) = false;
  bool read_only_ SUBLET_GUARDED_BY(pending_mutex_) = false;
  std::string poisoned_ SUBLET_GUARDED_BY(pending_mutex_);  // why; empty: healthy
  SteadyTime next_probe_ SUBLET_GUARDED_BY(pending_mutex_){};
  struct CompactRequest {
    Revision revision;
    std::promise<Outcome> done;
    std::optional<std::uint64_t> rows = {};  // deleted_ when its rows are gone; once the floor is there
  };
  std::vector<CompactRequest> compact_requests_ SUBLET_GUARDED_BY(pending_mutex_);

  mutable Mutex state_mutex_;
  // Changed by the commit thread under state_mutex_, so read by it without.
  Snapshot durable_;
  History history_;
  std::uint64_t commits_ SUBLET_GUARDED_BY(state_mutex_) = 0, ops_ SUBLET_GUARDED_BY(state_mutex_) = 0;

  Listeners listeners_;

  // The commit thread's own.
  PersistentMap durable_map_;
  std::size_t durable_bytes_ = 0;
  bool nearly_full_ = false;  // the warning was logged
  struct Age {
    SteadyTime since;
    Revision revision;
  };
  std::deque<Age> ages_;                    // when history came to be, in kCompactIntervalParts steps per interval
  std::deque<Revision> garbage_;            // rows that compaction may delete
  std::uint64_t deleted_ = 0;               // rows that it has
  std::vector<CompactRequest> compacting_;  // requests that wait for it
  // Rows per step: fewer while the disk is full, or slow. And what compaction may take before it is the writers' turn.
  std::size_t compact_rows_ = options_.compact_step_rows;
  std::size_t step_rows_ = std::min(kStepRowsMin, options_.compact_step_rows);
  SteadyTime::duration compact_credit_{}, usual_commit_{};
  SteadyTime compact_retry_{};  // no earlier, because the disk was full
  bool broken_ = false;         // poisoned: touch the log no more

  Mutex close_mutex_;
  std::thread thread_;
  bool running_on_caller_ = false;  // for the one thread that a store without its own has
};

// --- readers ---

Snapshot LoggedStore::snapshot() const {
  const MutexLock lock(state_mutex_);
  return durable_;
}

Snapshot LoggedStore::pending() const {
  PersistentMap map;
  Revision last;
  {
    const MutexLock lock(pending_mutex_);
    map = pending_.map();
    last = pending_.last();
  }
  return Snapshot(std::make_shared<Snapshot::Tree>(Snapshot::Tree{std::move(map)}), last);
}

Result<Snapshot> LoggedStore::snapshot_at(Revision revision) const {
  History::Recipe recipe;
  {
    const MutexLock lock(state_mutex_);
    if (revision == durable_.revision()) return durable_;
    if (revision > durable_.revision()) return fail(too_large_status(revision, durable_.revision()));
    if (revision < history_.floor()) return fail(expired_status(revision, history_.floor()));
    recipe = history_.recipe(revision);
  }
  return Snapshot(std::make_shared<Snapshot::Tree>(Snapshot::Tree{recipe.make()}), revision);
}

Result<Changes> LoggedStore::changes(std::string_view prefix, Revision from, std::size_t max) const {
  Changes out;
  const MutexLock lock(state_mutex_);
  if (from > durable_.revision()) return fail(too_large_status(from, durable_.revision()));
  if (from < history_.floor()) return fail(expired_status(from, history_.floor()));
  const Revision read = history_.read_after(from, prefix, max, out.events);
  out.at_end = read >= history_.last();
  out.up_to = out.at_end ? durable_.revision() : read;
  return out;
}

std::unique_ptr<Subscription> LoggedStore::listen(std::function<void()> committed) {
  return listeners_.add(std::move(committed));
}

Result<std::unique_ptr<Subscription>> LoggedStore::watch(std::string_view prefix, Revision from,
                                                         std::shared_ptr<Watcher> watcher) {
  auto follower = std::make_unique<Follower>(*this, prefix, std::move(watcher));
  if (auto following = follower->follow(from); !following) return fail(following.error());
  return follower;
}

std::pair<Snapshot, std::unique_ptr<Subscription>> LoggedStore::snapshot_and_watch(std::string_view prefix,
                                                                                   std::shared_ptr<Watcher> watcher) {
  auto follower = std::make_unique<Follower>(*this, prefix, std::move(watcher));
  Snapshot snapshot = follower->follow_snapshot();
  return {std::move(snapshot), std::move(follower)};
}

Revision LoggedStore::compacted() const {
  const MutexLock lock(state_mutex_);
  return history_.floor();
}

StoreStats LoggedStore::stats() const {
  StoreStats out;
  {
    const MutexLock lock(state_mutex_);
    out.revision = durable_.revision();
    out.compacted = history_.floor();
    out.objects = durable_.count("");
    out.history_events = history_.size();
    out.commits = commits_;
    out.ops = ops_;
  }
  const MutexLock lock(pending_mutex_);
  out.read_only = read_only_;
  out.poisoned = !poisoned_.empty();
  return out;
}

StoreUsage LoggedStore::usage() const {
  const MutexLock lock(pending_mutex_);
  return pending_.usage();
}

// --- writers ---

std::optional<Status> LoggedStore::refusal(const PendingTxn& txn) {
  if (!poisoned_.empty())
    return fail(Reason::service_unavailable,
                "the store stopped after an I/O error and must be restarted; nothing was written (" + poisoned_ + ")")
        .value();
  if (closing_) return fail(Reason::service_unavailable, "the store is closed; nothing was written").value();
  if (!read_only_ || !txn.needs_room()) return std::nullopt;
  const SteadyTime now = options_.clock->steady_now();
  if (now < next_probe_) return full_status({});
  next_probe_ = now + options_.full_probe;  // this one finds out whether there is space again
  return std::nullopt;
}

bool LoggedStore::submit(Txn txn, CommitCallback done) {
  PendingTxn prepared(std::move(txn), std::move(done));
  std::optional<Status> refused;
  bool wake = false;
  {
    const MutexLock lock(pending_mutex_);
    refused = refusal(prepared);
    if (!refused) {
      const Pending::Answer answer = pending_.accept(prepared);
      if (answer == Pending::Answer::guard_failed) return false;
      if (answer == Pending::Answer::over_quota)
        refused = quota_status(pending_.usage(), prepared);
      else
        wake = waiting_;
    }
  }
  if (refused) prepared.done(fail(std::move(*refused)));
  if (wake) work_.notify_one();
  run_on_caller();
  return true;
}

Outcome LoggedStore::compact(Revision revision) {
  std::future<Outcome> done;
  {
    const MutexLock lock(pending_mutex_);
    if (closing_ || !poisoned_.empty()) return fail(Reason::service_unavailable, "the store is closed or stopped");
    compact_requests_.push_back({revision, {}, {}});
    done = compact_requests_.back().done.get_future();
  }
  work_.notify_one();
  run_on_caller();
  return done.get();
}

void LoggedStore::close() {
  const MutexLock closing(close_mutex_);
  {
    const MutexLock lock(pending_mutex_);
    closing_ = true;
  }
  work_.notify_one();
  run_on_caller();
  if (thread_.joinable()) thread_.join();
  log_.reset();
}

// --- the commit thread ---

void LoggedStore::wait_for_work(MutexLock& lock) {
  const std::optional<SteadyTime> deadline = next_compaction();
  waiting_ = true;
  while (pending_.empty() && compact_requests_.empty() && !closing_) {
    if (!deadline) {
      work_.wait(lock);
    } else {
      const auto left = *deadline - options_.clock->steady_now();
      if (left <= left.zero() || !work_.wait_for(lock, left)) break;
    }
  }
  waiting_ = false;
}

// A callback that writes only adds to what run() goes on with.
void LoggedStore::run_on_caller() {
  if (has_thread_ || std::exchange(running_on_caller_, true)) return;
  run();
  running_on_caller_ = false;
}

void LoggedStore::run() {
  MutexLock lock(pending_mutex_);
  for (;;) {
    if (pending_.empty() && !compaction_due()) {
      if (!has_thread_ && compact_requests_.empty() && !closing_) return;
      wait_for_work(lock);
    }
    std::optional<Batch> batch;
    if (!pending_.empty()) batch = pending_.take();
    for (CompactRequest& request : compact_requests_) {
      request.revision = std::min(request.revision, durable_.revision());
      compacting_.push_back(std::move(request));
    }
    compact_requests_.clear();
    const bool more = !pending_.empty(), last = closing_ && !batch;
    lock.unlock();
    if (last) break;
    if (batch) {
      const SteadyTime begin = options_.clock->steady_now();
      commit(std::move(*batch));
      compact_beside(options_.clock->steady_now() - begin);
    } else if (compaction_due()) {
      compact_step();
    }
    if (!broken_ && batch && !more) log_->idle();
    lock.lock();
  }
  finish_compact_requests(fail(Reason::service_unavailable, "the store was closed before the log was compacted"));
}

void LoggedStore::commit(Batch batch) {
  static auto& seconds = metrics::histogram("sublet_store_commit_seconds", "Time to make one batch durable.");
  std::string error;
  Log::AppendError result = Log::AppendError::none;
  const SteadyTime begin = options_.clock->steady_now();
  if (batch.ops > 0) result = log_->append(batch.rows(durable_.revision()), error);
  if (result == Log::AppendError::full) return on_full(std::move(batch), error);
  if (result == Log::AppendError::io) return poison(error, &batch);
  const WakeBatch wakes;  // of the loops that hear of it
  if (batch.ops > 0) {
    seconds.observe(std::chrono::duration<double>(options_.clock->steady_now() - begin).count());
    publish(batch, batch.events());
  }
  answer(batch);
}

void LoggedStore::publish(Batch& batch, const std::vector<EventPtr>& events) {
  static auto& commits = metrics::counter("sublet_store_commits_total", "Batches made durable.");
  static auto& ops = metrics::counter("sublet_store_ops_total", "Changes made durable.");
  static auto& objects = metrics::gauge("sublet_store_objects", "Objects in the latest durable state.");
  commits.add();
  ops.add(events.size());
  objects.set(static_cast<std::int64_t>(batch.map.size()));
  Snapshot next(std::make_shared<Snapshot::Tree>(Snapshot::Tree{batch.map}), batch.revision);
  durable_map_ = std::move(batch.map);
  durable_bytes_ = batch.bytes;
  const Revision before = durable_.revision();
  {
    const MutexLock lock(state_mutex_);
    std::swap(durable_, next);  // the old one is released after the lock
    history_.append(events, durable_map_);
    ++commits_;
    ops_ += events.size();
  }
  mark_age(batch.revision);
  bound_history(before);
  warn_of_usage();
  listeners_.notify();
  const bool wrote =
      std::any_of(batch.txns.begin(), batch.txns.end(), [](const auto& txn) { return txn.needs_room(); });
  if (wrote) leave_read_only();
}

// A little over the limits is fine: raising the floor costs a replay, so do it for many events at once. But never above
// what watches that keep up have not read yet: `before`, the revision before the newest batch.
void LoggedStore::bound_history(Revision before) {
  std::size_t events = options_.history_events_max, bytes = options_.history_bytes_max;
  if (log_->short_of_space()) {
    events = std::min(events, kShortHistoryEvents);
    bytes = std::min(bytes, kShortHistoryBytes);
  }
  if (history_.exceeds(events + std::min(events / 16, kHistorySlackEvents),
                       bytes + std::min(bytes / 16, kHistorySlackBytes)))
    raise_floor(std::min(before, history_.floor_within(events, bytes)));
}

// For the operator; the server warns the writers.
void LoggedStore::warn_of_usage() {
  static auto& bytes =
      metrics::gauge("sublet_store_bytes", "Bytes of the objects' keys and JSON, which a quota counts.");
  static auto& percent = metrics::gauge("sublet_store_quota_used_percent", "Of the store's quota; 0 without one.");
  const StoreUsage usage{durable_map_.size(), durable_bytes_, options_.quota};
  bytes.set(static_cast<std::int64_t>(usage.bytes));
  percent.set(usage.percent());
  // Not at every step over the line and back.
  const int line = nearly_full_ ? kNearlyFullPercent - 5 : kNearlyFullPercent;
  const bool was = std::exchange(nearly_full_, usage.percent() >= line);
  if (nearly_full_ && !was) log::warning("store.nearly_full", {{"used", usage.words()}});
}

void LoggedStore::answer(Batch& batch) {
  for (PendingTxn& txn : batch.txns) {
    Committed committed;
    committed.revisions.reserve(txn.events.size());
    for (const EventPtr& event : txn.events) committed.revisions.push_back(event->revision);
    committed.events = std::move(txn.events);
    txn.done(std::move(committed));
  }
}

void LoggedStore::leave_read_only() {
  const MutexLock lock(pending_mutex_);
  if (!read_only_) return;
  read_only_ = false;
  read_only_gauge().set(0);
  log::info("store.writable", {{"why", "there is space again"}});
}

void LoggedStore::on_full(Batch batch, const std::string& text) {
  // A batch of deletes alone that does not fit fails; deletes in a batch with writes get a try of their own.
  const bool writes =
      std::any_of(batch.txns.begin(), batch.txns.end(), [](const auto& txn) { return txn.needs_room(); });
  Pending::Undone undone;
  bool was_read_only;
  {
    const MutexLock lock(pending_mutex_);
    undone = pending_.rollback(durable_map_, durable_bytes_, std::move(batch), writes);
    was_read_only = std::exchange(read_only_, true);
    next_probe_ = options_.clock->steady_now() + options_.full_probe;
  }
  read_only_gauge().set(1);
  if (!was_read_only) log::error("store.read_only", {{"why", text}});
  for (PendingTxn& txn : undone.refused) txn.done(fail(full_status(text)));
  for (PendingTxn& txn : undone.conflicting)
    txn.done(fail(Reason::conflict, "a write that this one was based on was undone because the disk is full"));
}

void LoggedStore::poison(const std::string& text, Batch* batch) {
  static auto& poisoned = metrics::gauge("sublet_store_poisoned", "1 after an I/O error of unknown outcome.");
  poisoned.set(1);
  broken_ = true;
  std::vector<PendingTxn> untried;
  {
    const MutexLock lock(pending_mutex_);
    poisoned_ = text.empty() ? "for no reason that was given" : text;
    untried = pending_.abandon(durable_map_, durable_bytes_);
  }
  log::error("store.poisoned", {{"why", text}});
  if (options_.on_poisoned) options_.on_poisoned(text);
  if (batch != nullptr)
    for (PendingTxn& txn : batch->txns)
      txn.done(fail(Reason::internal_error,
                    "the store's file could not be written (" + text +
                        "): whether this change took effect is unknown until a restart; look before you retry"));
  for (PendingTxn& txn : untried)
    txn.done(fail(Reason::service_unavailable,
                  "the store stopped after an I/O error and must be restarted; nothing was written (" + text + ")"));
  finish_compact_requests(fail(Reason::service_unavailable, "the store stopped after an I/O error (" + text + ")"));
}

// --- compaction (commit thread) ---

void LoggedStore::mark_age(Revision revision) {
  const SteadyTime now = options_.clock->steady_now();
  if (ages_.empty() || now - ages_.back().since >= age_part())
    ages_.push_back({now, revision});
  else
    ages_.back().revision = revision;
}

std::optional<SteadyTime> LoggedStore::next_compaction() const {
  if (broken_) return std::nullopt;
  if (!compacting_.empty()) return SteadyTime{};
  if (!garbage_.empty()) return compact_retry_;
  if (ages_.empty()) return std::nullopt;
  return std::max(compact_retry_, ages_.front().since + options_.compact_interval + age_part());
}

bool LoggedStore::compaction_due() const {
  const std::optional<SteadyTime> due = next_compaction();
  return due && (*due == SteadyTime{} || options_.clock->steady_now() >= *due);
}

Revision LoggedStore::floor_wanted(Revision requested) const {
  Revision floor = std::max(history_.floor(), std::min(requested, durable_.revision()));
  const SteadyTime old = options_.clock->steady_now() - options_.compact_interval - age_part();
  for (const Age& age : ages_)
    if (age.since <= old) floor = std::max(floor, age.revision);
  return floor;
}

void LoggedStore::raise_floor(Revision floor) {
  if (floor <= history_.floor()) return;
  PersistentMap map = history_.recipe(floor).make();
  History::Dropped dropped;
  {
    const MutexLock lock(state_mutex_);
    dropped = history_.raise_floor(floor, std::move(map));
  }
  std::vector<Revision> garbage;
  for (const EventPtr& event : dropped.events) add_garbage(*event, garbage);
  garbage_.insert(garbage_.end(), garbage.begin(), garbage.end());
  while (!ages_.empty() && ages_.front().revision <= floor) ages_.pop_front();
}

// Beside writers: as much time as their commits take, in steps that a commit may wait for; more only when it falls
// behind. So a writer waits for a commit and a step at most, and compaction keeps up, for a step deletes more rows than
// a commit of the same length adds.
void LoggedStore::compact_beside(SteadyTime::duration commit_took) {
  commit_took = std::min(commit_took, 10 * SteadyTime::duration(options_.compact_step));  // not of a disk that hung
  usual_commit_ += (commit_took - usual_commit_) / 8;
  if (!compaction_due()) {
    compact_credit_ = {};
    return;
  }
  compact_credit_ += commit_took / 2;
  const bool urgent = garbage_.size() > kBehindRows || log_->short_of_space();
  if (compact_credit_ < SteadyTime::duration{} && !urgent) return;
  const SteadyTime begin = options_.clock->steady_now();
  compact_step();
  const SteadyTime::duration took = options_.clock->steady_now() - begin;
  compact_credit_ = std::min(compact_credit_ - took, SteadyTime::duration(options_.compact_step));
}

/// Deletes the first `count` rows, and finds how many the next step may.
Log::AppendError LoggedStore::compact_log(std::size_t count, std::string& error) {
  const SteadyTime begin = options_.clock->steady_now();
  const Log::AppendError result =
      log_->compact({garbage_.begin(), garbage_.begin() + static_cast<std::ptrdiff_t>(count)}, history_.floor(), error);
  const SteadyTime::duration took = options_.clock->steady_now() - begin;
  const SteadyTime::duration wanted = std::max(SteadyTime::duration(options_.compact_step), usual_commit_);
  if (took > wanted)
    step_rows_ = std::min(options_.compact_step_rows, std::max(kStepRowsMin, step_rows_ / 2));
  else if (took < wanted / 2 && count == step_rows_)
    step_rows_ = std::min(options_.compact_step_rows, step_rows_ * 2);
  return result;
}

void LoggedStore::compact_step() {
  Revision requested = 0;
  for (const CompactRequest& request : compacting_) requested = std::max(requested, request.revision);
  const Revision wanted = floor_wanted(requested);
  raise_floor(std::min(wanted, history_.floor_after(kFloorStepEvents)));
  const bool raised = history_.floor() >= wanted;
  const std::size_t count = std::min({garbage_.size(), compact_rows_, step_rows_});
  std::string error;
  Log::AppendError result = Log::AppendError::none;
  if (count > 0 || (raised && log_->compacted() < history_.floor())) result = compact_log(count, error);
  if (result == Log::AppendError::io) return poison(error, nullptr);
  if (result == Log::AppendError::full && count > 1) {
    compact_rows_ = (count + 3) / 4;  // a smaller step may still fit, and frees space for the next
    return;
  }
  compact_rows_ = options_.compact_step_rows;
  if (result == Log::AppendError::full) {
    compact_retry_ = options_.clock->steady_now() + kFullCompactRetry;
    return finish_compact_requests(fail(full_status(error)));
  }
  garbage_.erase(garbage_.begin(), garbage_.begin() + static_cast<std::ptrdiff_t>(count));
  deleted_ += count;
  finish_compacted();
}

/// A request waits for the rows that were superseded below its revision, not for those that come meanwhile.
void LoggedStore::finish_compacted() {
  std::erase_if(compacting_, [this](CompactRequest& request) {
    if (history_.floor() < request.revision || log_->compacted() < request.revision) return false;
    if (!request.rows) request.rows = deleted_ + garbage_.size();
    if (deleted_ < *request.rows) return false;
    request.done.set_value({});
    return true;
  });
}

void LoggedStore::finish_compact_requests(const Outcome& outcome) {
  for (CompactRequest& request : compacting_) request.done.set_value(outcome);
  compacting_.clear();
  if (outcome) return;
  std::vector<CompactRequest> waiting;
  {
    const MutexLock lock(pending_mutex_);
    waiting.swap(compact_requests_);
  }
  for (CompactRequest& request : waiting) request.done.set_value(outcome);
}

Result<std::unique_ptr<Store>> open_store(std::unique_ptr<Log> log, StoreOptions options, bool has_thread) {
  auto recovered = recover(*log, options);
  if (!recovered) return tl::unexpected(recovered.error());
  return std::make_unique<LoggedStore>(std::move(log), std::move(options), std::move(*recovered), has_thread);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Log> log, StoreOptions options) {
  return open_store(std::move(log), std::move(options), true);
}

Result<std::unique_ptr<Store>> open_threadless_store(std::unique_ptr<Log> log, StoreOptions options) {
  return open_store(std::move(log), std::move(options), false);
}

}  // namespace sublet::store
