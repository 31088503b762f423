#include "controllers/deployment/progress.h"

#include <algorithm>
#include <limits>

#include "controllers/deployment/rollout_math.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kAvailable = "Available";
constexpr std::string_view kDone = "NewReplicaSetAvailable";
// Times in conditions are whole seconds: looking a little late shows what looking on time would not.
constexpr std::chrono::seconds kSkew{1};

std::int64_t sum_of_field(const std::vector<SetPtr>& sets, std::string_view part, std::string_view field) {
  std::int64_t sum = 0;
  for (const auto& set : sets) sum += (*set)[part][field].integer();
  return sum;
}

/// Unknown while a set that was looked at has no such status.
std::optional<std::int64_t> terminating(const std::vector<SetPtr>& sets) {
  std::int64_t sum = 0;
  for (const auto& set : sets) {
    const auto status = (*set)["status"];
    if (!status.has("terminatingReplicas") && status["observedGeneration"].integer() != 0) return std::nullopt;
    sum += status["terminatingReplicas"].integer();
  }
  return sum;
}

/// What the messages speak of.
std::string subject(const Value& deployment, const SetsOf& sets) {
  if (sets.fresh) return "ReplicaSet \"" + (*sets.fresh)["metadata"]["name"].string() + "\"";
  return "Deployment \"" + deployment["metadata"]["name"].string() + "\"";
}

bool has_moved(const Value& before, const Value& after) {
  const auto old_pods = [](const Value& status) {
    return status["replicas"].integer() - status["updatedReplicas"].integer();
  };
  return after["updatedReplicas"].integer() > before["updatedReplicas"].integer() ||
         old_pods(after) < old_pods(before) || after["readyReplicas"].integer() > before["readyReplicas"].integer() ||
         after["availableReplicas"].integer() > before["availableReplicas"].integer();
}

std::chrono::seconds deadline_of(const Value& deployment) {
  return std::chrono::seconds(deployment["spec"]["progressDeadlineSeconds"].integer());
}

bool is_late(const Value& deployment, const Value& condition, WallTime now) {
  if (!condition || condition["reason"].text() == kDone) return false;
  if (condition["reason"].text() == kProgressDeadlineExceeded) return true;
  const auto from = parse_time(condition["lastUpdateTime"].text());
  return from && *from + deadline_of(deployment) < now;
}

/// A repeated reason gets a new time, since the deadline counts from the last progress.
void put_progress(Value status, const Condition& condition, WallTime now) {
  const auto before = find_condition(status["conditions"], kProgressing);
  const auto since = before["status"].text() == "True" ? before["lastTransitionTime"].string() : std::string();
  erase_condition(status, kProgressing);
  put_deployment_condition(status, condition, now);
  if (!since.empty()) find_condition(status["conditions"], kProgressing).put("lastTransitionTime", since);
}

void judge_progress(const Value& deployment, const SetsOf& sets, Value status, WallTime now) {
  const auto before = find_condition(deployment["status"]["conditions"], kProgressing);
  const bool was_done =
      status["replicas"].integer() == status["updatedReplicas"].integer() && before["reason"].text() == kDone;
  if (was_done) return;
  if (is_complete(deployment, status))
    put_deployment_condition(
        status, {kProgressing, "True", kDone, subject(deployment, sets) + " has successfully progressed."}, now);
  else if (has_moved(deployment["status"], status))
    put_progress(status, {kProgressing, "True", "ReplicaSetUpdated", subject(deployment, sets) + " is progressing."},
                 now);
  else if (is_late(deployment, find_condition(status["conditions"], kProgressing), now))
    put_deployment_condition(
        status,
        {kProgressing, "False", kProgressDeadlineExceeded, subject(deployment, sets) + " has timed out progressing."},
        now);
}

Value failure_of(const SetsOf& sets) {
  if (sets.fresh)
    if (auto failure = find_condition((*sets.fresh)["status"]["conditions"], kReplicaFailure)) return failure;
  for (const auto& set : sets.all())
    if (auto failure = find_condition((*set)["status"]["conditions"], kReplicaFailure)) return failure;
  return {};
}

