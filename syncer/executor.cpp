#include "sublet/syncer/executor.h"

#include <thread>
#include <vector>

#include "sublet/base/mutex.h"

namespace sublet::syncer {
namespace {

// A worker waits most of its time for a server. These few are always there; others come one by one while that many keys
// are in line for each, so that a syncer that never meets a burst pays for none of them.
constexpr std::size_t kWorkersAtRest = 8;
constexpr std::size_t kKeysPerWorker = 8;

class WorkerPool final : public Executor {
 public:
  explicit WorkerPool(int workers_max) : workers_max_(static_cast<std::size_t>(workers_max)) {}
  ~WorkerPool() override { stop(); }

  void start(kube::WorkQueue& queue, Work work) override {
    queue_ = &queue;
    work_ = std::move(work);
    {
      const MutexLock lock(mutex_);
      hiring_ = true;
    }
    for (std::size_t i = 0; i < kWorkersAtRest; ++i) hire();
  }

  void stop() override {
    std::vector<std::thread> leaving;
    {
      const MutexLock lock(mutex_);
      hiring_ = false;
      leaving.swap(workers_);
    }
    for (auto& worker : leaving) worker.join();
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
    const std::size_t there = workers_.size();
    const bool wanted = there < kWorkersAtRest || in_line > there * kKeysPerWorker;
    if (hiring_ && wanted && there < workers_max_) workers_.emplace_back([this] { run(); });
  }

  const std::size_t workers_max_;
  kube::WorkQueue* queue_ = nullptr;  // this and work_ are set before the first worker is there
  Work work_;
  Mutex mutex_;
  std::vector<std::thread> workers_ SUBLET_GUARDED_BY(mutex_);
  bool hiring_ SUBLET_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Executor> make_worker_pool(int workers_max) { return std::make_unique<WorkerPool>(workers_max); }

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
