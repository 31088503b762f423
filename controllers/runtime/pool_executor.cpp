#include <algorithm>

#include "sublet/base/worker_pool.h"
#include "sublet/controllers/executor.h"
#include "sublet/net/loop.h"

namespace sublet::controllers {
namespace {

// Each controller has at most as many tasks in line as workers: this is never reached.
constexpr std::size_t kTasksMax = 4096;

class PoolExecutor final : public Executor {
 public:
  PoolExecutor(net::Loop& loop, int workers)
      : loop_(loop),
        pool_({.name = "controllers", .threads_max = static_cast<std::size_t>(workers), .queue_max = kTasksMax}) {}

  bool run(std::function<void()> task) override { return pool_.submit(std::move(task)); }

  TimerId at(SteadyTime due, std::function<void()> task) override {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::system().steady_now());
    return loop_.after(std::max(left, std::chrono::milliseconds(0)), std::move(task));
  }

  void cancel(TimerId id) override { loop_.cancel(id); }

 private:
  net::Loop& loop_;
  WorkerPool pool_;  // its threads end when they have had nothing to do for a while
};

}  // namespace

std::unique_ptr<Executor> make_pool_executor(net::Loop& loop, int workers) {
  return std::make_unique<PoolExecutor>(loop, workers);
}

}  // namespace sublet::controllers
