// Outage: holds back queue keys while the host does not answer.
//
// A key whose request had no answer (none, or a 502, 503 or 504 of a proxy) closes the gate. While it is closed, keys
// wait here and one at a time is tried, the next after 10 ms, doubling to 5 s. So a host that is away is asked rarely,
// however many keys need it; its first answer opens the gate for all of them. A failing key does not prove that the
// host is away: until kSilentKeys different keys had no answer, a new key is tried at once. Each try takes another key,
// and keys that do not need the host are not delayed. take_due_reports() names keys that have waited for long. Threads:
// any.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/base/random.h"
#include "sublet/kube/client.h"
#include "sublet/kube/work_queue.h"

namespace sublet::syncer {

class Outage {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{10}, kLongestPause{5000};
  static constexpr int kSilentKeys = 2;  // so many different keys without an answer mean that the host is away
  /// After an outage that was longer, keys that failed in it are retried without delay.
  static constexpr std::chrono::milliseconds kLongOutage{2000};
  /// After so long, waiting keys are reported.
  static constexpr std::chrono::milliseconds kReportAfter{10'000};

  Outage(Clock& clock, kube::WorkQueue& queue, Random& random) : clock_(clock), queue_(queue), random_(random) {}

  /// Records how a request to the host ended.
  void note_answer(bool answered);
  /// Returns true if the last request had no answer.
  bool silent() const { return silent_; }

  /// Returns true if the key may be worked on now. Otherwise it waits here, and comes back to the queue.
  bool may_work(const std::string& key);
  /// A key that was worked on had no answer: it waits.
  void add_unanswered(const std::string& key);
  /// A key that was worked on had an answer, or did not need the host.
  void note_progress();
  std::size_t waiting() const;
  /// Returns the keys that wait in an outage longer than kReportAfter, each once per outage.
  std::vector<std::string> take_due_reports();

 private:
  std::chrono::milliseconds pause() SUBLET_REQUIRES(mutex_);
  void wait(const std::string& key, bool tried) SUBLET_REQUIRES(mutex_);
  void leave(const std::string& key) SUBLET_REQUIRES(mutex_);
  /// Puts the next waiting key on the queue at the end of the pause.
  void ask_turn() SUBLET_REQUIRES(mutex_);
  void take_turn() SUBLET_REQUIRES(mutex_);
  void open() SUBLET_REQUIRES(mutex_);

  Clock& clock_;
  kube::WorkQueue& queue_;
  Random& random_;
  std::atomic<bool> silent_ = false, closed_ = false;  // the latter changes under the mutex
  mutable Mutex mutex_;
  std::deque<std::string> line_ SUBLET_GUARDED_BY(mutex_);                 // keys that wait, the next first
  std::unordered_map<std::string, bool> waits_ SUBLET_GUARDED_BY(mutex_);  // the same: whether each had no answer
  std::unordered_set<std::string> reported_ SUBLET_GUARDED_BY(mutex_);     // or to be reported
  std::vector<std::string> unreported_ SUBLET_GUARDED_BY(mutex_);
  SteadyTime closed_since_ SUBLET_GUARDED_BY(mutex_), next_ SUBLET_GUARDED_BY(mutex_);
  int tries_ SUBLET_GUARDED_BY(mutex_) = 0, tried_ SUBLET_GUARDED_BY(mutex_) = 0;  // the latter: different keys
};

/// How one request ended: with the head of an answer, or without one.
struct Answer {
  bool answered = false;  // false also for a 502, 503 or 504 of a proxy in front of the server
  int code = 0;           // 0: none came
  std::string cause;      // of a request without an answer
  std::chrono::milliseconds latency{0};
};
/// Returns the same client, which reports how each request ended. `report` is called on the transport's threads.
kube::Client reporting(kube::Client client, Clock& clock, std::function<void(const Answer&)> report);

}  // namespace sublet::syncer
