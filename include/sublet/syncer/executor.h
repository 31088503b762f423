// Executor: who works off the syncer's queue, and when.
//
// In production a pool of threads (make_worker_pool); in a simulation a SteppedExecutor, which reconciles one key a
// call on the caller's thread. start() again only after stop(). `work` may block (it calls servers).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/kube/work_queue.h"

namespace sublet::syncer {

class Executor {
 public:
  using Work = std::function<void(const std::string& key)>;

  virtual ~Executor() = default;
  /// From now on keys of the queue are worked off, each taken, given to `work` and reported done. The queue outlives
  /// stop().
  virtual void start(kube::WorkQueue& queue, Work work) = 0;
  /// After the queue was shut down: returns when no work runs any more.
  virtual void stop() = 0;
};

inline constexpr int kWorkersMax = 32;
/// A few threads that are always there, and up to `workers_max` while many keys are in line.
std::unique_ptr<Executor> make_worker_pool(int workers_max = kWorkersMax);

class SteppedExecutor final : public Executor {
 public:
  void start(kube::WorkQueue& queue, Work work) override;
  void stop() override;
  /// Works off the key that is next in line; false: none is (or it was not started, or is stopped).
  bool step();

 private:
  kube::WorkQueue* queue_ = nullptr;
  Work work_;
};

}  // namespace sublet::syncer
