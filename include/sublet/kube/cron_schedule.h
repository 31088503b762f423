// CronSchedule: when a CronJob is due, as upstream's cron library reads it. TimeZone: what the clocks of a place show.
//
// Understood are five fields (`*/15 0-6,22 1 jan-mar mon`), `?` for `*`, `@hourly` and its like, and `@every 1h30m`.
// A day matches by both of its fields when one of them is `*`, else by either. At the ends of summer time it does what
// upstream does: an hour that does not exist is passed over, one that comes twice counts twice.
// Pure values but for TimeZone::load, which reads the machine's tzdata. Any thread.
// Source: github.com/robfig/cron v3.0.1 (parser.go, spec.go), RFC 8536 (TZif).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"

namespace sublet::kube {

class TimeZone {
 public:
  /// By its name in the IANA database, "" and "UTC" without one. bad_request in Go's words when there is none.
  static Result<TimeZone> load(const std::string& name);
  /// From the content of a TZif file; nullopt when malformed.
  static std::optional<TimeZone> parse_tzif(std::string_view content);
  /// From a POSIX rule, e.g. "CET-1CEST,M3.5.0,M10.5.0/3"; nullopt when malformed.
  static std::optional<TimeZone> parse_rule(std::string_view rule);

  /// Seconds that the clocks there are ahead of UTC at that moment.
  int offset(std::int64_t unix_seconds) const;

 private:
  /// A day of the year on which the clocks are changed, and the second of that day, by the clock before the change.
  struct Change {
    char form = 'M';  // 'M': month, week, weekday; 'J': day 1 to 365, never February 29; 'n': day 0 to 365
    int month = 0, week = 0, day = 0;
    int second = 7200;
  };
  struct Rule {
    int standard = 0, summer = 0;
    bool has_summer = false;
    Change begin{}, end{};
    int offset(std::int64_t unix_seconds) const;
  };
  class RuleReader;
  static std::int64_t moment(const Change& change, int year);

  std::vector<std::int64_t> moments_;  // ascending: from each on, offsets_ of the same index
  std::vector<int> offsets_;
  int first_ = 0;             // before all of them
  std::optional<Rule> rule_;  // after the last of them
};

class CronSchedule {
 public:
  /// bad_request in upstream's words.
  static Result<CronSchedule> parse(std::string_view text, TimeZone zone = {});
  /// The first moment later than `after`, in whole seconds; nullopt when there is none within five years.
  std::optional<WallTime> next(WallTime after) const;

 private:
  using Bits = std::uint64_t;  // the highest one says that the field was `*`
  bool day_matches(int year, int month, int day) const;

  std::optional<std::chrono::seconds> every_;
  Bits minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  TimeZone zone_;
};

/// "2026-11-22T08:30:00+01:00": RFC 3339 by the clock of that place.
std::string format_time_in(const TimeZone& zone, WallTime time);

}  // namespace sublet::kube
