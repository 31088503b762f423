#include "sublet/schema/go_time.h"

#include <chrono>
#include <optional>
#include <string>

#include "schema/text_scan.h"
#include "sublet/base/rfc3339.h"
#include "sublet/schema/document.h"

namespace sublet::schema {

namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kMinWireSeconds = -62167219200;  // 0000-01-01
constexpr std::int64_t kMaxWireSeconds = 253402300799;  // 9999-12-31T23:59:59

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// Reads one element of the layout after the other; the first that does not fit is remembered as Go reports it.
class TimeReader {
 public:
  TimeReader(std::string_view text, TimeLayout layout) : text_(text), rest_(text), layout_(layout) {}

  bool read(GoTime& time, int& offset) {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    std::int32_t nanos = 0;
    const bool fits = number(4, 4, "2006", year) && literal('-') && number(2, 2, "01", month) &&
                      range(month, 1, 12, "month") && literal('-') && number(2, 2, "02", day) && literal('T') &&
                      number(1, 2, "15", hour) && range(hour, 0, 23, "hour") && literal(':') &&
                      number(2, 2, "04", minute) && range(minute, 0, 59, "minute") && literal(':') &&
                      number(2, 2, "05", second) && range(second, 0, 59, "second") && fraction(nanos) && zone(offset) &&
                      end() && valid_day(year, month, day);
    if (!fits) return false;
    const auto date = std::chrono::year(year) / month / day;
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    time.seconds = days * kSecondsPerDay + hour * 3600 + minute * 60 + second - offset;
    time.nanos = nanos;
    return true;
  }

  std::string problem() && { return std::move(problem_); }

 private:
  bool mismatch(std::string_view element) {
    problem_ =
        "parsing time " + quoted(text_) + " as " +
        (layout_ == TimeLayout::seconds ? "\"2006-01-02T15:04:05Z07:00\"" : "\"2006-01-02T15:04:05.000000Z07:00\"") +
        ": cannot parse " + quoted(rest_) + " as " + quoted(element);
    return false;
  }

  bool complain(std::string_view what) {
    problem_ = "parsing time " + quoted(text_) + ": " + std::string(what);
    return false;
  }

  bool number(std::size_t min_digits, std::size_t max_digits, std::string_view element, int& out) {
    std::size_t n = 0;
    out = 0;
    while (n < max_digits && n < rest_.size() && is_digit(rest_[n])) out = out * 10 + (rest_[n++] - '0');
    if (n < min_digits) return mismatch(element);
    rest_.remove_prefix(n);
    return true;
  }

  bool literal(char c) {
    if (rest_.empty() || rest_[0] != c) return mismatch(std::string_view(&c, 1));
    rest_.remove_prefix(1);
    return true;
  }

  bool range(int value, int low, int high, std::string_view what) {
    return (value >= low && value <= high) || complain(std::string(what) + " out of range");
  }

  bool fraction(std::int32_t& nanos) {
    const bool point = rest_.size() >= 2 && (rest_[0] == '.' || rest_[0] == ',') && is_digit(rest_[1]);
    std::size_t digits = 0;
    if (point)
      while (digits + 1 < rest_.size() && is_digit(rest_[digits + 1])) ++digits;
    if (layout_ == TimeLayout::micros) {
      if (digits < 6) return mismatch(".000000");
      digits = 6;  // what follows must be the zone
    }
    if (digits == 0) return true;
    for (std::size_t i = 0; i < 9; ++i) nanos = nanos * 10 + (i < digits ? rest_[i + 1] - '0' : 0);
    rest_.remove_prefix(digits + 1);
    return true;
  }

  bool zone(int& offset) {
    if (!rest_.empty() && rest_[0] == 'Z') {
      rest_.remove_prefix(1);
      return true;
    }
    const bool form = rest_.size() >= 6 && (rest_[0] == '+' || rest_[0] == '-') && is_digit(rest_[1]) &&
                      is_digit(rest_[2]) && rest_[3] == ':' && is_digit(rest_[4]) && is_digit(rest_[5]);
    if (!form) return mismatch("Z07:00");
    const int hours = (rest_[1] - '0') * 10 + rest_[2] - '0';
    const int minutes = (rest_[4] - '0') * 10 + rest_[5] - '0';
    if (!range(hours, 0, 24, "time zone offset hour") || !range(minutes, 0, 60, "time zone offset minute"))
      return false;
    offset = (hours * 60 + minutes) * 60 * (rest_[0] == '-' ? -1 : 1);
    rest_.remove_prefix(6);
    return true;
  }

  bool end() { return rest_.empty() || complain("extra text: " + quoted(rest_)); }

  bool valid_day(int year, int month, int day) {
    return (std::chrono::year(year) / month / day).ok() || complain("day out of range");
  }

