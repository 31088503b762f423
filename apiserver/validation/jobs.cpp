#include "apiserver/validation/jobs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "apiserver/request/text_list.h"
#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/names.h"
#include "sublet/kube/cron_schedule.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::int64_t kIndexedParallelismMax = 100'000, kFailedIndexesMax = 100'000, kManyCompletions = 100'000,
                       kParallelismOfMany = 10'000, kFailedIndexesOfMany = 10'000;
constexpr std::size_t kFailureRulesMax = 20, kRuleExitCodesMax = 255, kPatternsMax = 20, kSuccessRulesMax = 20,
                      kZonePartMax = 14;
constexpr int kManagedByMax = 63, kIndexesTextMax = 64 * 1024;
constexpr std::string_view kFailureActions[] = {"Count", "FailIndex", "FailJob", "Ignore"},
                           kExitCodeOperators[] = {"In", "NotIn"}, kConditionStatuses[] = {"False", "True", "Unknown"},
                           kCompletionModes[] = {"NonIndexed", "Indexed"},
                           kReplacements[] = {"Failed", "TerminatingOrFailed"}, kOnlyFailed[] = {"Failed"},
                           kConcurrency[] = {"Allow", "Forbid", "Replace"};

/// `valid values: ["a" "b"]`, as Go shows a list.
template <std::size_t N>
std::string valid_values(const std::string_view (&choices)[N]) {
  std::string text = "valid values: [";
  for (std::size_t i = 0; i < N; ++i) text.append(i ? " \"" : "\"").append(choices[i]).append("\"");
  return text + "]";
}

template <std::size_t N>
void require_choice(Causes& causes, const std::string& path, const Value& value, const std::string_view (&choices)[N]) {
  if (value.text().empty())
    required(causes, path, valid_values(choices));
  else if (!contains_text(choices, value.text()))
    not_supported(causes, path, value, choices);
}

void validate_exit_codes(Causes& causes, const std::string& path, const Value& codes, const Value& pod) {
  require_choice(causes, child(path, "operator"), codes["operator"], kExitCodeOperators);
  if (const auto name = codes["containerName"]) {
    bool known = false;
    for (auto list : {"containers", "initContainers"})
      for (Value container : pod[list]) known |= container["name"].text() == name.text();
    if (!known)
      invalid(causes, child(path, "containerName"), name,
              "must be one of the container or initContainer names in the pod template");
  }
  const auto at = child(path, "values");
  const auto values = codes["values"];
  if (values.empty())
    return invalid(causes, at, values ? BadValue(values) : BadValue::raw("null"), "at least one value is required");
  if (values.size() > kRuleExitCodesMax) too_many(causes, at, values.size(), kRuleExitCodesMax);
  std::set<std::int64_t> seen;
  std::optional<std::int64_t> last;
  bool ordered = true;
  std::size_t index = 0;
  for (Value value : values) {
    const auto code = value.integer();
    const auto each = item(at, index++);
    if (code == 0 && codes["operator"].text() == "In") invalid(causes, each, code, "must not be 0 for the In operator");
    if (!seen.insert(code).second) duplicate(causes, each, code);
    ordered &= !last || *last <= code;
    last = code;
  }
  if (!ordered) invalid(causes, at, values, "must be ordered");
}

void validate_patterns(Causes& causes, const std::string& path, const Value& patterns) {
  if (patterns.size() > kPatternsMax) too_many(causes, path, patterns.size(), kPatternsMax);
  std::size_t index = 0;
  for (Value pattern : patterns) {
    const auto at = item(path, index++);
    invalid_each(causes, child(at, "type"), pattern["type"].text(), qualified_name(pattern["type"].text()));
    require_choice(causes, child(at, "status"), pattern["status"], kConditionStatuses);
  }
}

void validate_failure_rule(Causes& causes, const std::string& path, const Value& rule, const Value& spec) {
  const auto action = rule["action"];
  require_choice(causes, child(path, "action"), action, kFailureActions);
  if (action.text() == "FailIndex" && !spec.has("backoffLimitPerIndex"))
    invalid(causes, child(path, "action"), action, "requires the backoffLimitPerIndex to be set");
  const auto codes = rule["onExitCodes"], patterns = rule["onPodConditions"];
  if (codes) validate_exit_codes(causes, child(path, "onExitCodes"), codes, spec["template"]["spec"]);
  validate_patterns(causes, child(path, "onPodConditions"), patterns);
  const auto whole = [&](std::string_view why) {
    causes.push_back({"FieldValueInvalid", "Invalid value: " + std::string(why), path});
  };
  if (codes && !patterns.empty()) whole("specifying both OnExitCodes and OnPodConditions is not supported");
  if (!codes && patterns.empty()) whole("specifying one of OnExitCodes and OnPodConditions is required");
}

