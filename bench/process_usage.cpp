#include "bench/process_usage.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "bench/connection.h"

namespace sublet::bench {

double ProcessUsage::cpu_us() const {
  constexpr int kFieldsBeforeUtime = 11;  // after the name, which may hold blanks
  double ticks = 0;
  for (int pid : pids_) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(file, line)) die("process " + std::to_string(pid) + " of the server has ended");
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string skipped;
    for (int i = 0; i < kFieldsBeforeUtime; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
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
