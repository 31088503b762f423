// Kubernetes' semver library: Semantic Versioning 2.0 as github.com/blang/semver reads it.
#include <algorithm>
#include <charconv>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

struct PrereleasePart {
  std::string text;
  std::optional<std::uint64_t> number;
};

class Semver final : public Opaque {
 public:
  std::uint64_t numbers[3] = {0, 0, 0};
  std::vector<PrereleasePart> pre;

  Kind kind() const override { return Kind::semver; }
  bool equals(const Opaque& other) const override { return compare(static_cast<const Semver&>(other)) == 0; }
  std::string text() const override {
    std::string out = std::to_string(numbers[0]) + '.' + std::to_string(numbers[1]) + '.' + std::to_string(numbers[2]);
    for (std::size_t i = 0; i < pre.size(); ++i) out += (i ? "." : "-") + pre[i].text;
    return out;
  }

  int compare(const Semver& other) const {
    for (std::size_t i = 0; i < 3; ++i)
      if (numbers[i] != other.numbers[i]) return numbers[i] < other.numbers[i] ? -1 : 1;
    if (pre.empty() || other.pre.empty()) return pre.empty() == other.pre.empty() ? 0 : (pre.empty() ? 1 : -1);
    for (std::size_t i = 0; i < std::min(pre.size(), other.pre.size()); ++i)
      if (const int order = compare_parts(pre[i], other.pre[i])) return order;
    return pre.size() == other.pre.size() ? 0 : (pre.size() < other.pre.size() ? -1 : 1);
  }

 private:
  static int compare_parts(const PrereleasePart& a, const PrereleasePart& b) {
    if (a.number && b.number) return *a.number == *b.number ? 0 : (*a.number < *b.number ? -1 : 1);
    if (a.number.has_value() != b.number.has_value()) return a.number ? -1 : 1;
    return a.text == b.text ? 0 : (a.text < b.text ? -1 : 1);
  }
};

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWords = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789";

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}
bool padded(std::string_view text) { return text.size() > 1 && text[0] == '0'; }

std::vector<std::string_view> split_at_most(std::string_view text, char separator, std::size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<std::uint64_t> parse_version_number(std::string_view text, std::string& problem) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec == std::errc::result_out_of_range) {
    problem =
        "strconv.ParseUint: parsing " + go_quote(text) + (text.empty() ? ": invalid syntax" : ": value out of range");
    return std::nullopt;
  }
  return number;
}

std::optional<Semver> parse_semver(std::string_view text, std::string& problem) {
  const auto fail = [&](std::string why) {
    problem = std::move(why);
    return std::nullopt;
  };
  if (text.empty()) return fail("Version string empty");
  auto parts = split_at_most(text, '.', 3);
  if (parts.size() != 3) return fail("No Major.Minor.Patch elements found");
  std::string_view build, pre;
  bool has_build = false, has_pre = false;
  if (const std::size_t plus = parts[2].find('+'); plus != std::string_view::npos) {
    has_build = true;
    build = parts[2].substr(plus + 1);
    parts[2] = parts[2].substr(0, plus);
  }
  if (const std::size_t dash = parts[2].find('-'); dash != std::string_view::npos) {
    has_pre = true;
    pre = parts[2].substr(dash + 1);
    parts[2] = parts[2].substr(0, dash);
  }
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"major", "Major"}, {"minor", "Minor"}, {"patch", "Patch"}};
  Semver version;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!consists_of(parts[i], kDigits))
      return fail("Invalid character(s) found in " + std::string(kNames[i].first) + " number " + go_quote(parts[i]));
    if (padded(parts[i]))
      return fail(std::string(kNames[i].second) + " number must not contain leading zeroes " + go_quote(parts[i]));
    const auto number = parse_version_number(parts[i], problem);
    if (!number) return std::nullopt;
    version.numbers[i] = *number;
  }
  if (has_pre)
    for (const std::string_view part : split_at_most(pre, '.', SIZE_MAX)) {
      if (part.empty()) return fail("Prerelease is empty");
      PrereleasePart read{std::string(part), std::nullopt};
      if (consists_of(part, kDigits)) {
        if (padded(part)) return fail("Numeric PreRelease version must not contain leading zeroes " + go_quote(part));
        read.number = parse_version_number(part, problem);
        if (!read.number) return std::nullopt;
      } else if (!consists_of(part, kWords)) {
        return fail("Invalid character(s) found in prerelease " + go_quote(part));
      }
      version.pre.push_back(std::move(read));
    }
  if (has_build)
    for (const std::string_view part : split_at_most(build, '.', SIZE_MAX)) {
      if (part.empty()) return fail("Build meta data is empty");
      if (!consists_of(part, kWords)) return fail("Invalid character(s) found in build meta data " + go_quote(part));
    }
  return version;
}

