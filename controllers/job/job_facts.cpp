#include "controllers/job/job_facts.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace sublet::controllers {
namespace {

using schema::Value;
using std::chrono::milliseconds;

constexpr milliseconds kBackoffMin{10'000}, kBackoffMax{600'000};
constexpr std::size_t kGeneratedNameMax = 58;

std::optional<std::int64_t> optional_integer(const Value& value) {
  return value.is_integer() ? std::optional(value.integer()) : std::nullopt;
}

std::int64_t count_in(std::string_view annotation) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(annotation.data(), annotation.data() + annotation.size(), value);
  const bool read = error == std::errc() && end == annotation.data() + annotation.size();
  return read && value >= 0 && value <= std::numeric_limits<std::int32_t>::max() ? value : 0;
}

bool matches_exit_code(const Value& rule, const Value& status) {
  const auto ended = status["state"]["terminated"];
  const auto wanted = rule["containerName"];
  if (!ended || ended["exitCode"].integer() == 0 || (wanted && wanted.text() != status["name"].text())) return false;
  bool listed = false;
  for (Value code : rule["values"]) listed |= code.integer() == ended["exitCode"].integer();
  const auto op = rule["operator"].text();
  return (op == "In" && listed) || (op == "NotIn" && !listed);
}

/// The status of the container whose exit the rule speaks of; missing when there is none.
Value matching_container(const Value& rule, const Pod& pod) {
  for (auto list : {"containerStatuses", "initContainerStatuses"})
    for (Value status : pod.status()[list])
      if (matches_exit_code(rule, status)) return status;
  return {};
}

Value matching_condition(const Value& patterns, const Pod& pod) {
  for (Value condition : pod.status()["conditions"])
    for (Value pattern : patterns)
      if (condition["type"].text() == pattern["type"].text() && condition["status"].text() == pattern["status"].text())
        return condition;
  return {};
}

/// What the pod did that the rule speaks of, as a message begins; "" when the rule does not match.
std::string what_matched(const Value& rule, const Pod& pod) {
  const auto named = std::string(pod.namespace_name()).append("/").append(pod.name());
  if (const auto codes = rule["onExitCodes"]) {
    const auto status = matching_container(codes, pod);
    if (!status) return "";
    return "Container " + status["name"].string() + " for pod " + named + " failed with exit code " +
           std::to_string(status["state"]["terminated"]["exitCode"].integer());
  }
  const auto condition = matching_condition(rule["onPodConditions"], pod);
  return condition ? "Pod " + named + " has condition " + condition["type"].string() : "";
}

bool is_sidecar(const Value& spec, std::string_view name) {
  for (Value container : spec["initContainers"])
    if (container["name"].text() == name) return container["restartPolicy"].text() == "Always";
  return false;
}

/// When the last container ended, sidecars among them; nullopt when one has not.
std::optional<WallTime> containers_ended(const Pod& pod) {
  std::optional<WallTime> latest;
  const auto spec = pod.status()["initContainerStatuses"].empty() ? schema::Document() : pod.spec();
  for (auto list : {"containerStatuses", "initContainerStatuses"})
    for (Value status : pod.status()[list]) {
      if (list == std::string_view("initContainerStatuses") && !is_sidecar(spec.root(), status["name"].text()))
        continue;
      const auto ended = parse_time(status["state"]["terminated"]["finishedAt"].text());
      if (!ended) return std::nullopt;
      latest = std::max(latest.value_or(*ended), *ended);
    }
  return latest;
}

int job_phase_rank(const Pod& pod) {
  const auto phase = pod.phase();
  return phase == "Pending" ? 0 : phase == "Running" ? 2 : 1;
}

std::int64_t restarts_of(const Pod& pod) {
  std::int64_t most = 0;
  for (auto list : {"containerStatuses", "initContainerStatuses"})
    for (Value status : pod.status()[list]) most = std::max(most, status["restartCount"].integer());
  return most;
}

}  // namespace

JobSpec::JobSpec(const Value& job) {
  const auto spec = job["spec"];
  parallelism = spec["parallelism"].integer(1);
  backoff_limit = spec["backoffLimit"].integer(6);
  completions = optional_integer(spec["completions"]);
  active_deadline = optional_integer(spec["activeDeadlineSeconds"]);
  backoff_limit_per_index = optional_integer(spec["backoffLimitPerIndex"]);
  max_failed_indexes = optional_integer(spec["maxFailedIndexes"]);
  const auto mode = spec["completionMode"].text("NonIndexed");
  indexed = mode == "Indexed";
  known_mode = indexed || mode == "NonIndexed";
  suspended = spec["suspend"].boolean();
  failure_policy = spec["podFailurePolicy"];
  success_policy = spec["successPolicy"];
  only_replace_failed = spec["podReplacementPolicy"].text() == "Failed" || failure_policy;
  restarts_containers = spec["template"]["spec"]["restartPolicy"].text() == "OnFailure";
  managed_elsewhere = spec["managedBy"].text(kJobController) != kJobController;
}

std::string_view finished_as(const Value& job) {
  for (Value condition : job["status"]["conditions"]) {
    const auto type = condition["type"].text();
    if ((type == "Complete" || type == "Failed") && condition["status"].text() == "True") return type;
  }
  return {};
}

Value true_condition(const Value& job, std::string_view type) {
  for (Value condition : job["status"]["conditions"])
    if (condition["type"].text() == type && condition["status"].text() == "True") return condition;
  return {};
}