void validate_failure_policy(Causes& causes, const std::string& path, const Value& spec) {
  const auto rules = spec["podFailurePolicy"]["rules"];
  const auto at = child(path, "podFailurePolicy.rules");
  if (rules.size() > kFailureRulesMax) too_many(causes, at, rules.size(), kFailureRulesMax);
  std::size_t index = 0;
  for (Value rule : rules) validate_failure_rule(causes, item(at, index++), rule, spec);
}

struct IndexCount {
  std::int64_t total = 0;
  std::string error = "";
};

std::optional<std::int64_t> index_in(std::string_view text, std::int64_t completions, std::string& error) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    error = "cannot convert string to integer for index: \"" + std::string(text) + "\"";
  else if (value >= completions)
    error = "too large index: \"" + std::string(text) + "\"";
  return error.empty() ? std::optional(value) : std::nullopt;
}

/// How many indexes a text such as "0-2,5" names.
IndexCount count_indexes(std::string_view text, std::int64_t completions) {
  IndexCount count;
  std::optional<std::int64_t> last;
  const auto disordered = [](std::int64_t before, std::int64_t now) {
    return "non-increasing order, previous: " + std::to_string(before) + ", current: " + std::to_string(now);
  };
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto dash = part.find('-');
    if (dash != std::string_view::npos && part.find('-', dash + 1) != std::string_view::npos) {
      count.error = "the fragment \"" + std::string(part) +
                    "\" violates the requirement that an index interval can have at most two parts separated by '-'";
      return count;
    }
    const auto first = index_in(part.substr(0, dash), completions, count.error);
    if (!first) return count;
    const auto end = dash == std::string_view::npos ? first : index_in(part.substr(dash + 1), completions, count.error);
    if (!end) return count;
    if (dash != std::string_view::npos && *first >= *end) count.error = disordered(*first, *end);
    if (last && *last >= *first) count.error = disordered(*last, *first);
    if (!count.error.empty()) return count;
    count.total += *end - *first + 1;
    last = end;
  }
  return count;
}

void validate_success_rule(Causes& causes, const std::string& path, const Value& rule, std::int64_t completions) {
  const auto number = rule["succeededCount"], indexes = rule["succeededIndexes"];
  if (!number && !indexes)
    required(causes, path, "at least one of succeededCount or succeededIndexes must be specified");
  IndexCount count;
  if (indexes) {
    const auto at = child(path, "succeededIndexes");
    if (indexes.text().size() > static_cast<std::size_t>(kIndexesTextMax)) too_long(causes, at, kIndexesTextMax);
    count = count_indexes(indexes.text(), completions);
    if (!count.error.empty()) invalid(causes, at, indexes, "error parsing succeededIndexes: " + count.error);
  }
  if (!number) return;
  const auto at = child(path, "succeededCount");
  nonnegative(causes, at, number.integer());
  const auto at_most = [&](std::int64_t most, std::string_view what) {
    if (number.integer() > most)
      invalid(causes, at, number,
              "must be less than or equal to " + std::to_string(most) + " (the number of " + std::string(what) + ")");
  };
  at_most(completions, "specified completions");
  if (indexes) at_most(count.error.empty() ? count.total : 0, "indexes in the specified succeededIndexes field");
}

void validate_success_policy(Causes& causes, const std::string& path, const Value& spec) {
  const auto policy = spec["successPolicy"];
  if (spec["completionMode"].text() != "Indexed")
    return invalid(causes, child(path, "successPolicy"), policy, "requires indexed completion mode");
  const auto rules = policy["rules"];
  const auto at = child(path, "successPolicy.rules");
  if (rules.empty()) required(causes, at, "at least one rules must be specified when the successPolicy is specified");
  if (rules.size() > kSuccessRulesMax) too_many(causes, at, rules.size(), kSuccessRulesMax);
  std::size_t index = 0;
  for (Value rule : rules) validate_success_rule(causes, item(at, index++), rule, spec["completions"].integer());
}

void validate_indexed(Causes& causes, const std::string& path, const Value& spec) {
  const auto completions = spec["completions"], failed = spec["maxFailedIndexes"];
  if (!completions) required(causes, child(path, "completions"), "when completion mode is Indexed");
  const auto at_most = [&](std::string_view field, std::int64_t most, std::string_view when) {
    if (spec[field].integer() > most)
      invalid(causes, child(path, field), spec[field],
              "must be less than or equal to " + std::to_string(most) + std::string(when));
  };
  at_most("parallelism", kIndexedParallelismMax, " when completion mode is Indexed");
  if (completions && failed && failed.integer() > completions.integer())
    invalid(causes, child(path, "maxFailedIndexes"), failed, "must be less than or equal to completions");
  at_most("maxFailedIndexes", kFailedIndexesMax, "");
  if (completions.integer() <= kManyCompletions || !spec.has("backoffLimitPerIndex")) return;
  const auto when =
      " when completions are above " + std::to_string(kManyCompletions) + " and used with backoff limit per index";
  if (!failed)
    required(causes, child(path, "maxFailedIndexes"),
             "must be specified when completions is above " + std::to_string(kManyCompletions));
  at_most("parallelism", kParallelismOfMany, when);
  at_most("maxFailedIndexes", kFailedIndexesOfMany, when);
}

