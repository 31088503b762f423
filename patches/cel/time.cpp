// Times: their texts, arithmetic and accessors.
#include "patches/cel/time.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"
#include "sublet/kube/cron_schedule.h"
#include "sublet/schema/go_time.h"

namespace sublet::patches::cel {

namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kFirstSecond = -62'135'596'800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253'402'300'799;   // 9999-12-31T23:59:59Z

struct Civil {
  int year, month, day, day_of_year, weekday, hour, minute, second, millisecond;
};

Civil civil_of(Timestamp moment, std::int64_t offset) {
  namespace ch = std::chrono;
  const ch::sys_seconds local{ch::seconds(moment.seconds + offset)};
  const auto day = ch::floor<ch::days>(local);
  const ch::year_month_day date(day);
  const auto time = (local - day).count();
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>((day - ch::sys_days(date.year() / 1 / 1)).count()),
          static_cast<int>(ch::weekday(day).c_encoding()),
          static_cast<int>(time / 3600),
          static_cast<int>(time / 60 % 60),
          static_cast<int>(time % 60),
          moment.nanos / 1'000'000};
}

int year(const Civil& c) { return c.year; }
int month(const Civil& c) { return c.month - 1; }
int day_of_year(const Civil& c) { return c.day_of_year; }
int day_of_month(const Civil& c) { return c.day - 1; }
int day_of_month_from_one(const Civil& c) { return c.day; }
int day_of_week(const Civil& c) { return c.weekday; }
int hours(const Civil& c) { return c.hour; }
int minutes(const Civil& c) { return c.minute; }
int seconds(const Civil& c) { return c.second; }
int milliseconds(const Civil& c) { return c.millisecond; }

Value go_number_error(std::string_view text) {
  return Value::error("strconv.Atoi: parsing " + go_quote(text) + ": invalid syntax");
}

std::optional<int> go_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text[0] == '-' || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return negative ? -number : number;
}

// Seconds east of UTC for "Europe/Berlin", "+02:00" or "02:00" at a moment; an error in `failure`.
std::int64_t offset_in(std::string_view zone, Timestamp moment, Value& failure) {
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) {
    auto place = kube::TimeZone::load(zone == "Local" ? "UTC" : std::string(zone));
    if (place) return place->offset(moment.seconds);
    failure = Value::error(place.error().message);
    return 0;
  }
  const auto hour = go_number(zone.substr(0, colon));
  const auto minute = go_number(zone.substr(colon + 1));
  if (!hour) failure = go_number_error(zone.substr(0, colon));
  if (hour && !minute) failure = go_number_error(zone.substr(colon + 1));
  if (!hour || !minute || std::abs(*hour) > 10'000 || std::abs(*minute) > 100'000) return 0;
  return (zone[0] == '-' ? *hour * 60 - *minute : *hour * 60 + *minute) * std::int64_t{60};
}

template <int (*Part)(const Civil&)>
Value part(Arguments a, Meter&) {
  return Value::integer(Part(civil_of(a[0].as_timestamp(), 0)));
}

template <int (*Part)(const Civil&)>
Value part_in(Arguments a, Meter& meter) {
  meter.work(200);  // the zone is read from a file
  Value failure;
  const std::int64_t offset = offset_in(a[1].as_text(), a[0].as_timestamp(), failure);
  return failure.is_error() ? failure : Value::integer(Part(civil_of(a[0].as_timestamp(), offset)));
}

template <std::int64_t Unit>
Value whole_units(Arguments a, Meter&) {
  return Value::integer(a[0].as_duration().nanos / Unit);
}

Value duration_overflow() { return Value::error("integer overflow"); }

Value moved(Timestamp moment, std::int64_t nanos) {
  const std::int64_t total = moment.nanos + nanos % kNanosPerSecond;
  moment.seconds += nanos / kNanosPerSecond + (total >= kNanosPerSecond ? 1 : (total < 0 ? -1 : 0));
  moment.nanos = static_cast<std::int32_t>((total + kNanosPerSecond) % kNanosPerSecond);
  return timestamp_in_range(moment);
}

Value time_plus_span(Arguments a, Meter&) { return moved(a[0].as_timestamp(), a[1].as_duration().nanos); }
Value span_plus_time(Arguments a, Meter&) { return moved(a[1].as_timestamp(), a[0].as_duration().nanos); }

Value time_minus_span(Arguments a, Meter&) {
  if (a[1].as_duration().nanos == INT64_MIN) return duration_overflow();
  return moved(a[0].as_timestamp(), -a[1].as_duration().nanos);
}

Value time_minus_time(Arguments a, Meter&) {
  const Timestamp left = a[0].as_timestamp(), right = a[1].as_timestamp();
  std::int64_t nanos = 0;
  if (__builtin_mul_overflow(left.seconds - right.seconds, kNanosPerSecond, &nanos) ||
      __builtin_add_overflow(nanos, std::int64_t{left.nanos} - right.nanos, &nanos))
    return duration_overflow();
  return Value::duration({nanos});
}

Value span_plus_span(Arguments a, Meter&) {
  std::int64_t nanos = 0;
  if (__builtin_add_overflow(a[0].as_duration().nanos, a[1].as_duration().nanos, &nanos)) return duration_overflow();
  return Value::duration({nanos});
}

Value span_minus_span(Arguments a, Meter&) {
  std::int64_t nanos = 0;
  if (__builtin_sub_overflow(a[0].as_duration().nanos, a[1].as_duration().nanos, &nanos)) return duration_overflow();
  return Value::duration({nanos});
}

