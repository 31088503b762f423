// GoTime and Go durations as text: metav1.Time, MicroTime and Duration, and the times of CEL.
//
// Pure; any thread. Unlike base/clock.h these cover the whole range of the API (years 0 to 9999, with Go's zero time in
// year 1) and explain a malformed text in Go's words, which users see in error messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sublet::schema {

struct GoTime {
  std::int64_t seconds = 0;  // since 1970
  std::int32_t nanos = 0;
  bool operator==(const GoTime&) const = default;
};

/// time.Time{}: the first instant of year 1, "not set" on the wire.
inline constexpr GoTime kZeroGoTime{-62135596800, 0};

/// Whether the time has a four-digit year, as RFC 3339 demands.
bool in_wire_range(const GoTime& time);

enum class TimeLayout : std::uint8_t { seconds, micros };

/// Parses as time.Parse does with RFC3339 or metav1.RFC3339Micro. False: `problem` says why, in Go's words.
bool parse_go_time(std::string_view text, TimeLayout layout, GoTime& time, std::string& problem);
/// time.Parse with RFC3339, as far as it goes: any year of four digits, and the zone's seconds ahead of UTC.
bool parse_zoned_time(std::string_view text, GoTime& time, int& ahead);
/// "2006-01-02T15:04:05Z" or "2006-01-02T15:04:05.000000Z". The buffer holds at least kTimeTextMax characters.
inline constexpr std::size_t kTimeTextMax = 32;
std::string_view format_go_time(const GoTime& time, TimeLayout layout, char* buffer);

/// time.ParseDuration; false: `problem` says why, in Go's words.
bool parse_go_duration(std::string_view text, std::int64_t& nanos, std::string& problem);
/// time.Duration.String(): "1h0m0s", "1.5s", "100ms".
std::string format_go_duration(std::int64_t nanos);

}  // namespace sublet::schema