  std::string_view text_, rest_;
  TimeLayout layout_;
  std::string problem_;
};

struct DurationUnit {
  std::string_view name;
  std::uint64_t nanos;
};

constexpr DurationUnit kUnits[] = {
    {"ns", 1},         {"us", 1000},         {"\u00b5s", 1000},     {"\u03bcs", 1000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

constexpr std::uint64_t kDurationMax = std::uint64_t{1} << 63;  // Go holds magnitudes up to 1<<63

/// One "1.5h" of a duration; false when malformed or too large. `bad_unit` is the unit when that is the trouble.
bool take_duration_part(std::string_view& rest, std::uint64_t& total, std::optional<std::string_view>& bad_unit) {
  std::uint64_t whole = 0, fraction = 0;
  double scale = 1;
  std::size_t digits = 0;
  for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), ++digits) {
    if (whole > kDurationMax / 10) return false;
    whole = whole * 10 + static_cast<std::uint64_t>(rest[0] - '0');
    if (whole > kDurationMax) return false;
  }
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    for (bool full = false; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), ++digits) {
      full = full || fraction > (kDurationMax - 1) / 10;
      if (full) continue;
      fraction = fraction * 10 + static_cast<std::uint64_t>(rest[0] - '0');
      scale *= 10;
    }
  }
  if (digits == 0) return false;
  std::size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
  for (const DurationUnit& unit : kUnits) {
    if (unit.name != rest.substr(0, length)) continue;
    rest.remove_prefix(length);
    if (whole > kDurationMax / unit.nanos) return false;
    whole *= unit.nanos;
    whole += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit.nanos) / scale));
    total += whole;
    return whole <= kDurationMax && total <= kDurationMax;
  }
  bad_unit = rest.substr(0, length);
  return false;
}

/// "1.5" from 1500 and 3 digits: trailing zeros of the fraction fall away.
void append_decimal(std::string& out, std::uint64_t value, int fraction_digits) {
  std::uint64_t divisor = 1;
  for (int i = 0; i < fraction_digits; ++i) divisor *= 10;
  out += std::to_string(value / divisor);
  std::string fraction = std::to_string(value % divisor + divisor).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (!fraction.empty()) out += '.' + fraction;
}

}  // namespace

bool in_wire_range(const GoTime& time) { return time.seconds >= kMinWireSeconds && time.seconds <= kMaxWireSeconds; }

bool parse_go_time(std::string_view text, TimeLayout layout, GoTime& time, std::string& problem) {
  TimeReader reader(text, layout);
  int ahead = 0;
  if (!reader.read(time, ahead)) {
    problem = std::move(reader).problem();
    return false;
  }
  if (in_wire_range(time)) return true;
  problem = "parsing time " + quoted(text) + ": year out of range";
  return false;
}

bool parse_zoned_time(std::string_view text, GoTime& time, int& ahead) {
  ahead = 0;
  return TimeReader(text, TimeLayout::seconds).read(time, ahead);
}

std::string_view format_go_time(const GoTime& time, TimeLayout layout, char* buffer) {
  const auto fraction = layout == TimeLayout::micros ? TimeFraction::micros : TimeFraction::none;
  return {buffer, static_cast<std::size_t>(write_rfc3339(buffer, time.seconds, time.nanos, fraction) - buffer)};
}

bool parse_go_duration(std::string_view text, std::int64_t& nanos, std::string& problem) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") {
    nanos = 0;
    return true;
  }
  std::uint64_t total = 0;
  bool fits = !rest.empty();
  std::optional<std::string_view> bad_unit;
  while (fits && !rest.empty()) fits = take_duration_part(rest, total, bad_unit);
  if (!fits || (!negative && total == kDurationMax)) {
    problem = !bad_unit           ? "time: invalid duration "
              : bad_unit->empty() ? "time: missing unit in duration "
                                  : "time: unknown unit " + quoted(*bad_unit) + " in duration ";
    problem += quoted(text);
    return false;
  }
  nanos = static_cast<std::int64_t>(negative ? 0 - total : total);
  return true;
}

std::string format_go_duration(std::int64_t nanos) {
  if (nanos == 0) return "0s";
  const bool negative = nanos < 0;
  const auto bits = static_cast<std::uint64_t>(nanos);
  const std::uint64_t total = negative ? 0 - bits : bits;
  std::string out = negative ? "-" : "";
  if (total < 1'000'000'000) {
    const int digits = total < 1000 ? 0 : total < 1'000'000 ? 3 : 6;
    append_decimal(out, total, digits);
    return out += digits == 0 ? "ns" : digits == 3 ? "\u00b5s" : "ms";
  }
  const std::uint64_t minutes = total / 60'000'000'000;
  if (minutes >= 60) out += std::to_string(minutes / 60) + 'h';
  if (minutes > 0) out += std::to_string(minutes % 60) + 'm';
  append_decimal(out, total % 60'000'000'000, 9);
  return out += 's';
}

}  // namespace sublet::schema
