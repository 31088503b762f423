#include "sublet/kube/work_queue.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "sublet/base/back_off.h"
#include "sublet/base/mutex.h"

namespace sublet::kube {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kRetryBackoffMin{10};
constexpr milliseconds kRetryBackoffMax{60'000};
constexpr unsigned kFairTurn = 8;  // every 8th key is taken from a lane in turn, whatever waits before it

struct Delayed {
  SteadyTime due;
  std::uint64_t order;  // keys of one moment keep their order
  std::string key;
  bool operator<(const Delayed& other) const { return due != other.due ? due < other.due : order < other.order; }
};

/// Workers that wait in get() for the same.
struct Sleepers {
  CondVar changed;
  std::size_t waiting = 0, called = 0;  // who is called still counts as waiting until it has woken up

  /// Whom to notify, best when the queue's lock, which it takes, is free; null when nobody is left to call.
  [[nodiscard]] CondVar* call_one() {
    if (called >= waiting) return nullptr;
    ++called;
    return &changed;
  }
};

void notify(CondVar* sleeper) {
  if (sleeper) sleeper->notify_one();
}

}  // namespace

struct WorkQueue::Impl {
  Impl(Clock& c, LaneOf of, Random& r) : clock(c), lane_of(std::move(of)), jitter(r) {}

  void put_in_line(const std::string& key) SUBLET_REQUIRES(mutex) {
    const int lane = lane_of ? std::clamp(lane_of(key), 0, kLanes - 1) : 0;
    lanes[static_cast<std::size_t>(lane)].push_back(key);
  }
  [[nodiscard]] CondVar* call_for_a_key() SUBLET_REQUIRES(mutex) {
    CondVar* const sleeper = for_a_key.call_one();
    return sleeper ? sleeper : for_a_delay.call_one();
  }
  [[nodiscard]] CondVar* call_for_a_delay() SUBLET_REQUIRES(mutex) {
    CondVar* const sleeper = for_a_delay.call_one();
    return sleeper ? sleeper : for_a_key.call_one();
  }
  bool nobody_in_line() const SUBLET_REQUIRES(mutex) {
    return std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane.empty(); });
  }
  /// Some lane is not empty.
  std::string take() SUBLET_REQUIRES(mutex) {
    ++turns;
    const std::size_t first = turns % kFairTurn == 0 ? turns / kFairTurn % kLanes : 0;
    for (std::size_t step = 0;; ++step) {
      auto& lane = lanes[(first + step) % kLanes];
      if (lane.empty()) continue;
      std::string key = std::move(lane.front());
      lane.pop_front();
      return key;
    }
  }

  /// Takes a key for a worker. Some lane is not empty.
  std::string give_out() SUBLET_REQUIRES(mutex) {
    std::string key = take();
    wanted.erase(key);
    in_work.insert(key);
    return key;
  }

  /// Puts the key in line unless it is there; a key in work goes in line when it is done. Whether it did.
  bool enqueue(const std::string& key) SUBLET_REQUIRES(mutex) {
    if (!wanted.insert(key).second || in_work.contains(key)) return false;
    put_in_line(key);
    return true;
  }
  /// By who takes one of them, or whatever else is in line; others are called for the rest, and for the time.
  void release_due() SUBLET_REQUIRES(mutex) {
    const SteadyTime now = clock.steady_now();
    std::size_t released = 0;
    while (!delayed.empty() && delayed.begin()->due <= now) {
      if (enqueue(delayed.begin()->key)) ++released;
      due.erase(delayed.begin()->key);
      delayed.erase(delayed.begin());
    }
    if (released > 0 && delayed.empty()) --released;
    for (; released > 0; --released) notify(call_for_a_key());
  }
  /// A key waits for one moment only, the first that was asked for.
  [[nodiscard]] CondVar* delay(const std::string& key, milliseconds by) SUBLET_REQUIRES(mutex) {
    if (stopped) return nullptr;
    const SteadyTime at = clock.steady_now() + by;
    if (const auto waits = due.find(key); waits != due.end()) {
      if (waits->second->due <= at) return nullptr;
      delayed.erase(waits->second);
    }
    due[key] = delayed.insert({at, ++order, key}).first;
    if (delayed.begin()->key != key) return nullptr;
    return call_for_a_delay();
  }

  /// Until something may have changed. One keeps the time of the earliest delay: were it all, each delay would wake
  /// all, and one would find its key. Another is called to it when that one goes to work.
  void sleep(MutexLock& lock) SUBLET_REQUIRES(mutex) {
    const bool keeps_time = !delayed.empty() && for_a_delay.waiting == 0;
    Sleepers& fellows = keeps_time ? for_a_delay : for_a_key;
    ++fellows.waiting;
    if (keeps_time) {
      fellows.changed.wait_for(lock, delayed.begin()->due - clock.steady_now());
    } else {
      while (fellows.called == 0 && !stopped) fellows.changed.wait(lock);
    }
    --fellows.waiting;
    if (fellows.called > 0) --fellows.called;
  }

  Clock& clock;
  const LaneOf lane_of;
  Random& jitter;
  mutable Mutex mutex;
  Sleepers for_a_key SUBLET_GUARDED_BY(mutex), for_a_delay SUBLET_GUARDED_BY(mutex);  // of the latter one at most
  std::array<std::deque<std::string>, kLanes> lanes SUBLET_GUARDED_BY(mutex);
  unsigned turns SUBLET_GUARDED_BY(mutex) = 0;
  std::unordered_set<std::string> wanted SUBLET_GUARDED_BY(mutex);   // in line, or to be once no longer in work
  std::unordered_set<std::string> in_work SUBLET_GUARDED_BY(mutex);  // given out by get()
  std::set<Delayed> delayed SUBLET_GUARDED_BY(mutex);
  std::unordered_map<std::string, std::set<Delayed>::iterator> due SUBLET_GUARDED_BY(mutex);  // into `delayed`
  std::unordered_map<std::string, int> failures SUBLET_GUARDED_BY(mutex);
  std::uint64_t order SUBLET_GUARDED_BY(mutex) = 0;
  bool stopped SUBLET_GUARDED_BY(mutex) = false;
};

