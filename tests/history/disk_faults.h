// DiskFaults: what a server's disk does wrong, while it runs. A library that is loaded before the C library's own
// functions (LD_PRELOAD, disk_faults.cpp) reads it from a shared file; the harness writes it. Of all that a server
// calls, pwrite, fdatasync and fsync are the files' (sockets are written otherwise).
#pragma once

#include <atomic>
#include <cstdint>

namespace sublet::history {

/// Names the shared file, which has a DiskFaults at its beginning.
inline constexpr char kDiskFaultsVariable[] = "SUBLET_DISK_FAULTS";

struct DiskFaults {
  /// Of 1,000 writes, so many find no space (a part of them is written).
  std::atomic<std::uint32_t> full_per_mille;
  /// So many of the next syncs, or writes, fail with EIO.
  std::atomic<std::int32_t> failing_syncs, failing_writes;
  /// A sync takes up to so many microseconds more.
  std::atomic<std::uint32_t> slow_us;
  /// What came of it: nothing was tested where nothing was hit.
  std::atomic<std::uint64_t> refused_writes, failed_calls, slow_syncs;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it is shared between processes");

}  // namespace sublet::history
