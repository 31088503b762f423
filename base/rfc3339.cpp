#include "sublet/base/rfc3339.h"

#include <chrono>

namespace sublet {
namespace {

char* put_digits(char* at, int value, int width) {
  for (int i = width - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
  return at + width;
}

}  // namespace

char* write_rfc3339(char* out, std::int64_t seconds_since_1970, std::int32_t nanos, TimeFraction fraction) {
  const std::chrono::sys_seconds instant{std::chrono::seconds(seconds_since_1970)};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const auto second = static_cast<int>((instant - day).count());
  char* at = put_digits(out, static_cast<int>(date.year()), 4);
  *at++ = '-';
  at = put_digits(at, static_cast<int>(static_cast<unsigned>(date.month())), 2);
  *at++ = '-';
  at = put_digits(at, static_cast<int>(static_cast<unsigned>(date.day())), 2);
  *at++ = 'T';
  at = put_digits(at, second / 3600, 2);
  *at++ = ':';
  at = put_digits(at, second / 60 % 60, 2);
  *at++ = ':';
  at = put_digits(at, second % 60, 2);
  if (fraction == TimeFraction::micros) {
    *at++ = '.';
    at = put_digits(at, nanos / 1000, 6);
  }
  *at++ = 'Z';
  return at;
}

}  // namespace sublet
