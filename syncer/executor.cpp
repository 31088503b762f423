#include "sublet/syncer/executor.h"

#include <memory>
#include <utility>

#include "sublet/base/mutex.h"
#include "sublet/base/worker_pool.h"

namespace sublet::syncer {
namespace {

// A worker waits most of its time for a server. These few are always there; others come one by one while that many keys
// are in line for each, so that a syncer that never meets a burst pays for none of them.
constexpr std::size_t kWorkersAtRest = 8;
constexpr std::size_t kKeysPerWorker = 8;

// Threads of a base pool, each of which takes keys until the queue is shut down.
class QueueWorkers final : public Executor {
 public:
  explicit QueueWorkers(int workers_max) : workers_max_(static_cast<std::size_t>(workers_max)) {}
  ~QueueWorkers() override { stop(); }

  void start(kube::WorkQueue& queue, Work work) override {
    queue_ = &queue;
    work_ = std::move(work);
    {
      const MutexLock lock(mutex_);
      threads_ = std::make_unique<WorkerPool>(
          WorkerPoolOptions{.name = "sync", .threads_max = workers_max_, .queue_max = workers_max_});
      workers_ = 0;
    }
    for (std::size_t i = 0; i < kWorkersAtRest; ++i) hire();
  }

  void stop() override {
    std::unique_ptr<WorkerPool> leaving;  // ended outside of the lock: its workers take it
    MutexLock lock(mutex_);
    leaving.swap(threads_);
    lock.unlock();
    if (leaving) leaving->stop();
  }

 private:
  void run() {
    while (auto key = queue_->get()) {
      hire();
      work_(*key);
      queue_->done(*key);
    }
  }

  void hire() {
    const std::size_t in_line = queue_->depth();
    const MutexLock lock(mutex_);
    const bool wanted = workers_ < kWorkersAtRest || in_line > workers_ * kKeysPerWorker;
    if (threads_ && wanted && workers_ < workers_max_ && threads_->submit([this] { run(); })) ++workers_;
  }

  const std::size_t workers_max_;
  kube::WorkQueue* queue_ = nullptr;  // this and work_ are set before the first worker is there
  Work work_;
  Mutex mutex_;
  std::unique_ptr<WorkerPool> threads_ SUBLET_GUARDED_BY(mutex_);  // null before start() and from stop() on
  std::size_t workers_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<Executor> make_worker_pool(int workers_max) { return std::make_unique<QueueWorkers>(workers_max); }

void SteppedExecutor::start(kube::WorkQueue& queue, Work work) {
  queue_ = &queue;
  work_ = std::move(work);
}

void SteppedExecutor::stop() { queue_ = nullptr; }

bool SteppedExecutor::step() {
  if (queue_ == nullptr) return false;
  const auto key = queue_->try_get();
  if (!key) return false;
  work_(*key);
  queue_->done(*key);
  return true;
}

}  // namespace sublet::syncer
