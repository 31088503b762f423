// What this program's own operator new and its sync calls are counted by: allocations and fsyncs of all threads since
// the start. C libraries that call malloc themselves (SQLite, OpenSSL) are not counted; their syncs are.
#pragma once

#include <cstdint>

namespace sublet::cost {

struct Counts {
  std::uint64_t allocations = 0, syncs = 0;
};
Counts counts();

}  // namespace sublet::cost
