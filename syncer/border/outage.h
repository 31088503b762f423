// Outage: the line in front of a host that does not answer.
//
// A key whose request to the host got no answer (nothing, or a 502, 503 or 504 of what stands before it) closes the
// way: from then on keys wait here, and one at a time is let through, the next one after 10 ms, doubling to 5 s, for as
// long as they find nobody. So a host that is away is asked now and then, however many keys want it. Its first answer
// opens the way for all, so that it is caught up with at once. One key's trouble is not the host's: until a second key
// has found nobody a new one goes at once, who is let through is another one each time, and what does not need the host
// keeps nobody waiting. Of whoever waits for long somebody may be told (to_be_told()). Threads: any.
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
  static constexpr int kWitnesses = 2;  // different keys that found nobody: so many say that the host is away
  /// Keys that failed in one that was longer are not to blame for it, and go on with the others.
  static constexpr std::chrono::milliseconds kNoKeysFault{2000};
  /// From then on it is said who waits.
  static constexpr std::chrono::milliseconds kTold{10'000};

  Outage(Clock& clock, kube::WorkQueue& queue, Random& random) : clock_(clock), queue_(queue), random_(random) {}

  /// Of each request to the host.
  void heard(bool answered);
  /// Whether the host's last word was silence.
  bool silent() const { return silent_; }

  /// Whether the key may be worked on now. False: it waits here, and comes back to the queue.
  bool may_pass(const std::string& key);
  /// A key that was let through found silence: it waits.
  void in_vain(const std::string& key);
  /// It found none, or asked nobody.
  void passed();
  std::size_t waiting() const;
  /// Keys that wait in a line which has been there for kTold; each once, for as long as the line is there.
  std::vector<std::string> to_be_told();

 private:
  std::chrono::milliseconds pause() SUBLET_REQUIRES(mutex_);
  void wait(const std::string& key, bool tried) SUBLET_REQUIRES(mutex_);
  void leave(const std::string& key) SUBLET_REQUIRES(mutex_);
  /// At the end of the pause the next of the line is put on the queue.
  void ask_turn() SUBLET_REQUIRES(mutex_);
  void take_turn() SUBLET_REQUIRES(mutex_);
  void open() SUBLET_REQUIRES(mutex_);

  Clock& clock_;
  kube::WorkQueue& queue_;
  Random& random_;
  std::atomic<bool> silent_ = false, closed_ = false;  // the latter changes under the mutex
  mutable Mutex mutex_;
  std::deque<std::string> line_ SUBLET_GUARDED_BY(mutex_);                 // of keys that wait, who comes next first
  std::unordered_map<std::string, bool> waits_ SUBLET_GUARDED_BY(mutex_);  // the same: whether each was tried in vain
  std::unordered_set<std::string> told_ SUBLET_GUARDED_BY(mutex_);         // or to be told: whoever has waited
  std::vector<std::string> untold_ SUBLET_GUARDED_BY(mutex_);
  SteadyTime closed_since_ SUBLET_GUARDED_BY(mutex_), next_ SUBLET_GUARDED_BY(mutex_);
  int tries_ SUBLET_GUARDED_BY(mutex_) = 0, tried_ SUBLET_GUARDED_BY(mutex_) = 0;  // the latter: different keys
};

/// The same client, which says of each request whether the server has answered it.
kube::Client telling(kube::Client client, std::function<void(bool answered)> heard);

}  // namespace sublet::syncer
