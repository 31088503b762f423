#include "sublet/kube/pipeline.h"

#include <deque>
#include <unordered_map>
#include <vector>

#include "kube/answer.h"
#include "sublet/base/mutex.h"

namespace sublet::kube {
namespace {

struct Job {
  net::Request request;
  Pipeline::Done done;
};

/// Collects one answer and hands it on.
class Collector final : public net::ResponseObserver {
 public:
  explicit Collector(std::function<void(Result<std::string>)> finish) : finish_(std::move(finish)) {}
  void on_head(int code, const net::Headers& headers) override {
    code_ = code;
    if (!is_success(code)) headers_ = headers;
  }
  void on_body(std::string_view chunk) override { body_.append(chunk); }
  void on_end(Outcome outcome) override {
    if (!outcome) return finish_(fail(outcome.error()));
    if (!is_success(code_)) return finish_(fail(status_from_answer(code_, headers_, body_)));
    finish_(std::move(body_));
  }

 private:
  const std::function<void(Result<std::string>)> finish_;
  int code_ = 0;
  net::Headers headers_;
  std::string body_;
};

}  // namespace

struct Pipeline::Impl : std::enable_shared_from_this<Impl> {
  Impl(net::Loop& l, const Client& c, std::size_t max) : loop(l), client(c), in_flight_max(max) {}

  /// On the loop: takes in what was answered, then starts what has room.
  void turn();
  void wake();
  void finish_answered() SUBLET_REQUIRES(turn_mutex);
  void start_waiting() SUBLET_REQUIRES(turn_mutex);
  void start(Job job) SUBLET_REQUIRES(turn_mutex);

  net::Loop& loop;
  const Client client;
  const std::size_t in_flight_max;

  Mutex turn_mutex;  // held while the loop works here
  bool stopped SUBLET_GUARDED_BY(turn_mutex) = false;
  struct Running {
    std::unique_ptr<net::Exchange> exchange;
    Done done;
  };
  std::unordered_map<std::uint64_t, Running> running SUBLET_GUARDED_BY(turn_mutex);
  std::uint64_t last_id SUBLET_GUARDED_BY(turn_mutex) = 0;

  mutable Mutex mutex;  // never held while calling out
  std::deque<Job> lines[2] SUBLET_GUARDED_BY(mutex);
  std::vector<std::pair<std::uint64_t, Result<std::string>>> answered SUBLET_GUARDED_BY(mutex);
  std::size_t unfinished SUBLET_GUARDED_BY(mutex) = 0;
  bool wake_pending SUBLET_GUARDED_BY(mutex) = false;
};

void Pipeline::Impl::wake() {
  loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
}

void Pipeline::Impl::turn() {
  const MutexLock lock(turn_mutex);
  if (stopped) return;
  {
    const MutexLock inner(mutex);
    wake_pending = false;
  }
  finish_answered();
  start_waiting();
}

void Pipeline::Impl::finish_answered() {
  std::vector<std::pair<std::uint64_t, Result<std::string>>> batch;
  {
    const MutexLock lock(mutex);
    batch.swap(answered);
    unfinished -= batch.size();
  }
  for (auto& [id, result] : batch) {
    const auto found = running.find(id);
    const Running finished = std::move(found->second);
    running.erase(found);
    if (finished.done) finished.done(std::move(result));
  }
}

void Pipeline::Impl::start_waiting() {
  while (running.size() < in_flight_max) {
    Job job;
    {
      const MutexLock lock(mutex);
      auto& line = lines[0].empty() ? lines[1] : lines[0];
      if (line.empty()) return;
      job = std::move(line.front());
      line.pop_front();
    }
    start(std::move(job));
  }
}

void Pipeline::Impl::start(Job job) {
  const std::uint64_t id = ++last_id;
  auto collector = std::make_shared<Collector>([weak = weak_from_this(), id](Result<std::string> result) {
    const auto self = weak.lock();
    if (!self) return;
    {
      const MutexLock lock(self->mutex);
      self->answered.emplace_back(id, std::move(result));
      if (std::exchange(self->wake_pending, true)) return;
    }
    self->wake();
  });
  Running& entry = running[id];  // before start(): the answer may come from within
  entry.done = std::move(job.done);
  entry.exchange = client.transport().start(std::move(job.request), std::move(collector), client.options().timeout);
}

Pipeline::Pipeline(net::Loop& loop, const Client& client, std::size_t in_flight_max)
    : impl_(std::make_shared<Impl>(loop, client, in_flight_max)) {}

Pipeline::~Pipeline() {
  std::unordered_map<std::uint64_t, Impl::Running> running;
  {
    const MutexLock lock(impl_->turn_mutex);
    impl_->stopped = true;
    running.swap(impl_->running);
  }
  running.clear();  // cancels, outside the lock: it may wait for an observer call on another thread
}

void Pipeline::send(net::Request request, Done done, Line line) {
  {
    const MutexLock lock(impl_->mutex);
    impl_->lines[static_cast<std::size_t>(line)].push_back({std::move(request), std::move(done)});
    ++impl_->unfinished;
    if (std::exchange(impl_->wake_pending, true)) return;
  }
  impl_->wake();
}

std::size_t Pipeline::depth() const {
  const MutexLock lock(impl_->mutex);
  return impl_->unfinished;
}

}  // namespace sublet::kube
