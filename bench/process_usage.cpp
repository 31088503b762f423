#include "bench/process_usage.h"

#include <ctime>
#include <fstream>
#include <string>

#include "bench/connection.h"

namespace sublet::bench {

double ProcessUsage::cpu_us() const {
  double used = 0;
  for (const int pid : pids_) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
      die("process " + std::to_string(pid) + " of the server has ended");
    used += static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  }
  return used;
}

double ProcessUsage::pss_kib() const {
  double total = 0;
  for (int pid : pids_) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    std::string word;
    double kib = 0;
    while (file >> word) {
      if (word == "Pss:" && file >> kib) {
        total += kib;
        break;
      }
    }
  }
  return total;
}

}  // namespace sublet::bench
