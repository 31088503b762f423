// What a Job wants, and what its pods mean for it: indexes, finalizer, failures, policies, back-off. Pure functions.
// Source: pkg/controller/job of Kubernetes (job_controller.go, indexed_job_utils.go, pod_failure_policy.go,
// success_policy.go, backoff_utils.go).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/job/index_ranges.h"
#include "controllers/pods/pod.h"

namespace sublet::controllers {

inline constexpr std::string_view kJobFinalizer = "batch.kubernetes.io/job-tracking",
                                  kCompletionIndex = "batch.kubernetes.io/job-completion-index",
                                  kIndexFailures = "batch.kubernetes.io/job-index-failure-count",
                                  kIndexIgnoredFailures = "batch.kubernetes.io/job-index-ignored-failure-count",
                                  kJobController = "kubernetes.io/job-controller";
inline constexpr std::int64_t kNoIndex = -1;

/// A Job's spec, read.
struct JobSpec {
  explicit JobSpec(const schema::Value& job);
  std::int64_t parallelism, backoff_limit;
  std::optional<std::int64_t> completions, active_deadline, backoff_limit_per_index, max_failed_indexes;
  bool indexed, suspended, known_mode;
  /// Pods are replaced only once they have failed, not when they begin to end.
  bool only_replace_failed;
  bool restarts_containers;  // restartPolicy OnFailure
  bool managed_elsewhere;
  schema::Value failure_policy, success_policy;  // missing: none
};

/// "Complete" or "Failed" once the Job is over; "" before.
std::string_view finished_as(const schema::Value& job);
/// The condition of that type when it is True; missing otherwise.
schema::Value true_condition(const schema::Value& job, std::string_view type);

bool has_job_finalizer(const Pod& pod);
std::int64_t completion_index(const Pod& pod);
/// Failed, or on its way out without having succeeded (unless failed pods alone are replaced).
bool has_failed(const Pod& pod, const JobSpec& spec);
/// When the pod's last container ended, or the next best thing.
WallTime finished_time(const Pod& pod);

struct FailureVerdict {
  std::string fail_job = "";     // why the whole Job fails; "": it does not
  bool counts = true;            // towards the back-off limits
  std::string_view action = "";  // of the rule that matched
};
FailureVerdict judge_failure(const JobSpec& spec, const Pod& pod);
/// "Matched rules at index 0"; nullopt while the success policy is not met.
std::optional<std::string> met_success_policy(const JobSpec& spec, const IndexRanges& succeeded);

std::int64_t index_failures(const Pod& pod);
std::int64_t all_index_failures(const Pod& pod);  // with those that were ignored
/// The index is not tried again.
bool has_index_failed(const JobSpec& spec, const Pod& pod);
/// The restarts of containers that still run are more than the Job allows.
bool past_restart_limit(const JobSpec& spec, const std::vector<Pod>& pods);

/// How long after the last of so many failures in a row nothing is tried, from now on.
std::chrono::milliseconds backoff_left(std::int64_t failures, WallTime last_failure, WallTime now);

/// Failures since the last success.
struct BackoffRecord {
  std::int64_t failures = 0;
  WallTime last_failure{};
  /// With what has ended since.
  BackoffRecord with(const std::vector<Pod>& succeeded, const std::vector<Pod>& failed) const;
};

/// "name-3-", cut so that the pods' names fit in a label.
std::string pod_name_prefix(std::string_view job, std::int64_t index);
/// Which of two active pods is the smaller loss.
bool goes_before(const Pod& a, const Pod& b);

}  // namespace sublet::controllers
