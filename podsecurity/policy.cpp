#include "sublet/podsecurity/policy.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sublet/base/go_quoted.h"

namespace sublet::podsecurity {
namespace {

using schema::Value;

constexpr std::string_view kNames[] = {"privileged", "baseline", "restricted"};
constexpr std::string_view kBadLevel = "must be one of privileged, baseline, restricted";
constexpr std::string_view kBadVersion = "must be \"latest\" or \"v1.x\"";

std::optional<Level> parse_level(std::string_view text) {
  for (const auto level : {Level::privileged, Level::baseline, Level::restricted})
    if (text == level_name(level)) return level;
  return std::nullopt;
}

std::optional<Version> parse_version(std::string_view text) {
  if (text == "latest") return Version{};
  constexpr std::string_view kMajor = "v1.";
  if (!text.starts_with(kMajor)) return std::nullopt;
  const auto digits = text.substr(kMajor.size());
  if (digits.empty() || digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && digits.size() > 1))
    return std::nullopt;
  Version version;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version.minor);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return version;
}

/// The labels of one mode.
struct Mode {
  const Value& labels;
  std::string_view name;
  std::vector<Cause>& wrong;

  Value label(std::string_view suffix) const { return labels[std::string(kLabelPrefix).append(name).append(suffix)]; }
  void complain(const Value& value, std::string_view why) const {
    wrong.push_back({"FieldValueInvalid", "Invalid value: " + go_quoted(value.text()) + ": " + std::string(why),
                     "metadata.labels[" + std::string(value.key()) + "]"});
  }
  bool says_level() const { return bool(label("")); }
  bool says_version() const { return bool(label("-version")); }

  /// False: the label names no level, and `fallback` counts.
  bool read_level(Level& level, Level fallback) const {
    const auto said = label("");
    if (!said) return false;
    const auto parsed = parse_level(said.text());
    if (!parsed) complain(said, kBadLevel);
    level = parsed.value_or(fallback);
    return parsed.has_value();
  }
  void read_version(Version& version) const {
    const auto said = label("-version");
    if (!said) return;
    const auto parsed = parse_version(said.text());
    if (!parsed) complain(said, kBadVersion);
    version = parsed.value_or(Version{});
  }
};

}  // namespace

std::string_view level_name(Level level) { return kNames[static_cast<std::size_t>(level)]; }

std::string Version::text() const { return minor == kLatest ? "latest" : "v1." + std::to_string(minor); }

std::string LevelVersion::text() const { return std::string(level_name(level)) + ":" + version.text(); }

bool Policy::is_privileged() const {
  return enforce.level == Level::privileged && audit.level == Level::privileged && warn.level == Level::privileged;
}

Policy policy_of(const Value& labels, const Policy& defaults, std::vector<Cause>& wrong) {
  Policy policy = defaults;
  if (!std::any_of(labels.begin(), labels.end(),
                   [](const Value& label) { return label.key().starts_with(kLabelPrefix); }))
    return policy;
  const Mode enforce{labels, "enforce", wrong}, audit{labels, "audit", wrong}, warn{labels, "warn", wrong};
  const bool enforces = enforce.read_level(policy.enforce.level, Level::restricted);
  enforce.read_version(policy.enforce.version);
  audit.read_level(policy.audit.level, Level::privileged);
  audit.read_version(policy.audit.version);
  warn.read_level(policy.warn.level, Level::privileged);
  warn.read_version(policy.warn.version);
  // Who is refused pods is warned of what makes them.
  if (enforces && !warn.says_level() && policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!warn.says_version()) policy.warn.version = policy.enforce.version;
  }
  return policy;
}

}  // namespace sublet::podsecurity
