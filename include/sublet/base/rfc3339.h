// RFC 3339 in UTC as the API writes times. Reading is in clock.h for what servers wrote, and in schema/ for what
// clients write, with Go's complaints. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sublet {

inline constexpr std::size_t kRfc3339Max = 40;  // bytes of the longest time

enum class TimeFraction : std::uint8_t { none, micros };

/// Writes "2026-11-21T09:41:37Z" or "...:37.123456Z" to `out`, which has room for kRfc3339Max; returns its end.
char* write_rfc3339(char* out, std::int64_t seconds_since_1970, std::int32_t nanos, TimeFraction fraction);

}  // namespace sublet
