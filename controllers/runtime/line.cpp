#include "controllers/runtime/line.h"

#include "sublet/base/log.h"

namespace sublet::controllers {
namespace {

// Until the system may have a thread again.
constexpr std::chrono::seconds kNoWorker{1};

}  // namespace

Line::Line(std::string_view name, Executor& executor, Clock& clock, const Feeds& feeds)
    : name_(name),
      executor_(executor),
      clock_(clock),
      feeds_(feeds),
      failures_(metrics::counter("sublet_controller_failures_total", "Reconciliations that failed.",
                                 {{"controller", name_}})),
      depth_(metrics::gauge("sublet_controller_depth", "Keys in line or delayed.", {{"controller", name_}})),
      seconds_(metrics::histogram("sublet_controller_reconcile_seconds", "How long reconciliations took.",
                                  {{"controller", name_}})),
      queue_(clock) {}

void Line::add(const std::string& key) {
  queue_.add(key);
  wake();
}

void Line::add_after(const std::string& key, std::chrono::milliseconds delay) {
  if (delay <= std::chrono::milliseconds(0)) return add(key);
  queue_.add_after(key, delay);
  arm(queue_.next_due());
}

void Line::start(int workers, Reconcile reconcile) {
  {
    const MutexLock lock(mutex_);
    reconcile_ = std::move(reconcile);
    workers_ = workers;
  }
  if (!queue_.idle()) wake();
}

void Line::stop() {
  queue_.shut_down();
  MutexLock lock(mutex_);
  stopped_ = true;
  if (timer_ != 0) executor_.cancel(std::exchange(timer_, 0));
  rested_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return in_work_ == 0; });
}

bool Line::idle() const {
  const MutexLock lock(mutex_);
  return queue_.idle() && in_work_ == 0 && parked_.empty();
}

// A task more than needed finds nothing in line and ends.
void Line::wake() {
  {
    const MutexLock lock(mutex_);
    if (stopped_ || tasks_ >= workers_) return;
    ++tasks_;
  }
  submit();
}

void Line::submit() {
  if (executor_.run([self = shared_from_this()] { self->work(); })) return;
  {
    const MutexLock lock(mutex_);
    --tasks_;
  }
  arm(clock_.steady_now() + kNoWorker);
}

// One key per task, so that the controllers take turns.
void Line::work() {
  auto key = take();
  if (!key) return arm(queue_.next_due());
  wake();  // another worker may take what else is in line
  const auto begun = clock_.steady_now();
  const auto outcome = reconcile_(*key);
  seconds_.observe(std::chrono::duration<double>(clock_.steady_now() - begun).count());
  settle(*key, outcome);
  submit();
}

std::optional<std::string> Line::take() {
  const MutexLock lock(mutex_);
  while (auto key = stopped_ ? std::nullopt : queue_.try_get()) {
    if (!behind_.contains(*key)) {
      ++in_work_;
      return key;
    }
    parked_.insert(*key);
    queue_.done(*key);
  }
  --tasks_;
  return std::nullopt;
}

void Line::settle(const std::string& key, const Outcome& outcome) {
  if (outcome) {
    queue_.forget(key);
  } else {
    failures_.add();
    log::debug("controller.failed", {{"controller", name_}, {"key", key}, {"error", outcome.error().message}});
    queue_.retry(key);
  }
  remember(key);
  queue_.done(key);
  depth_.set(static_cast<std::int64_t>(queue_.depth()));
  const MutexLock lock(mutex_);
  if (--in_work_ == 0) rested_.notify_all();
}

void Line::remember(const std::string& key) {
  const auto seen = feeds_.store().snapshot().revision();
  const MutexLock lock(mutex_);
  any_behind_ = true;
  if (feeds_.revision() < seen)
    behind_[key] = seen;
  else
    behind_.erase(key);
  any_behind_ = !behind_.empty();
}

void Line::feeds_moved() {
  if (!any_behind_) return;
  std::vector<std::string> wanted;
  {
    const MutexLock lock(mutex_);
    const auto seen = feeds_.revision();
    std::erase_if(behind_, [seen](const auto& entry) { return entry.second <= seen; });
    any_behind_ = !behind_.empty();
    for (const auto& key : parked_)
      if (!behind_.contains(key)) wanted.push_back(key);
    for (const auto& key : wanted) parked_.erase(key);
  }
  for (const auto& key : wanted) add(key);
}

void Line::arm(std::optional<SteadyTime> due) {
  const MutexLock lock(mutex_);
  if (!due || stopped_ || (timer_ != 0 && timer_due_ <= *due)) return;
  if (timer_ != 0) executor_.cancel(timer_);
  timer_due_ = *due;
  timer_ = executor_.at(*due, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->fire();
  });
}

void Line::fire() {
  {
    const MutexLock lock(mutex_);
    timer_ = 0;
  }
  wake();
}

}  // namespace sublet::controllers
