// Trace: what happened in a run, in order. Its digest tells whether two runs were the same; the lines are kept when
// somebody wants to read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/sim_clock.h"

namespace sublet::simulation {

class Trace {
 public:
  Trace(const SimClock& clock, bool keep) : clock_(clock), keep_(keep) {}
  void add(std::string line) {
    for (const char c : line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211u;  // FNV-1a
    digest_ = (digest_ ^ static_cast<std::uint64_t>(clock_.passed().count())) * 1099511628211u;
    if (!keep_) return;
    const auto ms = clock_.passed().count();
    std::string fraction = std::to_string(ms % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    lines_.push_back(std::to_string(ms / 1000) + "." + fraction + "  " + std::move(line));
  }
  bool kept() const { return keep_; }
  std::uint64_t digest() const { return digest_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const SimClock& clock_;
  const bool keep_;
  std::uint64_t digest_ = 14695981039346656037u;
  std::vector<std::string> lines_;
};

}  // namespace sublet::simulation
