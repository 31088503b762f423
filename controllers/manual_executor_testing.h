// ManualExecutor: an Executor that does nothing until the test says so: tasks run on the thread that calls run_all(),
// timers when the test's clock has reached them. What it has in line shows whether a runtime is at rest.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "sublet/base/mutex.h"
#include "sublet/controllers/executor.h"

namespace sublet::controllers {

class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(Clock& clock) : clock_(clock) {}

  bool run(std::function<void()> task) override {
    const MutexLock lock(mutex_);
    if (refuses) return false;
    tasks_.push_back(std::move(task));
    return true;
  }
  TimerId at(SteadyTime due, std::function<void()> task) override {
    const MutexLock lock(mutex_);
    timers_.emplace(std::pair(due, ++last_), std::move(task));
    return last_;
  }
  void cancel(TimerId id) override {
    const MutexLock lock(mutex_);
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }

  /// Runs what is in line or due, and what that brings, until nothing is left to do now. Says how many tasks ran.
  int run_all() {
    int ran = 0;
    while (auto task = take()) {
      task();
      ++ran;
    }
    return ran;
  }
  /// The same for no more than so many tasks.
  void run_some(int tasks) {
    for (; tasks > 0; --tasks) {
      auto task = take();
      if (!task) return;
      task();
    }
  }
  std::size_t tasks() const {
    const MutexLock lock(mutex_);
    return tasks_.size();
  }
  std::size_t timers() const {
    const MutexLock lock(mutex_);
    return timers_.size();
  }
  SteadyTime next_timer() const {
    const MutexLock lock(mutex_);
    return timers_.begin()->first.first;
  }

  std::atomic<bool> refuses{false};  // as a pool that gets no threads
  /// Which of so many tasks in line is next; null: the first. Set while nothing runs.
  std::function<std::size_t(std::size_t)> choose = nullptr;

 private:
  std::function<void()> take() {
    const MutexLock lock(mutex_);
    if (!timers_.empty() && timers_.begin()->first.first <= clock_.steady_now()) {
      auto node = timers_.extract(timers_.begin());
      return std::move(node.mapped());
    }
    if (tasks_.empty()) return nullptr;
    const auto next = tasks_.begin() + static_cast<std::ptrdiff_t>(choose ? choose(tasks_.size()) : 0);
    auto task = std::move(*next);
    tasks_.erase(next);
    return task;
  }

  Clock& clock_;
  mutable Mutex mutex_;
  std::deque<std::function<void()>> tasks_ SUBLET_GUARDED_BY(mutex_);
  std::map<std::pair<SteadyTime, TimerId>, std::function<void()>> timers_ SUBLET_GUARDED_BY(mutex_);
  TimerId last_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace sublet::controllers
