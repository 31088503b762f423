// A closed loop: blocking connections, one thread each, every one of them sends its next request when the one before is
// answered; what that makes of rate, latency and the server's CPU.
#pragma once

#include <chrono>
#include <functional>
#include <random>
#include <string>

#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {

double microseconds_since(std::chrono::steady_clock::time_point start);

/// One operation of a worker: its request for the n-th turn.
using MakeRequest = std::function<Request(int worker, int turn, std::minstd_rand& random)>;

struct Loop {
  int workers = 1;
  double seconds = 0;
  int operations = 0;  // instead of a time: this many in all
};

/// Runs the loop with one connection per worker and appends NAME_per_s, _p50_us, _p99_us and _cpu_us per operation.
void run_closed_loop(const std::string& name, const ClientTls& tls, const ProcessUsage& server, const Loop& loop,
                     const MakeRequest& make, Figures& figures);

}  // namespace sublet::bench