bool has_job_finalizer(const Pod& pod) {
  for (Value finalizer : pod.metadata()["finalizers"])
    if (finalizer.text() == kJobFinalizer) return true;
  return false;
}

std::int64_t completion_index(const Pod& pod) {
  const auto text = pod.annotation(kCompletionIndex);
  std::int64_t index = kNoIndex;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() && index >= 0 ? index : kNoIndex;
}

bool has_failed(const Pod& pod, const JobSpec& spec) {
  if (pod.phase() == "Failed") return true;
  return !spec.only_replace_failed && pod.ending() && pod.phase() != "Succeeded";
}

WallTime finished_time(const Pod& pod) {
  if (auto ended = containers_ended(pod)) return *ended;
  const auto ready = pod.condition("Ready");
  if (auto since = parse_time(ready["lastTransitionTime"].text()); since && ready["status"].text() == "False")
    return *since;
  const auto metadata = pod.metadata();
  if (auto deleted = parse_time(metadata["deletionTimestamp"].text()))
    return *deleted - std::chrono::seconds(metadata["deletionGracePeriodSeconds"].integer());
  return pod.created().value_or(WallTime());
}

FailureVerdict judge_failure(const JobSpec& spec, const Pod& pod) {
  std::size_t index = 0;
  for (Value rule : spec.failure_policy["rules"]) {
    const auto what = what_matched(rule, pod);
    const auto action = rule["action"].text();
    if (!what.empty() && action == "Ignore") return {"", false, action};
    if (!what.empty() && (action == "Count" || action == "FailIndex")) return {"", true, action};
    if (!what.empty() && action == "FailJob")
      return {what + " matching FailJob rule at index " + std::to_string(index), true, action};
    ++index;
  }
  return {};
}

std::optional<std::string> met_success_policy(const JobSpec& spec, const IndexRanges& succeeded) {
  if (!spec.success_policy || succeeded.empty()) return std::nullopt;
  std::size_t index = 0;
  for (Value rule : spec.success_policy["rules"]) {
    const auto count = rule["succeededCount"];
    bool met = false;
    if (const auto indexes = rule["succeededIndexes"]) {
      const auto wanted = IndexRanges::parse(indexes.text(), spec.completions.value_or(0));
      const auto shared = succeeded.count_shared(wanted);
      met = !wanted.empty() && (shared == wanted.count() || (count && shared >= count.integer()));
    } else {
      met = count && succeeded.count() >= count.integer();
    }
    if (met) return "Matched rules at index " + std::to_string(index);
    ++index;
  }
  return std::nullopt;
}

std::int64_t index_failures(const Pod& pod) { return count_in(pod.annotation(kIndexFailures)); }

std::int64_t all_index_failures(const Pod& pod) {
  return index_failures(pod) + count_in(pod.annotation(kIndexIgnoredFailures));
}

bool has_index_failed(const JobSpec& spec, const Pod& pod) {
  if (!has_failed(pod, spec)) return false;
  const auto verdict = judge_failure(spec, pod);
  if (verdict.action == "FailIndex") return true;
  return verdict.counts && index_failures(pod) >= spec.backoff_limit_per_index.value_or(0);
}

bool past_restart_limit(const JobSpec& spec, const std::vector<Pod>& pods) {
  if (!spec.restarts_containers) return false;
  std::int64_t restarts = 0;
  for (const auto& pod : pods) {
    if (pod.phase() != "Running" && pod.phase() != "Pending") continue;
    for (auto list : {"initContainerStatuses", "containerStatuses"})
      for (Value status : pod.status()[list]) restarts += status["restartCount"].integer();
  }
  return spec.backoff_limit == 0 ? restarts > 0 : restarts >= spec.backoff_limit;
}

milliseconds backoff_left(std::int64_t failures, WallTime last_failure, WallTime now) {
  if (failures == 0) return milliseconds(0);
  auto delay = kBackoffMin;
  for (std::int64_t i = 1; i < failures && delay < kBackoffMax; ++i) delay = std::min(2 * delay, kBackoffMax);
  const auto passed = std::chrono::floor<milliseconds>(now - last_failure);
  return std::max(milliseconds(0), delay - passed);
}

BackoffRecord BackoffRecord::with(const std::vector<Pod>& succeeded, const std::vector<Pod>& failed) const {
  BackoffRecord record = *this;
  std::optional<WallTime> last_success;
  for (const auto& pod : succeeded) last_success = std::max(last_success.value_or(WallTime::min()), finished_time(pod));
  if (last_success) record = {};
  for (const auto& pod : failed) {
    const auto when = finished_time(pod);
    if (last_success && when <= *last_success) continue;
    record.last_failure = std::max(record.last_failure, when);
    ++record.failures;
  }
  return record;
}

std::string pod_name_prefix(std::string_view job, std::int64_t index) {
  const auto suffix = "-" + std::to_string(index) + "-";
  return std::string(job.substr(0, kGeneratedNameMax - suffix.size())) + suffix;
}

bool goes_before(const Pod& a, const Pod& b) {
  if (a.node().empty() != b.node().empty()) return a.node().empty();
  if (job_phase_rank(a) != job_phase_rank(b)) return job_phase_rank(a) < job_phase_rank(b);
  if (a.ready() != b.ready()) return !a.ready();
  if (a.ready() && a.ready_since() != b.ready_since()) return a.ready_since() > b.ready_since();
  if (restarts_of(a) != restarts_of(b)) return restarts_of(a) > restarts_of(b);
  return a.created() > b.created();
}

}  // namespace sublet::controllers
