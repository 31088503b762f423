// The formats of strings that upstream checks (kube-openapi's strfmt); dashes in their names do not count.
#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "apiserver/structural/validate.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

struct FormatRow {
  std::string_view name;
  std::string_view pattern;                       // empty: what `also` says alone
  bool (*also)(std::string_view text) = nullptr;  // null: the pattern says it all
};

bool is_v4(std::string_view text) {
  const auto ip = parse_ip(text);
  return ip && text.find('.') != std::string_view::npos;
}
bool is_v6(std::string_view text) { return parse_ip(text) && text.find(':') != std::string_view::npos; }

bool is_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto ip = parse_ip(text.substr(0, slash));
  const auto bits = text.substr(slash + 1);
  if (!ip || bits.empty() || bits.size() > 3 || bits.find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  int number = 0;
  for (const char c : bits) number = number * 10 + (c - '0');
  return number <= (ip->v6 ? 128 : 32);
}

bool is_calendar_day(std::string_view text) {  // of the form 2006-01-02
  const auto part = [&](std::size_t at, std::size_t size) {
    int number = 0;
    for (const char c : text.substr(at, size)) number = number * 10 + (c - '0');
    return number;
  };
  const int year = part(0, 4), month = part(5, 2), day = part(8, 2);
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

/// Labels of at most 63 bytes, 255 in all.
bool is_short_enough(std::string_view host) {
  if (host.size() > 255) return false;
  while (true) {
    const auto dot = host.find('.');
    if (host.substr(0, dot).size() > 63) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

bool luhn(std::string_view text) {
  int sum = 0, place = 0;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    if (*c < '0' || *c > '9') continue;
    int digit = *c - '0';
    if (place++ % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return place >= 12 && sum % 10 == 0;
}

std::string digits_of(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != '-' && c != ' ') digits += c;
  return digits;
}
bool is_isbn10(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 10) return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    const char c = digits[static_cast<std::size_t>(i)];
    if ((c < '0' || c > '9') && !(i == 9 && c == 'X')) return false;
    sum += (i + 1) * (c == 'X' ? 10 : c - '0');
  }
  return sum % 11 == 0;
}
bool is_isbn13(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 13) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    sum += (i % 2 ? 3 : 1) * (digits[i] - '0');
  }
  return sum % 10 == 0;
}
bool is_isbn(std::string_view text) { return is_isbn10(text) || is_isbn13(text); }

// By name.
const FormatRow kFormats[] = {
    {"bsonobjectid", "^[0-9a-fA-F]{24}$"},
    {"byte", R"(^(?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4})$)"},
    {"cidr", "", is_cidr},
    {"creditcard", R"(^[0-9 -]+$)", luhn},
    {"date", R"(^\d{4}-\d{2}-\d{2}$)", is_calendar_day},
    {"datetime",
     R"(^(?i)\d{4}-\d{2}-\d{2}t([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):?[0-5]\d))",
     is_calendar_day},
    {"duration",
     R"(^([-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0|(\d+\s*(ns|nano|nanos|nanosec|nanosecs|nanosecond|nanoseconds|us|µs|micro|micros|microsec|microsecs|microsecond|microseconds|ms|milli|millis|millisec|millisecs|millisecond|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours|d|day|days|w|wk|wks|week|weeks)\s*)+)$)"},
    {"email", R"(^(([^<>]*<)?[^\s<>@"]+@[^\s<>@,]+>?)$)"},
    {"hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"},
    {"hostname",
     R"(^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$)",
     is_short_enough},
    {"ipv4", "", is_v4},
    {"ipv6", "", is_v6},
    {"isbn", "", is_isbn},
    {"isbn10", "", is_isbn10},
    {"isbn13", "", is_isbn13},
    {"k8slongname", R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
     [](std::string_view text) { return text.size() <= 253; }},
    {"k8sshortname", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", [](std::string_view text) { return text.size() <= 63; }},
    {"mac",
     "^([0-9a-fA-F]{2}([:-]))([0-9a-fA-F]{2}[:-]){4}[0-9a-fA-F]{2}(([:-][0-9a-fA-F]{2}){2}|([:-][0-9a-fA-F]{2}){14})?$|"
     R"(^([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}((\.[0-9a-fA-F]{4})|(\.[0-9a-fA-F]{4}){7})?$)"},
    {"password", "", [](std::string_view) { return true; }},
    {"rgbcolor",
     R"(^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$)"},
    {"ssn", R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)"},
    {"uri", R"(^([a-zA-Z][a-zA-Z0-9+.-]*:[^\s]*|/[^\s]*)$)"},
    {"uuid", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
    {"uuid3", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
    {"uuid4", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
    {"uuid5", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
};

const FormatRow* find_format(std::string_view name) {
  std::string bare(name);
  std::erase(bare, '-');
  const auto row = std::ranges::find(kFormats, std::string_view(bare), &FormatRow::name);
  return row == std::end(kFormats) ? nullptr : row;
}

bool matches(const FormatRow& row, std::string_view text) {
  static const std::map<std::string_view, LazyPattern> patterns = [] {
    std::map<std::string_view, LazyPattern> made;
    for (const FormatRow& one : kFormats)
      if (!one.pattern.empty()) made.try_emplace(one.name, one.pattern);
    return made;
  }();
  return row.pattern.empty() || patterns.at(row.name).matches(text);
}

}  // namespace

bool known_format(JsonType type, std::string_view format) {
  switch (type) {
    case JsonType::any:
    case JsonType::string:
      return find_format(format) != nullptr;
    case JsonType::integer:
      return format == "int32" || format == "int64";
    case JsonType::number:
      return format == "float" || format == "double";
    default:
      return false;
  }
}

bool has_format(std::string_view format, std::string_view value) {
  const FormatRow* row = find_format(format);
  return !row || (matches(*row, value) && (!row->also || row->also(value)));
}

}  // namespace sublet::apiserver
