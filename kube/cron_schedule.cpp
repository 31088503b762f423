#include "sublet/kube/cron_schedule.h"

#include <charconv>
#include <cstdio>

namespace sublet::kube {
namespace {

using std::chrono::sys_days;

using Bits = std::uint64_t;
constexpr Bits kStar = Bits(1) << 63;
constexpr std::int64_t kHour = 3600, kMinute = 60;
constexpr int kYearsAhead = 5;

struct Field {
  int least, most;
  std::string_view names;  // three letters each, from `first_name` on
  int first_name;
};
constexpr Field kMinutes{0, 59, "", 0}, kHours{0, 23, "", 0}, kDays{1, 31, "", 0},
    kMonths{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1}, kWeekdays{0, 6, "sunmontuewedthufrisat", 0};

std::vector<std::string_view> split_at_any(std::string_view text, std::string_view separators, bool keep_empty) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find_first_of(separators, at), text.size());
    if (keep_empty || end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<int> read_number(std::string_view text) {
  int value = 0;
  const auto digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    return bad_request("failed to parse int from " + std::string(text) + ": strconv.Atoi: parsing \"" +
                       std::string(text) + "\": value out of range");
  if (error != std::errc() || end != digits.data() + digits.size())
    return bad_request("failed to parse int from " + std::string(text) + ": strconv.Atoi: parsing \"" +
                       std::string(text) + "\": invalid syntax");
  if (value < 0)
    return bad_request("negative number (" + std::to_string(value) + ") not allowed: " + std::string(text));
  return value;
}

Result<int> read_value(std::string_view text, const Field& field) {
  if (text.size() == 3)
    for (std::size_t at = 0; at < field.names.size(); at += 3) {
      bool same = true;
      for (std::size_t i = 0; i < 3; ++i) same &= (text[i] | 32) == field.names[at + i];
      if (same) return field.first_name + static_cast<int>(at / 3);
    }
  return read_number(text);
}

struct Range {
  int start = 0, end = 0, step = 1;
  Bits star = 0;
};

Result<Range> read_range(std::string_view text, const Field& field) {
  const auto quoted = std::string(text);
  const auto with_step = split_at_any(text, "/", true), ends = split_at_any(with_step[0], "-", true);
  Range range{field.least, field.most};
  if (ends[0] == "*" || ends[0] == "?") {
    range.star = kStar;
  } else {
    auto start = read_value(ends[0], field);
    if (!start) return fail(start.error());
    if (ends.size() > 2) return bad_request("too many hyphens: " + quoted);
    auto end = ends.size() == 2 ? read_value(ends[1], field) : start;
    if (!end) return fail(end.error());
    range.start = *start;
    range.end = *end;
  }
  if (with_step.size() > 2) return bad_request("too many slashes: " + quoted);
  if (with_step.size() == 2) {
    auto step = read_number(with_step[1]);
    if (!step) return fail(step.error());
    range.step = *step;
    if (ends.size() == 1) range.end = field.most;  // "N/step" means "N-max/step"
    if (range.step > 1) range.star = 0;
  }
  return range;
}

Result<Bits> read_bits(std::string_view text, const Field& field) {
  auto range = read_range(text, field);
  if (!range) return fail(range.error());
  const auto at = [](int number) { return "(" + std::to_string(number) + ")"; };
  const auto quoted = ": " + std::string(text);
  if (range->start < field.least)
    return bad_request("beginning of range " + at(range->start) + " below minimum " + at(field.least) + quoted);
  if (range->end > field.most)
    return bad_request("end of range " + at(range->end) + " above maximum " + at(field.most) + quoted);
  if (range->start > range->end)
    return bad_request("beginning of range " + at(range->start) + " beyond end of range " + at(range->end) + quoted);
  if (range->step == 0) return bad_request("step of range should be a positive number" + quoted);
  Bits bits = range->star;
  for (int value = range->start; value <= range->end; value += range->step) bits |= Bits(1) << value;
  return bits;
}

Result<Bits> read_field(std::string_view text, const Field& field) {
  Bits bits = 0;
  for (const auto part : split_at_any(text, ",", false)) {
    auto more = read_bits(part, field);
    if (!more) return more;
    bits |= *more;
  }
  return bits;
}

struct Named {
  std::string_view name, fields;
};
constexpr Named kNamed[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
                            {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
                            {"@hourly", "0 * * * *"}};

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6},
                           {"ms", 1e-3}, {"s", 1},     {"m", 60},    {"h", 3600}};

/// "1h30m", "1.5h"; nullopt when malformed. Whole seconds, at least one.
std::optional<std::chrono::seconds> read_duration(std::string_view text) {
  double seconds = 0;
  const bool negative = text.starts_with('-');
  if (text.starts_with('+') || negative) text.remove_prefix(1);
  if (text == "0") return std::chrono::seconds(1);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto digits = text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    text.remove_prefix(digits.size());
    const auto name = text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    const Unit* found = nullptr;
    for (const auto& unit : kUnits)
      if (unit.name == name) found = &unit;
    if (!found) return std::nullopt;
    seconds += number * found->seconds;
    text.remove_prefix(name.size());
  }
  if (seconds > 9.2e9) return std::nullopt;  // more nanoseconds than Go's durations hold
  return std::chrono::seconds(std::max<std::int64_t>(1, negative ? 0 : static_cast<std::int64_t>(seconds)));
}

