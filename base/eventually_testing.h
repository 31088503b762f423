// eventually(): how tests wait for what no callback tells them. For conditions alone, never for time.
#pragma once

#include <chrono>
#include <thread>

namespace sublet::testing_support {

/// True as soon as the condition holds; false when patience, which is generous, runs out. Looks on the caller's thread.
template <class Condition>
bool eventually(Condition&& condition, std::chrono::seconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the pace of looking, not a time anything relies on
  }
  return true;
}

}  // namespace sublet::testing_support
