// Order: the two queues that in production have threads, each worked off a step at a time: the informers' strand and
// the reconcilers' executor. A step of the executor may run within another's, as its worker beside the other's would:
// the work queue gives no key to two.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "sublet/base/strand.h"
#include "sublet/syncer/executor.h"
#include "tests/simulation/sim_clock.h"

namespace sublet::simulation {

class SimStrand final : public Strand {
 public:
  explicit SimStrand(const SimClock& clock) : clock_(clock) {}

  void post(std::function<void()> task) override { posted_.push_back(std::move(task)); }
  TimerId after(std::chrono::milliseconds delay, std::function<void()> task) override {
    timers_.emplace(std::pair(clock_.steady_now() + delay, ++last_), std::move(task));
    return last_;
  }
  void cancel(TimerId id) override {
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }
  bool has_work() const { return !posted_.empty() || (next_due() && *next_due() <= clock_.steady_now()); }
  std::optional<SteadyTime> next_due() const {
    return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.first);
  }
  /// Runs the next task, if one is due.
  void step() {
    std::function<void()> task;
    if (!timers_.empty() && timers_.begin()->first.first <= clock_.steady_now()) {
      task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    } else if (!posted_.empty()) {
      task = std::move(posted_.front());
      posted_.pop_front();
    }
    if (task) task();
  }

 private:
  const SimClock& clock_;
  std::deque<std::function<void()>> posted_;
  std::map<std::pair<SteadyTime, TimerId>, std::function<void()>> timers_;
  TimerId last_ = 0;
};

class SimExecutor final : public syncer::Executor {
 public:
  void start(kube::WorkQueue& queue, Work work) override {
    queue_ = &queue;
    work_ = std::move(work);
  }
  void stop() override { queue_ = nullptr; }
  /// Works off the next key and gives it; none: nothing is in line.
  std::optional<std::string> step() {
    if (queue_ == nullptr) return std::nullopt;
    kube::WorkQueue& queue = *queue_;
    auto key = queue.try_get();
    if (!key) return std::nullopt;
    work_(*key);
    queue.done(*key);
    return key;
  }
  /// When the next of the keys that wait comes in line.
  std::optional<SteadyTime> next_due() const { return queue_ ? queue_->next_due() : std::nullopt; }

 private:
  kube::WorkQueue* queue_ = nullptr;
  Work work_;
};

}  // namespace sublet::simulation
