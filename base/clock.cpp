#include "sublet/base/clock.h"

#include "sublet/base/rfc3339.h"

namespace sublet {
namespace {

using std::chrono::sys_days;

class SystemClock final : public Clock {
 public:
  WallTime now() const override { return std::chrono::system_clock::now(); }
  SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
};

std::string text_of(WallTime time, TimeFraction fraction) {
  using namespace std::chrono;
  const auto second = floor<seconds>(time);
  char buffer[kRfc3339Max];
  const char* end =
      write_rfc3339(buffer, second.time_since_epoch().count(),
                    static_cast<std::int32_t>(duration_cast<nanoseconds>(time - second).count()), fraction);
  return {buffer, static_cast<std::size_t>(end - buffer)};
}

// Reads exactly `digits` decimal digits at `pos`, moving it on; -1 when there is anything else.
int read_digits(std::string_view text, std::size_t& pos, int digits) {
  int value = 0;
  for (int i = 0; i < digits; ++i, ++pos) {
    if (pos >= text.size() || text[pos] < '0' || text[pos] > '9') return -1;
    value = value * 10 + (text[pos] - '0');
  }
  return value;
}

bool read_char(std::string_view text, std::size_t& pos, char want) {
  if (pos >= text.size() || text[pos] != want) return false;
  ++pos;
  return true;
}

// The fraction ".123" in nanoseconds; false when a dot stands without digits.
bool read_fraction(std::string_view text, std::size_t& pos, std::chrono::nanoseconds& out) {
  out = {};
  if (pos >= text.size() || text[pos] != '.') return true;
  ++pos;
  long scale = 100'000'000, value = 0;
  const std::size_t start = pos;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos, scale /= 10)
    value += (text[pos] - '0') * scale;
  out = std::chrono::nanoseconds(value);
  return pos > start;
}

// "Z" or "+02:00" in seconds east of UTC.
std::optional<int> read_offset(std::string_view text, std::size_t& pos) {
  if (read_char(text, pos, 'Z') || read_char(text, pos, 'z')) return 0;
  if (pos >= text.size() || (text[pos] != '+' && text[pos] != '-')) return std::nullopt;
  const int sign = text[pos++] == '-' ? -1 : 1;
  const int hours = read_digits(text, pos, 2);
  if (hours < 0 || hours > 23 || !read_char(text, pos, ':')) return std::nullopt;
  const int minutes = read_digits(text, pos, 2);
  if (minutes < 0 || minutes > 59) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

Clock& Clock::system() {
  static SystemClock clock;
  return clock;
}

std::string format_time(WallTime time) { return text_of(time, TimeFraction::none); }

std::string format_micro_time(WallTime time) { return text_of(time, TimeFraction::micros); }

std::optional<WallTime> parse_time(std::string_view text) {
  using namespace std::chrono;
  std::size_t pos = 0;
  const int y = read_digits(text, pos, 4);
  if (y < 0 || !read_char(text, pos, '-')) return std::nullopt;
  const int mo = read_digits(text, pos, 2);
  if (mo < 0 || !read_char(text, pos, '-')) return std::nullopt;
  const int d = read_digits(text, pos, 2);
  if (d < 0 || !(read_char(text, pos, 'T') || read_char(text, pos, 't'))) return std::nullopt;
  const int h = read_digits(text, pos, 2);
  if (h < 0 || h > 23 || !read_char(text, pos, ':')) return std::nullopt;
  const int mi = read_digits(text, pos, 2);
  if (mi < 0 || mi > 59 || !read_char(text, pos, ':')) return std::nullopt;
  const int s = read_digits(text, pos, 2);
  if (s < 0 || s > 60) return std::nullopt;
  nanoseconds fraction{};
  if (!read_fraction(text, pos, fraction)) return std::nullopt;
  const auto offset = read_offset(text, pos);
  const year_month_day ymd{year(y), month(unsigned(mo)), day(unsigned(d))};
  if (!offset || pos != text.size() || !ymd.ok()) return std::nullopt;
  const auto secs = sys_days(ymd) + hours(h) + minutes(mi) + seconds(s) - seconds(*offset);
  return time_point_cast<WallTime::duration>(secs + fraction);
}

}  // namespace sublet