constexpr Overload kTimeOverloads[] = {
    {"_+_", "add_duration_duration", "(duration, duration) -> duration", span_plus_span},
    {"_+_", "add_duration_timestamp", "(duration, timestamp) -> timestamp", span_plus_time},
    {"_+_", "add_timestamp_duration", "(timestamp, duration) -> timestamp", time_plus_span},
    {"_-_", "subtract_duration_duration", "(duration, duration) -> duration", span_minus_span},
    {"_-_", "subtract_timestamp_duration", "(timestamp, duration) -> timestamp", time_minus_span},
    {"_-_", "subtract_timestamp_timestamp", "(timestamp, timestamp) -> duration", time_minus_time},
    {"getFullYear", "timestamp_to_year", "timestamp.() -> int", part<year>},
    {"getFullYear", "timestamp_to_year_with_tz", "timestamp.(string) -> int", part_in<year>},
    {"getMonth", "timestamp_to_month", "timestamp.() -> int", part<month>},
    {"getMonth", "timestamp_to_month_with_tz", "timestamp.(string) -> int", part_in<month>},
    {"getDayOfYear", "timestamp_to_day_of_year", "timestamp.() -> int", part<day_of_year>},
    {"getDayOfYear", "timestamp_to_day_of_year_with_tz", "timestamp.(string) -> int", part_in<day_of_year>},
    {"getDayOfMonth", "timestamp_to_day_of_month", "timestamp.() -> int", part<day_of_month>},
    {"getDayOfMonth", "timestamp_to_day_of_month_with_tz", "timestamp.(string) -> int", part_in<day_of_month>},
    {"getDate", "timestamp_to_day_of_month_1_based", "timestamp.() -> int", part<day_of_month_from_one>},
    {"getDate", "timestamp_to_day_of_month_1_based_with_tz", "timestamp.(string) -> int",
     part_in<day_of_month_from_one>},
    {"getDayOfWeek", "timestamp_to_day_of_week", "timestamp.() -> int", part<day_of_week>},
    {"getDayOfWeek", "timestamp_to_day_of_week_with_tz", "timestamp.(string) -> int", part_in<day_of_week>},
    {"getHours", "timestamp_to_hours", "timestamp.() -> int", part<hours>},
    {"getHours", "timestamp_to_hours_with_tz", "timestamp.(string) -> int", part_in<hours>},
    {"getHours", "duration_to_hours", "duration.() -> int", whole_units<3600 * kNanosPerSecond>},
    {"getMinutes", "timestamp_to_minutes", "timestamp.() -> int", part<minutes>},
    {"getMinutes", "timestamp_to_minutes_with_tz", "timestamp.(string) -> int", part_in<minutes>},
    {"getMinutes", "duration_to_minutes", "duration.() -> int", whole_units<60 * kNanosPerSecond>},
    {"getSeconds", "timestamp_to_seconds", "timestamp.() -> int", part<seconds>},
    {"getSeconds", "timestamp_to_seconds_tz", "timestamp.(string) -> int", part_in<seconds>},
    {"getSeconds", "duration_to_seconds", "duration.() -> int", whole_units<kNanosPerSecond>},
    {"getMilliseconds", "timestamp_to_milliseconds", "timestamp.() -> int", part<milliseconds>},
    {"getMilliseconds", "timestamp_to_milliseconds_with_tz", "timestamp.(string) -> int", part_in<milliseconds>},
    {"getMilliseconds", "duration_to_milliseconds", "duration.() -> int", whole_units<kNanosPerSecond / 1000>},
};

}  // namespace

std::span<const Overload> time_table() { return kTimeOverloads; }

Value timestamp_in_range(Timestamp moment) {
  if (moment.seconds < kFirstSecond || moment.seconds > kLastSecond) return Value::error("timestamp overflow");
  return Value::timestamp(moment);
}

std::optional<Timestamp> parse_timestamp(std::string_view text) {
  schema::GoTime time;
  Timestamp moment;
  if (!schema::parse_zoned_time(text, time, moment.offset)) return std::nullopt;
  moment.seconds = time.seconds;
  moment.nanos = time.nanos;
  return moment;
}

std::string timestamp_text(Timestamp moment) {
  const Civil c = civil_of(moment, moment.offset);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute,
                c.second);
  std::string text = buffer;
  if (moment.nanos != 0) {
    std::snprintf(buffer, sizeof buffer, ".%09d", moment.nanos);
    text += buffer;
    while (text.back() == '0') text.pop_back();
  }
  if (moment.offset == 0) return text + 'Z';
  const int minutes_ahead = std::abs(moment.offset / 60);
  std::snprintf(buffer, sizeof buffer, "%c%02d:%02d", moment.offset < 0 ? '-' : '+', minutes_ahead / 60,
                minutes_ahead % 60);
  return text + buffer;
}

std::string duration_text(Duration span) {
  const std::int64_t seconds =
      span.nanos / kNanosPerSecond;  // parted as Go parts them, so that the same digits come out
  const double count = static_cast<double>(seconds) + static_cast<double>(span.nanos % kNanosPerSecond) / 1e9;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, count, std::chars_format::fixed);
  return std::string(buffer, end.ptr) + 's';
}

std::optional<Duration> parse_duration(std::string_view text) {
  Duration span;
  std::string problem;
  return schema::parse_go_duration(text, span.nanos, problem) ? std::optional(span) : std::nullopt;
}

}  // namespace sublet::patches::cel
