#include "sublet/net/loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/loop/loop_clock.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/mutex.h"
#include "sublet/base/wake_batch.h"

namespace sublet::net {
namespace {

using Task = std::function<void()>;

constexpr int kEventsPerRound = 256;
constexpr std::uint32_t kWakeGeneration = 0;  // no watch ever has it
// Cancelled timers leave their heap entry behind; the heap is rebuilt when they outnumber the live ones by this.
constexpr std::size_t kStaleTimersMax = 1024;

struct Watch {
  std::uint32_t generation = 0;
  std::uint32_t events = 0;
  std::function<void(std::uint32_t)> callback;
};

/// How a loop sleeps and is woken. A WakeBatch may hold it longer than the loop lives. Of the flags `posted` changes,
/// and `sleeping` becomes true, with the loop's mutex held: who posts either sees it sleep or is seen.
struct Wake final : Sleeper {
  const Descriptor fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> posted{false};    // there are tasks that the loop has not taken
  std::atomic<bool> sleeping{false};  // in epoll_wait with nothing to do: a post must wake it

  void wake() override {
    if (posted) now();
  }
  void now() {
    if (!sleeping.exchange(false)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd.get(), &one, sizeof(one));  // full counter: awake anyway
  }
};

struct TimerEntry {
  SteadyTime when;
  Loop::TimerId id;
  // std::push_heap keeps the greatest on top: the earliest must be "greatest".
  bool operator<(const TimerEntry& other) const { return std::tie(other.when, other.id) < std::tie(when, id); }
};

thread_local const Clock* loop_clock = nullptr;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();  // no descriptors left at start: nothing can be served
}

}  // namespace

LoopClock::LoopClock(const Clock& clock) : before_(std::exchange(loop_clock, &clock)) {}
LoopClock::~LoopClock() { loop_clock = before_; }
const Clock& LoopClock::current() { return loop_clock ? *loop_clock : Clock::system(); }

struct Loop::Impl {
  // constant after construction
  const Clock& clock = LoopClock::current();
  Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
  const std::shared_ptr<Wake> wake = std::make_shared<Wake>();

  // own synchronisation
  Mutex run_mutex;  // held by the loop's thread or its substitute
  std::atomic<std::thread::id> owner;

  Mutex mutex;
  std::vector<Task> tasks SUBLET_GUARDED_BY(mutex);
  std::vector<TimerEntry> heap SUBLET_GUARDED_BY(mutex);
  std::unordered_map<TimerId, Task> timers SUBLET_GUARDED_BY(mutex);
  TimerId last_timer SUBLET_GUARDED_BY(mutex) = 0;
  bool stop_requested SUBLET_GUARDED_BY(mutex) = false;

  // the loop's thread only
  std::vector<std::shared_ptr<Watch>> watches;  // by file descriptor
  std::uint32_t last_generation = kWakeGeneration;

  /// Returns whom to wake: null when the loop is awake.
  [[nodiscard]] std::shared_ptr<Wake> add(Task task) {
    const MutexLock lock(mutex);
    tasks.push_back(std::move(task));
    wake->posted = true;
    return wake->sleeping ? wake : nullptr;
  }