// "v1" is 1.0.0, "01.2" is 1.2.0.
std::optional<std::string> normalized(std::string_view text, std::string& problem) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (const std::string_view part : split_at_most(text, '.', 3)) {
    std::string kept(part);
    if (kept.size() > 1) {
      kept.erase(0, std::min(kept.find_first_not_of('0'), kept.size()));
      if (kept.empty() || kDigits.find(kept[0]) == std::string_view::npos) kept.insert(0, 1, '0');
    }
    parts.push_back(std::move(kept));
  }
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string::npos) {
    problem = "short version cannot contain PreRelease/Build meta data";
    return std::nullopt;
  }
  while (parts.size() < 3) parts.emplace_back("0");
  return parts[0] + '.' + parts[1] + '.' + parts[2];
}

std::optional<Semver> read_semver(Arguments a, std::string& problem) {
  if (a.size() < 2 || !a[1].as_bool()) return parse_semver(a[0].as_text(), problem);
  const auto text = normalized(a[0].as_text(), problem);
  return text ? parse_semver(*text, problem) : std::nullopt;
}

const Semver& version_of(const Value& value) { return static_cast<const Semver&>(value.as_opaque()); }

Value semver(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size());
  std::string problem;
  auto version = read_semver(a, problem);
  return version ? Value::opaque(std::make_shared<const Semver>(std::move(*version))) : Value::error(problem);
}
Value is_semver(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size());
  std::string problem;
  return Value::boolean(read_semver(a, problem).has_value());
}

template <int Index>
Value semver_number(Arguments a, Meter&) {
  return Value::integer(static_cast<std::int64_t>(version_of(a[0]).numbers[Index]));
}
Value semver_compare_to(Arguments a, Meter&) { return Value::integer(version_of(a[0]).compare(version_of(a[1]))); }
Value semver_is_less(Arguments a, Meter&) { return Value::boolean(version_of(a[0]).compare(version_of(a[1])) < 0); }
Value semver_is_greater(Arguments a, Meter&) { return Value::boolean(version_of(a[0]).compare(version_of(a[1])) > 0); }

constexpr Set V = Set::semver;

constexpr Overload kSemverOverloads[] = {
    {"semver", "string_to_semver", "(string) -> semver", semver, V},
    {"semver", "string_bool_to_semver", "(string, bool) -> semver", semver, V},
    {"isSemver", "is_semver_string", "(string) -> bool", is_semver, V},
    {"isSemver", "is_semver_string_bool", "(string, bool) -> bool", is_semver, V},
    {"major", "semver_major", "semver.() -> int", semver_number<0>, V},
    {"minor", "semver_minor", "semver.() -> int", semver_number<1>, V},
    {"patch", "semver_patch", "semver.() -> int", semver_number<2>, V},
    {"compareTo", "semver_compare_to", "semver.(semver) -> int", semver_compare_to, V},
    {"isLessThan", "semver_is_less_than", "semver.(semver) -> bool", semver_is_less, V},
    {"isGreaterThan", "semver_is_greater_than", "semver.(semver) -> bool", semver_is_greater, V},
};

}  // namespace

std::span<const Overload> semver_table() { return kSemverOverloads; }

}  // namespace sublet::patches::cel
