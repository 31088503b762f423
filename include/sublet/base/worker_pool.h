// WorkerPool: a few named threads for work that must not run on a loop: calls to the outside, compressing.
//
// Bounded on both sides: at most threads_max threads, made when work waits and ended when they had none for `idle`, and
// at most queue_max tasks that wait; submit() refuses what is more, so that the caller can say so (429) instead of
// piling up. Tasks run in the order of submission, several at once, and must not throw.
// Lifecycle: stop() (or the destructor) refuses what comes, drops what has not begun, and waits for what runs: so a
// task that waits for somebody else has a deadline of its own. Not from within a task. Threads: every function from any
// thread. A dropped task is destroyed on the thread that called stop().
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace sublet {

struct WorkerPoolOptions {
  std::string name;  // of the threads, as tools show them; 15 characters at most
  std::size_t threads_max = 4;
  std::size_t queue_max = 64;
  std::chrono::milliseconds idle{10'000};
};

class WorkerPool {
 public:
  explicit WorkerPool(WorkerPoolOptions options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False: the queue is full, no thread could be made, or the pool was stopped; the task will not run.
  [[nodiscard]] bool submit(std::function<void()> task);
  void stop();

  /// Threads that exist now, and tasks that wait for one.
  std::size_t threads() const;
  std::size_t waiting() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet
