#include <algorithm>
#include <fstream>
#include <iterator>

#include "sublet/kube/cron_schedule.h"

namespace sublet::kube {
namespace {

using std::chrono::sys_days;

constexpr int kDay = 86'400;
constexpr std::string_view kFolders[] = {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/",
                                         "/etc/zoneinfo/"};

std::int64_t days_to(int year, int month, int day) {
  const auto date = std::chrono::year(year) / month / day;
  return sys_days(date).time_since_epoch().count();
}

int year_of(std::int64_t unix_seconds) {
  const sys_days day(std::chrono::floor<std::chrono::days>(std::chrono::seconds(unix_seconds)));
  return static_cast<int>(std::chrono::year_month_day(day).year());
}

/// Big-endian numbers, one after another; after the end of the text they are 0 and `short_of` is set.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  std::string_view take(std::size_t count) {
    if (count > text_.size()) {
      short_of = true;
      text_ = {};
      return {};
    }
    const auto taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }
  std::int64_t number(std::size_t width) {
    std::uint64_t value = 0;
    for (const char byte : take(width)) value = value << 8 | static_cast<unsigned char>(byte);
    return width == 8 ? static_cast<std::int64_t>(value) : static_cast<std::int32_t>(value);
  }
  std::string_view rest() const { return text_; }
  bool short_of = false;

 private:
  std::string_view text_;
};

struct Counts {
  std::int64_t utc_marks, standard_marks, leaps, moments, kinds, letters;
  std::size_t size(std::size_t width) const {
    return static_cast<std::size_t>(moments * static_cast<std::int64_t>(width + 1) + kinds * 6 + letters +
                                    leaps * static_cast<std::int64_t>(width + 4) + standard_marks + utc_marks);
  }
  bool sane() const {
    for (auto count : {utc_marks, standard_marks, leaps, moments, letters})
      if (count < 0 || count > 1 << 20) return false;
    return kinds > 0 && kinds <= 256;
  }
};

Counts read_counts(Bytes& bytes) {
  Counts counts{};
  for (auto* count :
       {&counts.utc_marks, &counts.standard_marks, &counts.leaps, &counts.moments, &counts.kinds, &counts.letters})
    *count = bytes.number(4);
  return counts;
}

}  // namespace

