// Run: one seed from beginning to end. First the phase with faults, in which a scheduler with dice chooses what happens
// next; then everybody gets what they want and nothing fails any more, and all must settle; then a new syncer, which
// must find nothing to do.
//
// One thread, no time but the run's: the same seed and the same commit do the same, to the last line of the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/faults.h"

namespace sublet::simulation {

/// So many neighbouring seeds have the same script, and must come to the same end.
inline constexpr std::uint64_t kSeedsPerScript = 4;

struct RunResult {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  Tally tally;
  std::string end;                // what both sides look like (Checks::end)
  bool waits_for_others = false;  // then another order may end otherwise (Checks::waits_for_others)
  std::uint64_t trace_digest = 0;
  std::vector<std::string> trace;  // when it was to be kept
  std::uint64_t steps = 0, writes = 0, lives = 0;
  std::uint64_t crash_points = 0;  // writes that were to be sent
  double simulated_seconds = 0;
};

struct RunOptions {
  bool keep_trace = false;
  /// The syncer crashes at its write of that number too, from 1 on to RunResult::crash_points; 0: at none.
  std::uint64_t crash_at_write = 0;
  bool crash_after_commit = false;  // else before it is sent
};

RunResult run(std::uint64_t seed, RunOptions options = {});

}  // namespace sublet::simulation