/// What the clocks of a place show.
struct Civil {
  int year, month, day;
  int hour, minute;
};

Civil civil_of(const TimeZone& zone, std::int64_t unix_seconds) {
  const auto local = std::chrono::seconds(unix_seconds + zone.offset(unix_seconds));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{sys_days(day)};
  const auto second = (local - day).count();
  return {static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())), static_cast<int>(second / kHour),
          static_cast<int>(second % kHour / kMinute)};
}

/// When they show this, as Go's time.Date decides it where clocks are changed. Month and day may be too large by one.
std::int64_t moment_of(const TimeZone& zone, int year, int month, int day, int hour) {
  if (month > 12) {
    month -= 12;
    ++year;
  }
  const auto first = sys_days(std::chrono::year(year) / month / 1).time_since_epoch().count();
  const std::int64_t as_utc = (first + day - 1) * 24 * kHour + hour * kHour;
  const int offset = zone.offset(as_utc);
  return offset == 0 ? as_utc : as_utc - zone.offset(as_utc - offset);
}

bool has(Bits bits, int value) { return bits >> value & 1; }

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text, TimeZone zone) {
  CronSchedule schedule;
  schedule.zone_ = std::move(zone);
  if (text.empty()) return bad_request("empty spec string");
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    schedule.every_ = read_duration(text.substr(kEvery.size()));
    if (!schedule.every_)
      return bad_request("failed to parse duration " + std::string(text) + ": time: invalid duration \"" +
                         std::string(text.substr(kEvery.size())) + "\"");
    return schedule;
  }
  if (text.starts_with('@')) {
    std::string_view fields;
    for (const auto& named : kNamed)
      if (named.name == text) fields = named.fields;
    if (fields.empty()) return bad_request("unrecognized descriptor: " + std::string(text));
    text = fields;
  }
  const auto fields = split_at_any(text, " \t\n\v\f\r", false);
  if (fields.size() != 5) {
    std::string listed;
    for (const auto field : fields) listed.append(listed.empty() ? "" : " ").append(field);
    return bad_request("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" + listed + "]");
  }
  const Field* const kinds[] = {&kMinutes, &kHours, &kDays, &kMonths, &kWeekdays};
  Bits* const places[] = {&schedule.minutes_, &schedule.hours_, &schedule.days_, &schedule.months_,
                          &schedule.weekdays_};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto bits = read_field(fields[i], *kinds[i]);
    if (!bits) return fail(bits.error());
    *places[i] = *bits;
  }
  return schedule;
}

bool CronSchedule::day_matches(int year, int month, int day) const {
  const auto date = sys_days(std::chrono::year(year) / month / day);
  const bool of_month = has(days_, day);
  const bool of_week = has(weekdays_, static_cast<int>(std::chrono::weekday(date).c_encoding()));
  return (days_ | weekdays_) & kStar ? of_month && of_week : of_month || of_week;
}

// Field by field from the largest: what does not match is moved on to the next that does, everything below it begins
// anew; when a field comes round, all is looked at again from the top.
std::optional<WallTime> CronSchedule::next(WallTime after) const {
  const auto whole = std::chrono::floor<std::chrono::seconds>(after);
  if (every_) return WallTime(whole + *every_);
  std::int64_t t = whole.time_since_epoch().count() + 1;
  t += (kMinute - t % kMinute) % kMinute;
  auto at = civil_of(zone_, t);
  const int last_year = at.year + kYearsAhead;
  bool moved = false;
  const auto move = [&](std::int64_t to) {
    t = to;
    at = civil_of(zone_, t);
    moved = true;
  };
  // A midnight that summer time took away, of which Go names the hour before or after. (Upstream may miss the day so,
  // or a whole month.)
  const auto move_to_day = [&](int month, int day) {
    move(moment_of(zone_, at.year, month, day, 0));
    if (at.hour > 12) move(t + (24 - at.hour) * kHour);
  };
  const auto month_found = [&] {
    while (!has(months_, at.month)) {
      move_to_day(at.month + 1, 1);
      if (at.month == 1) return false;
    }
    return true;
  };
  const auto day_found = [&] {
    while (!day_matches(at.year, at.month, at.day)) {
      move_to_day(at.month, at.day + 1);
      if (at.day == 1) return false;
    }
    return true;
  };
  const auto hour_found = [&] {
    while (!has(hours_, at.hour)) {
      move((moved ? t : moment_of(zone_, at.year, at.month, at.day, at.hour)) + kHour);
      if (at.hour == 0) return false;
    }
    return true;
  };
  const auto minute_found = [&] {
    while (!has(minutes_, at.minute)) {
      move(t + kMinute);
      if (at.minute == 0) return false;
    }
    return true;
  };
  while (at.year <= last_year)
    if (month_found() && day_found() && hour_found() && minute_found()) return WallTime(std::chrono::seconds(t));
  return std::nullopt;
}

std::string format_time_in(const TimeZone& zone, WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const int offset = zone.offset(whole.time_since_epoch().count());
  auto text = format_time(whole + std::chrono::seconds(offset));
  if (offset == 0) return text;
  text.pop_back();  // the Z
  const int minutes = std::abs(offset) / 60;
  char suffix[8];
  std::snprintf(suffix, sizeof suffix, "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
  return text + suffix;
}

}  // namespace sublet::kube
