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
constexpr milliseconds kBackoffMin{10};
constexpr milliseconds kBackoffMax{60'000};
constexpr unsigned kFairTurn = 8;  // every 8th key is taken from a lane in turn, whatever waits before it

struct Delayed {
  SteadyTime due;
  std::uint64_t order;  // keys of one moment keep their order
  std::string key;
  bool operator<(const Delayed& other) const { return due != other.due ? due < other.due : order < other.order; }
};

}  // namespace

struct WorkQueue::Impl {
  Impl(Clock& c, LaneOf of, Random& r) : clock(c), lane_of(std::move(of)), jitter(r) {}

  void put_in_line(const std::string& key) SUBLET_REQUIRES(mutex) {
    const int lane = lane_of ? std::clamp(lane_of(key), 0, kLanes - 1) : 0;
    lanes[static_cast<std::size_t>(lane)].push_back(key);
    changed.notify_one();
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

  /// Puts the key in line unless it is there; a key in work goes in line when it is done.
  void enqueue(const std::string& key) SUBLET_REQUIRES(mutex) {
    if (!wanted.insert(key).second || in_work.contains(key)) return;
    put_in_line(key);
  }
  void release_due() SUBLET_REQUIRES(mutex) {
    const SteadyTime now = clock.steady_now();
    while (!delayed.empty() && delayed.begin()->due <= now) {
      enqueue(delayed.begin()->key);
      due.erase(delayed.begin()->key);
      delayed.erase(delayed.begin());
    }
  }
  /// A key waits for one moment only, the first that was asked for.
  void delay(const std::string& key, milliseconds by) SUBLET_REQUIRES(mutex) {
    if (stopped) return;
    const SteadyTime at = clock.steady_now() + by;
    if (const auto waits = due.find(key); waits != due.end()) {
      if (waits->second->due <= at) return;
      delayed.erase(waits->second);
    }
    due[key] = delayed.insert({at, ++order, key}).first;
    changed.notify_one();
  }

  Clock& clock;
  const LaneOf lane_of;
  Random& jitter;
  mutable Mutex mutex;
  CondVar changed;  // a key came in line, an earlier delay, or the end
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
  const MutexLock lock(impl_->mutex);
  if (!impl_->stopped) impl_->enqueue(key);
}

void WorkQueue::add_after(const std::string& key, milliseconds delay) {
  if (delay <= milliseconds(0)) return add(key);
  const MutexLock lock(impl_->mutex);
  impl_->delay(key, delay);
}

void WorkQueue::retry(const std::string& key) {
  const MutexLock lock(impl_->mutex);
  impl_->delay(key, in_upper_half(doubled(kBackoffMin, kBackoffMax, impl_->failures[key]++), impl_->jitter));
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
    if (impl_->delayed.empty()) {
      impl_->changed.wait(lock);
    } else {
      impl_->changed.wait_for(lock, impl_->delayed.begin()->due - impl_->clock.steady_now());
    }
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
}

void WorkQueue::shut_down() {
  const MutexLock lock(impl_->mutex);
  impl_->stopped = true;
  for (auto& lane : impl_->lanes) lane.clear();
  impl_->wanted.clear();
  impl_->delayed.clear();
  impl_->due.clear();
  impl_->changed.notify_all();
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
