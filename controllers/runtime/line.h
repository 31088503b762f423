// Line: one controller's keys on their way to its reconcile(), at most so many at a time, served by the shared
// executor.
//
// A key that failed comes back after its back-off. A key is reconciled again only once the feeds have seen all that the
// store held when its last reconcile ended, so that what that one made is in the indexes: two reconciles in a row never
// make the same thing twice. (Upstream counts expected additions and deletions for this; one store with one revision
// needs no counting.)
// At rest a Line has neither a task nor a timer with the executor. Lifecycle: keys are taken from the beginning, worked
// on between start() and stop(), which waits for what is being reconciled. Threads: every function from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "controllers/runtime/feed.h"
#include "sublet/base/metrics.h"
#include "sublet/base/mutex.h"
#include "sublet/base/status.h"
#include "sublet/controllers/executor.h"
#include "sublet/kube/work_queue.h"

namespace sublet::controllers {

class Line : public std::enable_shared_from_this<Line> {
 public:
  using Reconcile = std::function<Outcome(const std::string& key)>;
  Line(std::string_view name, Executor& executor, Clock& clock, const Feeds& feeds);

  void add(const std::string& key);
  void add_after(const std::string& key, std::chrono::milliseconds delay);
  void start(int workers, Reconcile reconcile);
  void stop();
  /// Nothing in line, nothing in work, nothing that waits for a feed.
  bool idle() const;
  /// The feeds have moved. Quick when no key waits for that.
  void feeds_moved();

 private:
  void wake();
  void submit();
  void work();
  std::optional<std::string> take();
  void settle(const std::string& key, const Outcome& outcome);
  void remember(const std::string& key);
  void arm(std::optional<SteadyTime> due);
  void fire();

  const std::string name_;
  Executor& executor_;
  Clock& clock_;
  const Feeds& feeds_;
  metrics::Counter& failures_;
  metrics::Gauge& depth_;
  metrics::Histogram& seconds_;
  kube::WorkQueue queue_;
  Reconcile reconcile_;                  // fixed by start()
  std::atomic<bool> any_behind_{false};  // set before the feeds' revision is read, so that no move of theirs is missed

  mutable Mutex mutex_;
  CondVar rested_;
  int workers_ SUBLET_GUARDED_BY(mutex_) = 0;  // 0: not started
  int tasks_ SUBLET_GUARDED_BY(mutex_) = 0;    // with the executor, in line or running
  int in_work_ SUBLET_GUARDED_BY(mutex_) = 0;  // keys
  bool stopped_ SUBLET_GUARDED_BY(mutex_) = false;
  Executor::TimerId timer_ SUBLET_GUARDED_BY(mutex_) = 0;
  SteadyTime timer_due_ SUBLET_GUARDED_BY(mutex_){};
  std::unordered_map<std::string, store::Revision> behind_
      SUBLET_GUARDED_BY(mutex_);  // keys, and what the feeds must have seen before they go on
  std::unordered_set<std::string> parked_ SUBLET_GUARDED_BY(mutex_);  // those of them that are wanted
};

}  // namespace sublet::controllers
