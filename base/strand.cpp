#include "sublet/base/strand.h"

#include <algorithm>

namespace sublet {

void SteppedStrand::post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(task));
  }
  if (on_post_) on_post_();
}

Strand::TimerId SteppedStrand::after(std::chrono::milliseconds delay, std::function<void()> task) {
  const MutexLock lock(mutex_);
  timers_.emplace(std::pair(clock_.steady_now() + delay, ++last_id_), std::move(task));
  return last_id_;
}

void SteppedStrand::cancel(TimerId id) {
  const MutexLock lock(mutex_);
  const auto timer = std::ranges::find_if(timers_, [&](const auto& entry) { return entry.first.second == id; });
  if (timer != timers_.end()) timers_.erase(timer);
}

std::function<void()> SteppedStrand::take() {
  const MutexLock lock(mutex_);
  std::function<void()> task;
  if (!timers_.empty() && timers_.begin()->first.first <= clock_.steady_now()) {
    task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
  } else if (!posted_.empty()) {
    task = std::move(posted_.front());
    posted_.pop_front();
  }
  return task;
}

bool SteppedStrand::step() {
  const auto task = take();
  if (task) task();
  return task != nullptr;
}

}  // namespace sublet