  int wait_ms() SUBLET_REQUIRES(mutex) {
    if (!tasks.empty()) return 0;
    while (!heap.empty() && !timers.contains(heap.front().id)) pop_timer();
    if (heap.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(heap.front().when - clock.steady_now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
  }

  void pop_timer() SUBLET_REQUIRES(mutex) {
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }

  void run_due_timers() {
    const auto now = clock.steady_now();
    for (;;) {
      Task task;
      {
        const MutexLock lock(mutex);
        if (heap.empty() || heap.front().when > now) return;
        auto node = timers.extract(heap.front().id);
        pop_timer();
        if (node.empty()) continue;
        task = std::move(node.mapped());
      }
      task();
    }
  }

  void run_tasks() {
    std::vector<Task> ready;
    {
      const MutexLock lock(mutex);
      ready.swap(tasks);
      wake->posted = false;
    }
    for (auto& task : ready) {
      task();
      task = nullptr;  // what it captured goes now, not at the end of the round
    }
  }

  void dispatch(const epoll_event& event) {
    const auto fd = static_cast<std::size_t>(event.data.u64 & 0xffffffff);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    if (generation == kWakeGeneration) {
      std::uint64_t count;
      [[maybe_unused]] const auto got = ::read(wake->fd.get(), &count, sizeof(count));
      return;
    }
    if (fd >= watches.size() || !watches[fd] || watches[fd]->generation != generation) return;
    const auto watch = watches[fd];  // the callback may forget itself
    watch->callback(event.events);
  }
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {
  if (!impl_->epoll || !impl_->wake->fd) die("sublet: epoll");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = std::uint64_t{kWakeGeneration} << 32;
  if (::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_ADD, impl_->wake->fd.get(), &event) != 0) die("sublet: epoll_ctl");
}

Loop::~Loop() {
  // What tasks, timers and watches captured may call back into this loop while it is destroyed: give it up in rounds,
  // outside of the lock.
  for (bool done = false; !done;) {
    std::vector<Task> tasks;
    std::unordered_map<TimerId, Task> timers;
    std::vector<std::shared_ptr<Watch>> watches;
    {
      const MutexLock lock(impl_->mutex);
      tasks.swap(impl_->tasks);
      timers.swap(impl_->timers);
      watches.swap(impl_->watches);
    }
    done = tasks.empty() && timers.empty() && watches.empty();
  }
}

void Loop::run() {
  const MutexLock running(impl_->run_mutex);
  impl_->owner.store(std::this_thread::get_id());
  std::vector<epoll_event> events(kEventsPerRound);
  for (;;) {
    int timeout;
    {
      const MutexLock lock(impl_->mutex);
      if (std::exchange(impl_->stop_requested, false)) break;
      timeout = impl_->wait_ms();
      impl_->wake->sleeping = timeout != 0;
    }
    const int count = ::epoll_wait(impl_->epoll.get(), events.data(), kEventsPerRound, timeout);
    impl_->wake->sleeping = false;
    for (int i = 0; i < count; ++i) impl_->dispatch(events[static_cast<std::size_t>(i)]);
    impl_->run_due_timers();
    impl_->run_tasks();
    impl_->run_tasks();  // what those left (answers to send, a next step) need not wait for the kernel's word
  }
  impl_->owner.store(std::thread::id());
}

void Loop::stop() {
  const auto wake = impl_->wake;
  {
    const MutexLock lock(impl_->mutex);
    impl_->stop_requested = true;
  }
  wake->now();
}

bool Loop::in_loop_thread() const { return impl_->owner.load() == std::this_thread::get_id(); }

void Loop::post(std::function<void()> task) {
  const auto wake = impl_->add(std::move(task));
  if (wake && !WakeBatch::defer(wake)) wake->now();
}

void Loop::run_sync(const std::function<void()>& task) {
  if (in_loop_thread()) return task();
  struct Ticket {
    Mutex mutex;
    CondVar done_changed;
    bool claimed SUBLET_GUARDED_BY(mutex) = false, done SUBLET_GUARDED_BY(mutex) = false;
  };
  const auto ticket = std::make_shared<Ticket>();
  const auto claim = [](Ticket& t) {
    const MutexLock lock(t.mutex);
    return !std::exchange(t.claimed, true);
  };
  const auto wake = impl_->add([ticket, claim, task] {
    if (!claim(*ticket)) return;
    task();
    const MutexLock lock(ticket->mutex);
    ticket->done = true;
    ticket->done_changed.notify_all();
  });
  if (wake) wake->now();  // also in a batch: somebody waits
  for (;;) {
    if (impl_->run_mutex.try_lock()) {
      const bool claimed = claim(*ticket);
      if (claimed) {
        impl_->owner.store(std::this_thread::get_id());
        task();
        impl_->owner.store(std::thread::id());
      }
      impl_->run_mutex.unlock();
      if (claimed) return;
    }
    MutexLock lock(ticket->mutex);
    // The slice only matters when run() returned after the post: then the next turn finds run_mutex free.
    if (ticket->done_changed.wait_for(lock, std::chrono::milliseconds(20),
                                      [&]() SUBLET_REQUIRES(ticket->mutex) { return ticket->done; }))
      return;
  }
}

Loop::TimerId Loop::after(std::chrono::milliseconds delay, std::function<void()> task) {
  MutexLock lock(impl_->mutex);
  const TimerId id = ++impl_->last_timer;
  const auto when = impl_->clock.steady_now() + delay;
  const bool earliest = impl_->heap.empty() || when < impl_->heap.front().when;
  impl_->timers.emplace(id, std::move(task));
  impl_->heap.push_back({when, id});
  std::push_heap(impl_->heap.begin(), impl_->heap.end());
  if (!earliest) return id;
  const auto wake = impl_->wake;
  lock.unlock();
  wake->now();
  return id;
}

void Loop::cancel(TimerId id) {
  std::unordered_map<TimerId, Task>::node_type node;  // destroyed after the lock is given back
  const MutexLock lock(impl_->mutex);
  node = impl_->timers.extract(id);
  if (impl_->heap.size() < 2 * impl_->timers.size() + kStaleTimersMax) return;
  std::erase_if(impl_->heap, [this](const TimerEntry& entry)
                                 SUBLET_REQUIRES(impl_->mutex) { return !impl_->timers.contains(entry.id); });
  std::make_heap(impl_->heap.begin(), impl_->heap.end());
}

void Loop::watch_fd(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= impl_->watches.size()) impl_->watches.resize(index + 1);
  if (++impl_->last_generation == kWakeGeneration) ++impl_->last_generation;
  auto watch = std::make_shared<Watch>(Watch{impl_->last_generation, events, std::move(callback)});
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{watch->generation} << 32) | static_cast<std::uint32_t>(fd);
  impl_->watches[index] = std::move(watch);
  if (::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    ::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::change_fd(int fd, std::uint32_t events) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= impl_->watches.size() || !impl_->watches[index]) return;
  auto& watch = *impl_->watches[index];
  if (watch.events == events) return;
  watch.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{watch.generation} << 32) | static_cast<std::uint32_t>(fd);
  ::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget_fd(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= impl_->watches.size() || !impl_->watches[index]) return;
  const auto watch = std::move(impl_->watches[index]);  // destroyed last: its captures may come back here
  ::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
}

struct LoopThread::Impl {
  Loop loop;
  std::thread thread;
};

LoopThread::LoopThread(const char* name) : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([this, label = std::string(name).substr(0, 15)] {
    ::pthread_setname_np(::pthread_self(), label.c_str());
    impl_->loop.run();
  });
}

LoopThread::~LoopThread() {
  impl_->loop.stop();
  impl_->thread.join();
}

Loop& LoopThread::loop() { return impl_->loop; }

}  // namespace sublet::net
