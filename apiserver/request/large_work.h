// Large work is done away from the loop: a request that brings or changes much would hold everybody else of that loop.
//
// Decoding, merging, judging and encoding cost about 50 ms per MiB; what is smaller than kLoopBytesMax stays where it
// is. A function that is large work already stays on its thread. Threads: any.
#pragma once

#include <functional>
#include <utility>

#include "apiserver/request/server_core.h"

namespace sublet::apiserver {

inline constexpr std::size_t kLoopBytesMax = 64 * 1024;

/// Runs it at once, or on a thread of large_writes when `bytes` are many. False: too many wait already, or the server
/// stops; the work will not run.
[[nodiscard]] inline bool run_by_size(ServerCore& core, std::size_t bytes, std::function<void()> work) {
  static thread_local bool aside = false;
  if (aside || bytes <= kLoopBytesMax) {
    work();
    return true;
  }
  return core.large_writes.submit([work = std::move(work)] {
    aside = true;
    work();
    aside = false;
  });
}

}  // namespace sublet::apiserver
