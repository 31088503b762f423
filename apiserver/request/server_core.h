// ServerCore: the parts that one server shares: store, loop, options, clock, random, current kinds, and by name the
// parts of higher layers (a user of one includes its header).
//
// Lives as long as any request or watch (held by shared_ptr, with the parts behind it: server.cpp), so an answer after
// stop() is harmless. Threads: immutable, except the atomics and the parts that lock themselves.
#pragma once

#include <atomic>
#include <utility>

#include "apiserver/request/current_kinds.h"
#include "apiserver/request/memory_budget.h"
#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/worker_pool.h"
#include "sublet/net/loop.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

class AdmissionHooks;    // admission/admission_hooks.h
class AggregatedApis;    // aggregation/aggregated_apis.h
class Authorizer;        // authz/authorizer.h
class CallOuts;          // admission/call_out.h
class FlowControl;       // flowcontrol/flow_control.h
class HostDescriptions;  // endpoints/host_descriptions.h
class StandingRights;    // authz/standing_rights.h
class WatchHub;          // watch/watch_hub.h

/// Where a step of a request runs (verbs/placement.h).
enum class Place : unsigned char { caller, large_writes, slow_writes, conversions };

/// Workers that requests move to until they end, and how many requests have moved there.
struct RequestWorkers {
  RequestWorkers(const char* name, std::size_t threads, int requests_max_)
      : workers({.name = name, .threads_max = threads, .queue_max = static_cast<std::size_t>(requests_max_)}),
        requests_max(requests_max_) {}
  WorkerPool workers;
  const int requests_max;
  std::atomic<int> requests{0};
};

struct ServerCore {
  ServerCore(store::Store& store_, net::Loop& loop_, ServerOptions options_, Clock& clock_, Random& random_,
             WatchHub& watches_, CallOuts& call_outs_, AdmissionHooks& hooks_, Authorizer& authorizer_,
             StandingRights& standing_rights_, FlowControl& flow_control_, AggregatedApis& aggregated_,
             HostDescriptions& host_descriptions_)
      : store(store_),
        loop(loop_),
        kinds(std::move(options_.kinds)),
        options(std::move(options_)),
        clock(clock_),
        random(random_),
        watches(watches_),
        call_outs(call_outs_),
        hooks(hooks_),
        authorizer(authorizer_),
        standing_rights(standing_rights_),
        flow_control(flow_control_),
        aggregated(aggregated_),
        host_descriptions(host_descriptions_) {}

  store::Store& store;
  net::Loop& loop;
  CurrentKinds kinds;
  const ServerOptions options;  // without its kinds, which are the first of the current ones
  Clock& clock;
  Random& random;
  WatchHub& watches;
  CallOuts& call_outs;
  AdmissionHooks& hooks;
  Authorizer& authorizer;
  StandingRights& standing_rights;
  FlowControl& flow_control;
  AggregatedApis& aggregated;
  HostDescriptions& host_descriptions;
  /// Null: requests do not move to this place.
  RequestWorkers* workers_of(Place place) {
    return place == Place::slow_writes ? &slow_writes : place == Place::conversions ? &conversions : nullptr;
  }

  // Workers, until stop(): Place::large_writes, answers that are rendered or compressed, and the other places.
  WorkerPool large_writes{{.name = "writes", .threads_max = 2, .queue_max = 64}};
  WorkerPool large_answers{{.name = "answers", .threads_max = 2, .queue_max = 256}};
  RequestWorkers slow_writes{"slow-writes", 1, 128};
  RequestWorkers conversions{"conversions", 16, 256};
  MemoryBudget kept_items{options.kept_items_bytes};         // of protobuf lists, between measuring and writing
  std::atomic<bool> ready{false};                            // start() succeeded
  std::atomic<bool> stopping{false};                         // stop() was called
  std::atomic<int> reads_in_flight{0}, writes_in_flight{0};  // requests that run, without those that last (watches)
};

}  // namespace sublet::apiserver
