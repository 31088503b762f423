#include "sublet/base/worker_pool.h"

#include <pthread.h>

#include <deque>
#include <list>
#include <system_error>
#include <thread>

#include "sublet/base/mutex.h"

namespace sublet {

struct WorkerPool::Impl {
  using Threads = std::list<std::thread>;

  explicit Impl(WorkerPoolOptions options_) : options(std::move(options_)) {}

  /// The new thread finds itself in `running`.
  bool start_thread() SUBLET_REQUIRES(mutex);
  void work(Threads::iterator self);
  /// Waits for a task; false when this thread is to end.
  bool next(MutexLock& lock, std::function<void()>& task) SUBLET_REQUIRES(mutex);

  const WorkerPoolOptions options;
  mutable Mutex mutex;
  CondVar work_or_stop;
  std::deque<std::function<void()>> queue SUBLET_GUARDED_BY(mutex);
  Threads running SUBLET_GUARDED_BY(mutex);
  Threads ended SUBLET_GUARDED_BY(mutex);  // returned or about to; joined by the next submit() or by stop()
  std::size_t idle SUBLET_GUARDED_BY(mutex) = 0;
  bool stopped SUBLET_GUARDED_BY(mutex) = false;
};

bool WorkerPool::Impl::start_thread() {
  const auto self = running.emplace(running.end());
  try {
    *self = std::thread([this, self] { work(self); });
  } catch (const std::system_error&) {  // the system has no more threads to give
    running.erase(self);
  }
  return !running.empty();
}

bool WorkerPool::Impl::next(MutexLock& lock, std::function<void()>& task) {
  ++idle;
  work_or_stop.wait_for(lock, options.idle, [this]() SUBLET_REQUIRES(mutex) { return stopped || !queue.empty(); });
  --idle;
  if (queue.empty()) return false;
  task = std::move(queue.front());
  queue.pop_front();
  return true;
}

void WorkerPool::Impl::work(Threads::iterator self) {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, 15).c_str());
  MutexLock lock(mutex);
  std::function<void()> task;
  while (next(lock, task)) {
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
  }
  if (!stopped) ended.splice(ended.end(), running, self);  // stop() joins `running` itself
}

WorkerPool::WorkerPool(WorkerPoolOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::submit(std::function<void()> task) {
  Impl::Threads ended;
  bool taken = false;
  {
    const MutexLock lock(impl_->mutex);
    ended.swap(impl_->ended);
    const bool room = !impl_->stopped && impl_->queue.size() < impl_->options.queue_max;
    const bool needs_thread = impl_->idle <= impl_->queue.size() && impl_->running.size() < impl_->options.threads_max;
    taken = room && (needs_thread ? impl_->start_thread() : true);
    if (taken) impl_->queue.push_back(std::move(task));
  }
  if (taken) impl_->work_or_stop.notify_one();
  for (auto& thread : ended) thread.join();  // has nothing left to do
  return taken;
}

void WorkerPool::stop() {
  Impl::Threads threads;
  std::deque<std::function<void()>> dropped;
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopped = true;
    threads.splice(threads.end(), impl_->running);
    threads.splice(threads.end(), impl_->ended);
    dropped.swap(impl_->queue);
  }
  impl_->work_or_stop.notify_all();
  for (auto& thread : threads) thread.join();
}

std::size_t WorkerPool::threads() const {
  const MutexLock lock(impl_->mutex);
  return impl_->running.size();
}

std::size_t WorkerPool::waiting() const {
  const MutexLock lock(impl_->mutex);
  return impl_->queue.size();
}

}  // namespace sublet
