// ProcessUsage: what the server's processes have used, as the kernel says it, so that it works for any program.
#pragma once

#include <vector>

namespace sublet::bench {

class ProcessUsage {
 public:
  explicit ProcessUsage(std::vector<int> pids) : pids_(std::move(pids)) {}
  /// User and system time of all threads, ended ones included, in microseconds.
  double cpu_us() const;
  /// Proportional set size in KiB.
  double pss_kib() const;

 private:
  std::vector<int> pids_;
};

}  // namespace sublet::bench
