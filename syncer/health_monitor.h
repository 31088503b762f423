// HealthMonitor: writes a syncer's health record (sublet/syncer/health.h) and finds out that an idle host is silent.
//
// Each kHealthInterval it writes the record; if the host has answered nothing for that long, it sends one small list as
// a probe. A probe that is not answered by the next turn means that the host is silent, so a state shows in the record
// within three intervals.
// Lifecycle: start() once; the destructor ends it. Threads: runs on the strand, start() and the destructor on any.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/base/strand.h"
#include "sublet/syncer/health.h"
#include "syncer/border/border.h"

namespace sublet::syncer {

class HealthMonitor {
 public:
  struct Options {
    std::string path;
    std::function<Health()> look;                  // the health without times and state
    std::function<void(const Health&)> on_health;  // after each turn, on the strand
  };
  /// The border outlives the monitor.
  HealthMonitor(Strand& strand, Border& border, Options options);
  ~HealthMonitor();
  void start();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::syncer
