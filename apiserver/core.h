// ServerCore: what every part of one server shares: store, loop, options, clock, random, and the caches.
//
// Lives as long as any request or watch does (held by shared_ptr), so an answer that comes after stop() is harmless.
// Threads: immutable but for the atomics and the parts that lock themselves.
#pragma once

#include <atomic>
#include <memory>

#include "apiserver/endpoints/document_cache.h"
#include "apiserver/watch/watch_hub.h"
#include "sublet/apiserver/server.h"

namespace sublet::apiserver {

struct ServerCore {
  ServerCore(store::Store& store_, net::Loop& loop_, ServerOptions options_, Clock& clock_, Random& random_)
      : store(store_), loop(loop_), options(std::move(options_)), clock(clock_), random(random_), watches(loop_) {}

  store::Store& store;
  net::Loop& loop;
  const ServerOptions options;
  Clock& clock;
  Random& random;
  WatchHub watches;
  DocumentCache documents;
  std::atomic<bool> ready{false};     // start() succeeded
  std::atomic<bool> stopping{false};  // stop() was called
  std::atomic<int> reads_in_flight{0};
  std::atomic<int> writes_in_flight{0};
};

}  // namespace sublet::apiserver
