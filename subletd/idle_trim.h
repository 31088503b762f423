// IdleTrim: gives what requests left free in malloc back to the system once nobody has asked for a while, so that a
// virtual cluster at rest holds what it needs and not what its busiest minute needed.
//
// Lifecycle: outlives the loop. Threads: busy() any, for every request; the rest on the loop.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "sublet/base/clock.h"
#include "sublet/net/loop.h"

namespace sublet::subletd {

/// malloc_trim().
void trim_heap();

class IdleTrim {
 public:
  struct Pace {
    std::chrono::milliseconds quiet{1000};    // so long nobody asked
    std::chrono::milliseconds between{5000};  // at least, from one trim to the next: it takes a millisecond or more
  };
  IdleTrim() : IdleTrim(Pace(), trim_heap) {}
  IdleTrim(Pace pace, std::function<void()> trim) : pace_(pace), trim_(std::move(trim)) {}

  /// A request came; `loop` is always the same. Costs two reads of what seldom changes.
  void busy(net::Loop& loop) {
    if (!touched_.load(std::memory_order_relaxed)) touched_.store(true, std::memory_order_relaxed);
    if (!waiting_.load(std::memory_order_relaxed) && !waiting_.exchange(true)) look_later(loop);
  }

 private:
  void look_later(net::Loop& loop);
  void look(net::Loop& loop);

  const Pace pace_;
  const std::function<void()> trim_;
  std::atomic<bool> touched_{false};  // since the last look
  std::atomic<bool> waiting_{false};  // a look is to come
  SteadyTime trimmed_{};              // the loop's thread only
};

}  // namespace sublet::subletd