void validate_managed_by(Causes& causes, const std::string& path, const Value& manager) {
  const auto at = child(path, "managedBy");
  if (manager.text().empty()) return required(causes, at);
  validate_domain_path(causes, at, manager.text());
  if (manager.text().size() > static_cast<std::size_t>(kManagedByMax)) too_long(causes, at, kManagedByMax);
}

void validate_time_zone(Causes& causes, const std::string& at, const Value& zone) {
  const auto name = zone.text();
  if (name.empty()) return invalid(causes, at, zone, "timeZone must be nil or non-empty string");
  std::string_view rest = name;
  for (bool more = true; more;) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    more = slash != std::string_view::npos;
    rest.remove_prefix(more ? slash + 1 : rest.size());
    const bool spelled = part.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-_0123456789+") ==
                         std::string_view::npos;
    if (part.empty() || part.size() > kZonePartMax || part == "." || part == ".." || part.front() == '-' || !spelled)
      return invalid(causes, at, zone, "unknown time zone " + std::string(name));
  }
  if (name.size() == 5 && std::equal(name.begin(), name.end(), "local", [](char a, char b) { return (a | 32) == b; }))
    invalid(causes, at, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  if (auto known = kube::TimeZone::load(std::string(name)); !known) invalid(causes, at, zone, known.error().message);
}

}  // namespace

std::string index_text_error(std::string_view text, std::int64_t completions) {
  return count_indexes(text, completions).error;
}

void validate_job_spec(Causes& causes, const std::string& path, const Value& spec) {
  for (auto field : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                     "backoffLimitPerIndex", "maxFailedIndexes"})
    if (auto value = spec[field]) nonnegative(causes, child(path, field), value.integer());
  if (spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex"))
    required(causes, child(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified");
  if (const auto manager = spec["managedBy"]) validate_managed_by(causes, path, manager);
  const auto mode = spec["completionMode"].text("NonIndexed");
  if (!contains_text(kCompletionModes, mode))
    not_supported(causes, child(path, "completionMode"), mode, kCompletionModes);
  if (mode == "Indexed") validate_indexed(causes, path, spec);
  for (auto field : {"backoffLimitPerIndex", "maxFailedIndexes"})
    if (mode == "NonIndexed" && spec.has(field))
      invalid(causes, child(path, field), spec[field], "requires indexed completion mode");
  if (spec.has("podFailurePolicy")) validate_failure_policy(causes, path, spec);
  if (spec.has("successPolicy")) validate_success_policy(causes, path, spec);
  if (const auto policy = spec["podReplacementPolicy"]) {
    const auto at = child(path, "podReplacementPolicy");
    if (spec.has("podFailurePolicy") && policy.text() != "Failed")
      not_supported(causes, at, policy, kOnlyFailed);
    else if (!contains_text(kReplacements, policy.text()))
      not_supported(causes, at, policy, kReplacements);
  }
  const auto restart = spec["template"]["spec"]["restartPolicy"];
  if (spec.has("podFailurePolicy") && restart.text() == "OnFailure")
    invalid(causes, child(path, "template.spec.restartPolicy"), restart,
            "only \"Never\" is supported when podFailurePolicy is specified");
}

void validate_schedule(Causes& causes, const Value& spec) {
  const auto schedule = spec["schedule"];
  if (schedule.text().empty()) {
    required(causes, "spec.schedule");
  } else {
    auto text = schedule.text();
    if (text.starts_with("TZ=") || text.starts_with("CRON_TZ="))
      text.remove_prefix(std::min(text.find(' '), text.size()));
    if (auto parsed = kube::CronSchedule::parse(text); !parsed)
      invalid(causes, "spec.schedule", schedule, parsed.error().message);
    if (schedule.text().find("TZ") != std::string_view::npos)
      invalid(causes, "spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  }
  for (auto field : {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    if (auto value = spec[field]) nonnegative(causes, child("spec", field), value.integer());
  if (const auto zone = spec["timeZone"]) validate_time_zone(causes, "spec.timeZone", zone);
  if (const auto policy = spec["concurrencyPolicy"]; !contains_text(kConcurrency, policy.text("Allow")))
    not_supported(causes, "spec.concurrencyPolicy", policy, kConcurrency);
}

void validate_completions_kept(Causes& causes, const Value& spec, const Value& old) {
  const auto completions = spec["completions"];
  if (spec["completionMode"].text() != "Indexed")
    return immutable(causes, "spec.completions", completions, old["completions"]);
  if (!completions || semantically_equal(completions, old["completions"])) return;
  if (completions.integer() != spec["parallelism"].integer())
    invalid(causes, "spec.completions", completions, "can only be modified in tandem with spec.parallelism");
}

}  // namespace sublet::apiserver
