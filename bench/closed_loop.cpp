#include "bench/closed_loop.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void run_closed_loop(const std::string& name, const ClientTls& tls, const ProcessUsage& server, const Loop& loop,
                     const MakeRequest& make, Figures& figures) {
  std::vector<std::vector<double>> latencies(loop.workers);
  std::barrier ready(loop.workers + 1);
  std::atomic<int> left = loop.operations;
  Clock::time_point deadline;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < loop.workers; ++worker) {
    threads.emplace_back([&, worker] {
      Connection connection(tls);
      connection.expect({.path = "/api/v1/namespaces/default"});  // authenticated once, as a client in use is
      std::minstd_rand random(worker + 1);
      ready.arrive_and_wait();
      ready.arrive_and_wait();  // the deadline is set between the two
      for (int turn = 0;; ++turn) {
        if (loop.operations > 0 ? left.fetch_sub(1) <= 0 : Clock::now() >= deadline) break;
        const Request request = make(worker, turn, random);
        const auto start = Clock::now();
        connection.expect(request);
        latencies[worker].push_back(microseconds_since(start));
      }
    });
  }
  ready.arrive_and_wait();
  const double cpu = server.cpu_us();
  const auto start = Clock::now();
  deadline = start + std::chrono::microseconds(static_cast<long>(loop.seconds * 1e6));
  ready.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  const double elapsed = microseconds_since(start), used = server.cpu_us() - cpu;

  std::vector<double> all;
  for (const auto& of_worker : latencies) all.insert(all.end(), of_worker.begin(), of_worker.end());
  const double count = static_cast<double>(all.size());
  figures.emplace_back(name + "_per_s", count * 1e6 / elapsed);
  figures.emplace_back(name + "_p50_us", quantile(all, 0.5));
  figures.emplace_back(name + "_p99_us", quantile(all, 0.99));
  figures.emplace_back(name + "_cpu_us", used / count);
}

}  // namespace sublet::bench
