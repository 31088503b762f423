#include "tests/simulation/faults.h"

namespace sublet::simulation {

std::string_view name_of(Fault fault) {
  static constexpr std::array<std::string_view, kFaults> kNames = {
      "tenant_lag",
      "host_lag",
      "tenant_stale_list",
      "host_stale_list",
      "reordered",
      "coalesced",
      "watch_ended",
      "gone",
      "gone_in_mid_watch",
      "conflict",
      "too_many_requests",
      "unavailable",
      "request_lost",
      "reply_lost",
      "outage",
      "crash_before_write",
      "crash_after_write",
      "late_write",
      "interleaved",
      "recreated",
      "clock_forward",
      "clock_back",
      "name_taken",
      "host_edited",
      "host_deleted",
  };
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace sublet::simulation