/// Reads "CET-1CEST,M3.5.0,M10.5.0/3" from left to right.
class TimeZone::RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_(text) {}

  std::optional<Rule> read() {
    Rule rule;
    if (!name() || !clock(rule.standard)) return std::nullopt;
    rule.standard = -rule.standard;  // POSIX counts westwards
    if (text_.empty()) return rule;
    rule.has_summer = true;
    rule.summer = rule.standard + 3600;
    if (!name()) return std::nullopt;
    if (!text_.empty() && text_.front() != ',') {
      if (!clock(rule.summer)) return std::nullopt;
      rule.summer = -rule.summer;
    }
    if (!change(rule.begin) || !change(rule.end) || !text_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool take(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool name() {
    std::size_t end = 0;
    if (take('<')) {
      end = text_.find('>');
      if (end == std::string_view::npos) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    while (end < text_.size() && ((text_[end] | 32) >= 'a' && (text_[end] | 32) <= 'z')) ++end;
    text_.remove_prefix(end);
    return end >= 3;
  }
  bool number(int& value) {
    std::size_t digits = 0;
    value = 0;
    while (digits < text_.size() && digits < 4 && text_[digits] >= '0' && text_[digits] <= '9')
      value = value * 10 + (text_[digits++] - '0');
    text_.remove_prefix(digits);
    return digits > 0;
  }
  /// [+-]hours[:minutes[:seconds]], in seconds.
  bool clock(int& seconds) {
    const bool negative = take('-');
    if (!negative) take('+');
    int part = 0;
    if (!number(part)) return false;
    seconds = part * 3600;
    for (const int unit : {60, 1}) {
      if (!take(':')) break;
      if (!number(part)) return false;
      seconds += part * unit;
    }
    if (negative) seconds = -seconds;
    return true;
  }
  bool change(Change& change) {
    if (!take(',')) return false;
    if (take('M')) {
      if (!number(change.month) || !take('.') || !number(change.week) || !take('.') || !number(change.day))
        return false;
      if (change.month < 1 || change.month > 12 || change.week < 1 || change.week > 5 || change.day > 6) return false;
    } else {
      change.form = take('J') ? 'J' : 'n';
      if (!number(change.day) || change.day > 365) return false;
    }
    return !take('/') || clock(change.second);
  }

  std::string_view text_;
};

/// As if the clocks there showed UTC: the caller takes the offset off.
std::int64_t TimeZone::moment(const Change& change, int year) {
  std::int64_t day = 0;
  if (change.form == 'M') {
    const auto first = days_to(year, change.month, 1);
    const int weekday = static_cast<int>(std::chrono::weekday(sys_days(std::chrono::days(first))).c_encoding());
    day = first + (change.day - weekday + 7) % 7 + (change.week - 1) * 7;
    const auto next_month = change.month == 12 ? days_to(year + 1, 1, 1) : days_to(year, change.month + 1, 1);
    if (day >= next_month) day -= 7;  // week 5 is the last one
  } else {
    day = days_to(year, 1, 1) + change.day;
    if (change.form == 'J') day += std::chrono::year(year).is_leap() && change.day >= 60 ? 0 : -1;
  }
  return day * kDay + change.second;
}

int TimeZone::Rule::offset(std::int64_t unix_seconds) const {
  if (!has_summer) return standard;
  const int year = year_of(unix_seconds + standard);
  const auto begins = moment(begin, year) - standard, ends = moment(end, year) - summer;
  const bool in_summer = begins < ends ? unix_seconds >= begins && unix_seconds < ends
                                       : unix_seconds >= begins || unix_seconds < ends;  // the southern half
  return in_summer ? summer : standard;
}

std::optional<TimeZone> TimeZone::parse_rule(std::string_view rule) {
  TimeZone zone;
  zone.rule_ = RuleReader(rule).read();
  if (!zone.rule_) return std::nullopt;
  return zone;
}

std::optional<TimeZone> TimeZone::parse_tzif(std::string_view content) {
  constexpr std::size_t kReserved = 15;
  Bytes bytes(content);
  if (bytes.take(4) != "TZif") return std::nullopt;
  const auto version = bytes.take(1);
  bytes.take(kReserved);
  auto counts = read_counts(bytes);
  std::size_t width = 4;
  if (version >= "2") {  // the same again in 64 bits, and a rule for the time after
    width = 8;
    if (!counts.sane()) return std::nullopt;
    bytes.take(counts.size(4));
    bytes.take(5 + kReserved);
    counts = read_counts(bytes);
  }
  if (bytes.short_of || !counts.sane()) return std::nullopt;
  TimeZone zone;
  for (std::int64_t i = 0; i < counts.moments; ++i) zone.moments_.push_back(bytes.number(width));
  const auto kind_of_moment = bytes.take(static_cast<std::size_t>(counts.moments));
  std::vector<int> offsets;
  std::vector<bool> summer;
  for (std::int64_t i = 0; i < counts.kinds; ++i) {
    offsets.push_back(static_cast<int>(bytes.number(4)));
    summer.push_back(bytes.take(1) != std::string_view("\0", 1));
    bytes.take(1);
  }
  if (bytes.short_of) return std::nullopt;
  for (const char kind : kind_of_moment) {
    const auto index = static_cast<unsigned char>(kind);
    if (index >= offsets.size()) return std::nullopt;
    zone.offsets_.push_back(offsets[index]);
  }
  const auto standard = std::find(summer.begin(), summer.end(), false);
  zone.first_ = offsets[standard == summer.end() ? 0 : static_cast<std::size_t>(standard - summer.begin())];
  if (width == 4) return zone;
  bytes.take(counts.size(8) - static_cast<std::size_t>(counts.moments * 9 + counts.kinds * 6));
  auto rule = bytes.rest();
  if (rule.size() > 2 && rule.front() == '\n') zone.rule_ = RuleReader(rule.substr(1, rule.find('\n', 1) - 1)).read();
  return zone;
}

Result<TimeZone> TimeZone::load(const std::string& name) {
  if (name.empty() || name == "UTC") return TimeZone();
  if (name.find("..") != std::string::npos || name.front() == '/' || name.find('\\') != std::string::npos)
    return bad_request("time: invalid location name");
  for (const auto folder : kFolders) {
    std::ifstream file(std::string(folder) + name, std::ios::binary);
    if (!file) continue;
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (auto zone = parse_tzif(content)) return std::move(*zone);
  }
  return bad_request("unknown time zone " + name);
}

int TimeZone::offset(std::int64_t unix_seconds) const {
  const auto after = std::upper_bound(moments_.begin(), moments_.end(), unix_seconds);
  if (after == moments_.end() && rule_) return rule_->offset(unix_seconds);
  if (after == moments_.begin()) return first_;
  return offsets_[static_cast<std::size_t>(after - moments_.begin()) - 1];
}

}  // namespace sublet::kube