WorkQueue::WorkQueue(Clock& clock, LaneOf lane_of, Random& jitter)
    : impl_(std::make_unique<Impl>(clock, std::move(lane_of), jitter)) {}
WorkQueue::~WorkQueue() = default;

void WorkQueue::add(const std::string& key) {
  CondVar* sleeper = nullptr;
  {
    const MutexLock lock(impl_->mutex);
    if (!impl_->stopped && impl_->enqueue(key)) sleeper = impl_->call_for_a_key();
  }
  notify(sleeper);
}

void WorkQueue::add_after(const std::string& key, milliseconds delay) {
  if (delay <= milliseconds(0)) return add(key);
  const MutexLock lock(impl_->mutex);
  notify(impl_->delay(key, delay));
}

void WorkQueue::retry(const std::string& key) {
  const MutexLock lock(impl_->mutex);
  notify(impl_->delay(
      key, in_upper_half(doubled(kRetryBackoffMin, kRetryBackoffMax, impl_->failures[key]++), impl_->jitter)));
}

void WorkQueue::forget(const std::string& key) {
  const MutexLock lock(impl_->mutex);
  impl_->failures.erase(key);
}

std::optional<std::string> WorkQueue::get() {
  MutexLock lock(impl_->mutex);
  for (;;) {
    if (impl_->stopped) return std::nullopt;
    impl_->release_due();
    if (!impl_->nobody_in_line()) break;
    impl_->sleep(lock);
  }
  return impl_->give_out();
}

std::optional<std::string> WorkQueue::try_get() {
  const MutexLock lock(impl_->mutex);
  if (impl_->stopped) return std::nullopt;
  impl_->release_due();
  if (impl_->nobody_in_line()) return std::nullopt;
  return impl_->give_out();
}

std::optional<SteadyTime> WorkQueue::next_due() const {
  const MutexLock lock(impl_->mutex);
  if (impl_->delayed.empty()) return std::nullopt;
  return impl_->delayed.begin()->due;
}

void WorkQueue::done(const std::string& key) {
  const MutexLock lock(impl_->mutex);
  if (impl_->in_work.erase(key) == 0 || !impl_->wanted.contains(key)) return;
  impl_->put_in_line(key);
  notify(impl_->call_for_a_key());
}

void WorkQueue::shut_down() {
  const MutexLock lock(impl_->mutex);
  impl_->stopped = true;
  for (auto& lane : impl_->lanes) lane.clear();
  impl_->wanted.clear();
  impl_->delayed.clear();
  impl_->due.clear();
  impl_->for_a_key.changed.notify_all();
  impl_->for_a_delay.changed.notify_all();
}

std::size_t WorkQueue::depth() const {
  const MutexLock lock(impl_->mutex);
  return impl_->wanted.size() + impl_->delayed.size();
}

bool WorkQueue::idle(milliseconds ahead) const {
  const MutexLock lock(impl_->mutex);
  if (!impl_->wanted.empty() || !impl_->in_work.empty()) return false;
  return impl_->delayed.empty() || impl_->delayed.begin()->due > impl_->clock.steady_now() + ahead;
}

}  // namespace sublet::kube
