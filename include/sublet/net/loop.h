// Loop: one thread that waits for sockets, timers and posted tasks (epoll); the Strand of production.
//
// run() occupies the calling thread until stop(). post(), after(), cancel() and stop() are thread-safe; watch_fd() and
// friends only from the loop's thread (or before run()). Callbacks run on the loop's thread and must not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "sublet/base/strand.h"

namespace sublet::net {

class Loop final : public Strand {
 public:
  Loop();
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();
  void stop();
  bool in_loop_thread() const;
  void post(std::function<void()> task) override;
  /// Runs the task on the loop's thread and waits for it. While no thread is inside run(), the caller takes its place,
  /// so that what owns sockets can be taken down before, after and while the loop runs.
  void run_sync(const std::function<void()>& task);

  TimerId after(std::chrono::milliseconds delay, std::function<void()> task) override;
  void cancel(TimerId id) override;

  /// `events` as epoll's EPOLLIN | EPOLLOUT; the callback gets what is ready.
  void watch_fd(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback);
  void change_fd(int fd, std::uint32_t events);
  /// The callback will not run again, also not for an event already fetched in this round.
  void forget_fd(int fd);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A loop on a thread of its own; joins on destruction.
class LoopThread {
 public:
  explicit LoopThread(const char* name);
  ~LoopThread();
  Loop& loop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::net