void take_failure(const SetsOf& sets, Value status, WallTime now) {
  const auto failure = failure_of(sets);
  if (!failure) return erase_condition(status, kReplicaFailure);
  const auto text = failure["status"].string(), reason = failure["reason"].string();
  if (!put_deployment_condition(status, {kReplicaFailure, text, reason, failure["message"].string()}, now)) return;
  auto condition = find_condition(status["conditions"], kReplicaFailure);
  condition.put("lastUpdateTime", failure["lastTransitionTime"]);
  condition.put("lastTransitionTime", failure["lastTransitionTime"]);
}

}  // namespace

std::vector<SetPtr> SetsOf::all() const {
  auto sets = old;
  if (fresh) sets.push_back(fresh);
  return sets;
}

bool has_progress_deadline(const Value& deployment) {
  const auto deadline = deployment["spec"]["progressDeadlineSeconds"];
  return deadline && deadline.integer() != std::numeric_limits<std::int32_t>::max();
}

bool put_deployment_condition(Value status, const Condition& condition, WallTime now) {
  const auto before = find_condition(status["conditions"], condition.type);
  const auto since =
      before["status"].text() == condition.status ? before["lastTransitionTime"].string() : format_time(now);
  if (before && before["status"].text() == condition.status && before["reason"].text() == condition.reason)
    return false;
  erase_condition(status, condition.type);
  auto fresh = status.array("conditions").push_object();
  fresh.put("type", condition.type);
  fresh.put("status", condition.status);
  fresh.put("lastUpdateTime", format_time(now));
  fresh.put("lastTransitionTime", since);
  fresh.put("reason", condition.reason);
  fresh.put("message", condition.message);
  return true;
}

Document deployment_status(const Value& deployment, const SetsOf& sets, WallTime now) {
  const auto all = sets.all();
  const auto size = rollout_size(deployment);
  const auto available = sum_of_field(all, "status", "availableReplicas");
  auto document = Document::object();
  auto status = document.root();
  put_count(status, "observedGeneration", deployment["metadata"]["generation"].integer());
  put_count(status, "replicas", sum_of_field(all, "status", "replicas"));
  put_count(status, "updatedReplicas", sets.fresh ? (*sets.fresh)["status"]["replicas"].integer() : 0);
  put_count(status, "readyReplicas", sum_of_field(all, "status", "readyReplicas"));
  put_count(status, "availableReplicas", available);
  put_count(status, "unavailableReplicas",
            std::max<std::int64_t>(0, sum_of_field(all, "spec", "replicas") - available));
  if (const auto count = terminating(all)) status.put("terminatingReplicas", *count);
  for (auto field : {"conditions", "collisionCount"})
    if (auto value = deployment["status"][field]) status.put(field, value);
  const bool enough = available >= size.replicas - size.unavailable;
  put_deployment_condition(
      status,
      enough ? Condition{kAvailable, "True", "MinimumReplicasAvailable", "Deployment has minimum availability."}
             : Condition{kAvailable, "False", "MinimumReplicasUnavailable",
                         "Deployment does not have minimum availability."},
      now);
  return document;
}

Document rollout_status(const Value& deployment, const SetsOf& sets, WallTime now) {
  auto document = deployment_status(deployment, sets, now);
  if (has_progress_deadline(deployment))
    judge_progress(deployment, sets, document.root(), now);
  else
    erase_condition(document.root(), kProgressing);
  take_failure(sets, document.root(), now);
  return document;
}

bool is_complete(const Value& deployment, const Value& status) {
  const auto wanted = deployment["spec"]["replicas"].integer(1);
  return status["updatedReplicas"].integer() == wanted && status["replicas"].integer() == wanted &&
         status["availableReplicas"].integer() == wanted &&
         status["observedGeneration"].integer() >= deployment["metadata"]["generation"].integer();
}

std::optional<std::chrono::milliseconds> next_progress_check(const Value& deployment, const Value& status,
                                                             WallTime now) {
  const auto condition = find_condition(status["conditions"], kProgressing);
  if (!has_progress_deadline(deployment) || !condition || is_complete(deployment, status)) return std::nullopt;
  if (condition["reason"].text() == kProgressDeadlineExceeded || condition["reason"].text() == kDone)
    return std::nullopt;
  const auto from = parse_time(condition["lastUpdateTime"].text());
  if (!from) return std::nullopt;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*from + deadline_of(deployment) - now);
  return std::max(left, std::chrono::milliseconds(0)) + kSkew;
}

}  // namespace sublet::controllers
