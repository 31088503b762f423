// wait_until: looks again and again, from another process's or the host's side, until something holds.
#pragma once

#include <chrono>
#include <thread>

namespace sublet::cluster {

/// False at the deadline.
template <class Condition>
bool wait_until(std::chrono::steady_clock::time_point deadline, Condition condition) {
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace sublet::cluster
