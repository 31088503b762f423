// Faults: what goes wrong in a run, each with a counter of how often it really did. A fault that is only asked for does
// not count: a stale list counts when it was older than what is there, a lag when the syncer worked meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sublet::simulation {

enum class Fault {
  tenant_lag,  // an event came after the syncer had done something else
  host_lag,
  tenant_stale_list,  // a list was older than what is there
  host_stale_list,
  reordered,           // of two changes on one side, the later was told first, by another kind's watch
  coalesced,           // a state between two others was never told
  watch_ended,         // a stream broke off, and was resumed where it was
  gone,                // 410 for a watch that resumes: its history was compacted
  gone_in_mid_watch,   // 410 as the last word of a watch that ran
  conflict,            // 409, without effect
  too_many_requests,   // 429 with Retry-After
  unavailable,         // 503, without effect
  request_lost,        // no answer, no effect
  reply_lost,          // no answer, but the effect
  outage,              // one side is away for seconds: every request and every watch
  crash_before_write,  // of the syncer, about to send a write
  crash_after_write,   // after its commit, before the answer
  late_write,          // a write of a crashed syncer reached the server after the next one had begun
  interleaved,         // a key was worked off while a request of another one was under way
  recreated,           // a tenant object was made again while the host still had the one before
  clock_forward,       // the time of day jumped
  clock_back,
  name_taken,    // somebody else's object had the name of one of ours on the host
  host_edited,   // somebody changed one of our objects on the host
  host_deleted,  // somebody deleted one of our objects on the host
  count_,
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::count_);

std::string_view name_of(Fault fault);

struct Tally {
  std::array<std::uint64_t, kFaults> fired{};
  void add(Fault fault) { ++fired[static_cast<std::size_t>(fault)]; }
  std::uint64_t of(Fault fault) const { return fired[static_cast<std::size_t>(fault)]; }
  Tally& operator+=(const Tally& other) {
    for (std::size_t i = 0; i < kFaults; ++i) fired[i] += other.fired[i];
    return *this;
  }
};

}  // namespace sublet::simulation
