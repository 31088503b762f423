// Metrics: a process-wide registry of counters, gauges and histograms in Prometheus' text format.
//
// Declare a metric once, beside its use, as a function-local static reference:
//   static auto& commits = metrics::counter("sublet_store_commits_total", "Commits made durable.");
//   commits.add();
// Label sets are fixed at declaration ({{"verb", "get"}}); keep cardinality bounded: never a tenant's object name.
// Thread-safe; values are relaxed atomics. Served by the API server at /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublet::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t by) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

/// Seconds, in fixed buckets from 0.5 ms to 60 s.
class Histogram {
 public:
  static constexpr double kBounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                       0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
  static constexpr std::size_t kBoundCount = sizeof(kBounds) / sizeof(kBounds[0]);
  void observe(double seconds);
  std::uint64_t bucket(std::size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  double sum() const { return static_cast<double>(nanos_.load(std::memory_order_relaxed)) / 1e9; }

 private:
  std::atomic<std::uint64_t> buckets_[kBoundCount + 1] = {};
  std::atomic<std::uint64_t> nanos_{0};
};

// The same name and labels give the same object. References live for ever.
Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels = {});

/// All metrics, sorted by name, in text exposition format 0.0.4.
std::string exposition();

}  // namespace sublet::metrics
