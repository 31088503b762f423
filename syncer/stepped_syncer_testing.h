// A syncer whose time and order are the test's: no thread of its own, and nothing waits but for the test's clock.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "syncer/two_servers_testing.h"

namespace sublet::syncer {

inline std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

class SteppedSyncer : public TwoServers {
 protected:
  SteppedSyncer() { clock.own_all_time(); }
  ~SteppedSyncer() override { stop_syncer(); }

  // One step of either kind; false: nothing is to be done now.
  bool step() { return strand.step() || executor.step(); }
  /// Steps until the condition holds; when there is nothing to step, the servers' answers are on the way, and ring.
  void step_until(const std::function<bool()>& condition, std::string_view what) {
    eventually(
        [&] {
          while (step())
            if (condition()) return true;
          return condition();
        },
        what);
  }
  void begin_syncer() {
    kube::Client to_tenant = tenant.client_through(tenant_faults), to_host = host.client_through(faults);
    threads_without = threads_of_this_process();  // the servers', and the transports'
    syncer = std::make_unique<Syncer>(strand, executor, std::move(to_tenant), std::move(to_host), syncer_options());
    syncer->begin();
    step_until([&] { return syncer->synced(); }, "the copies are filled");
    syncer->serve();
  }
  /// So much time, in pieces as short as the shortest pause that counts here.
  void pass(std::chrono::milliseconds time) {
    constexpr std::chrono::milliseconds kPiece{50};
    for (std::chrono::milliseconds passed{0}; passed < time; passed += kPiece) {
      while (step()) {
      }
      clock.advance(kPiece);
    }
  }
  /// Asks only when nothing is left to do: a list of all pods after every step would take long.
  void settle_until(const std::function<bool()>& condition, std::string_view what) {
    eventually(
        [&] {
          while (step()) {
          }
          return condition();
        },
        what);
  }
  /// As TwoServers::settle(), which steps nothing.
  void settle() {
    settle_until(
        [&] {
          const auto tenant_before = tenant.revision(), host_before = host.revision();
          const auto caught_up = syncer->caught_up();
          if (!syncer->idle(std::chrono::seconds(61))) return pass(std::chrono::milliseconds(50)), false;
          return caught_up && *caught_up && !step() && tenant.revision() == tenant_before &&
                 host.revision() == host_before;
        },
        "the syncer has seen all and done all");
  }
  bool on_host(const std::string& pod) { return host_pod(pod).root().is_object(); }

  SteppedStrand strand{clock, [this] { ring(); }};
  SteppedExecutor executor;
  std::ptrdiff_t threads_without = 0;
};

}  // namespace sublet::syncer
