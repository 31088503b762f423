#include "controllers/job/job_pass.h"

#include <algorithm>

#include "controllers/pods/claim.h"
#include "controllers/pods/pod_control.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kUncountedMax = 500;
constexpr std::int64_t kPodsPerPass = 500;  // made or removed
constexpr std::string_view kFailureTarget = "FailureTarget", kFailed = "Failed", kMet = "SuccessCriteriaMet",
                           kComplete = "Complete", kIndexVariable = "JOB_COMPLETION_INDEX";

std::set<std::string> texts(const Value& list) {
  std::set<std::string> all;
  for (Value item : list) all.insert(item.string());
  return all;
}

bool has_succeeded(const Pod& pod, const JobSpec&) { return pod.phase() == "Succeeded"; }

void put_index_variable(Value containers) {
  for (Value container : containers) {
    bool known = false;
    for (Value variable : container["env"]) known |= variable["name"].text() == kIndexVariable;
    if (known) continue;
    auto variable = container.array("env").push_object();
    variable.put("name", kIndexVariable);
    variable.object("valueFrom")
        .object("fieldRef")
        .put("fieldPath", "metadata.labels['" + std::string(kCompletionIndex) + "']");
  }
}

}  // namespace

BackoffRecord JobBackoffs::get(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = records_.find(key);
  return found == records_.end() ? BackoffRecord() : found->second;
}

void JobBackoffs::put(const std::string& key, const BackoffRecord& record) {
  const MutexLock lock(mutex_);
  if (record.failures == 0)
    records_.erase(key);
  else
    records_[key] = record;
}

void JobBackoffs::forget(const std::string& key) {
  const MutexLock lock(mutex_);
  records_.erase(key);
}

JobPass::JobPass(const Outside& outside, const store::Object& stored)
    : out_(outside),
      job_(document_of(stored)),
      spec_(job_.root()),
      ref_(ref_of(kJobKind, stored)),
      key_(ref_.key()),
      now_(outside.context.clock().now()) {}

Outcome JobPass::run() {
  if (auto claimed = claim_pods(); !claimed) return claimed;
  status().object("uncountedTerminatedPods");
  count_pods();
  start_clock();
  judge();
  auto managed = verdict_ ? end_active_pods() : manage_or_wait();
  changed_ |= put_count("active", active_count_);
  for (const auto& [member, value] : {std::pair("ready", ready_), std::pair("terminating", terminating_)}) {
    changed_ |= status()[member].integer(-1) != value;
    status().put(member, value);
  }
  if (auto tracked = track(); !tracked)
    return fail(tracked.error().reason, "tracking status: " + tracked.error().message);
  return managed;
}

// --- what is there ---

Outcome JobPass::claim_pods() {
  auto selector = kube::LabelSelector::from_object(job_["spec"]["selector"]);
  if (!selector) return fail(selector.error().reason, "couldn't convert Job selector: " + selector.error().message);
  Claimant claimant{ref_, job_["metadata"].has("deletionTimestamp"), out_.jobs, std::move(*selector)};
  claimant.finalizer = kJobFinalizer;
  auto claimed = claim(out_.context.client(), kPods, claimant, claim_candidates(out_.pods, ref_));
  if (claimed.error) return fail(*claimed.error);
  for (auto& object : claimed.objects) {
    // Those just adopted have a finalizer now.
    if (!is_controlled_by(*object, ref_.uid)) object = out_.pods.get(namespace_of(*object), name_of(*object));
    if (object) pods_.emplace_back(std::move(object));
  }
  std::sort(pods_.begin(), pods_.end(), [&](const Pod& a, const Pod& b) {
    const auto x = completion_index(a), y = completion_index(b);
    return spec_.indexed && x != y ? x < y : a.name() < b.name();
  });
  return {};
}

void JobPass::count_pods() {
  for (const auto& pod : pods_) {
    if (pod.active()) active_.push_back(pod);
    if (pod.active() && pod.ready()) ++ready_;
    if (pod.terminating()) ++terminating_;
    if (has_job_finalizer(pod)) held_.insert(pod.uid());
  }
  active_count_ = static_cast<std::int64_t>(active_.size());
  const auto pending = status()["uncountedTerminatedPods"];
  counted_succeeded_ = texts(pending["succeeded"]);
  counted_failed_ = texts(pending["failed"]);
  const auto succeeded = uncounted(counted_succeeded_, has_succeeded), failed = uncounted(counted_failed_, has_failed);
  const auto counting =
      std::count_if(failed.begin(), failed.end(), [this](const Pod& pod) { return judge_failure(spec_, pod).counts; });
  const auto sum = [&](std::string_view member, const std::set<std::string>& on_their_way, auto fresh) {
    return status()[member].integer() + static_cast<std::int64_t>(on_their_way.size()) +
           static_cast<std::int64_t>(fresh);
  };
  succeeded_ = sum("succeeded", counted_succeeded_, succeeded.size());
  failed_ = sum("failed", counted_failed_, counting);
  backoff_ = out_.backoffs.get(key_).with(succeeded, failed);
  if (spec_.indexed) count_indexes();
}

bool JobPass::has_valid_index(const Pod& pod) const {
  const auto index = completion_index(pod);
  return index != kNoIndex && index < spec_.completions.value_or(0);
}

/// Pods that have ended in this way and are not yet in the counters or on their way there.
std::vector<Pod> JobPass::uncounted(const std::set<std::string>& known,
                                    bool (*wanted)(const Pod&, const JobSpec&)) const {
  std::vector<Pod> found;
  for (const auto& pod : pods_)
    if (has_job_finalizer(pod) && !known.contains(pod.uid()) && (!spec_.indexed || has_valid_index(pod)) &&
        wanted(pod, spec_))
      found.push_back(pod);
  return found;
}

void JobPass::count_indexes() {
  const auto completions = spec_.completions.value_or(0);
  known_indexes_ = done_indexes_ = IndexRanges::parse(status()["completedIndexes"].text(), completions);
  failed_indexes_ = IndexRanges::parse(status()["failedIndexes"].text(), completions);
  std::set<std::int64_t> running;
  for (const auto& pod : active_) running.insert(completion_index(pod));
  for (const auto& pod : pods_) {
    if (!has_job_finalizer(pod) || !has_valid_index(pod)) continue;
    if (has_succeeded(pod, spec_)) done_indexes_.add(completion_index(pod));
    if (spec_.backoff_limit_per_index && has_index_failed(spec_, pod)) failed_indexes_.add(completion_index(pod));
  }
  succeeded_ = done_indexes_.count();
  if (!spec_.backoff_limit_per_index) return;
  for (const auto& pod : uncounted({}, has_failed)) {
    const auto index = completion_index(pod);
    if (done_indexes_.has(index) || failed_indexes_.has(index) || running.contains(index)) continue;
    const auto [last, fresh] = to_replace_.try_emplace(index, pod);
    if (!fresh && all_index_failures(last->second) <= all_index_failures(pod) &&
        finished_time(last->second) <= finished_time(pod))
      last->second = pod;
  }
}

void JobPass::start_clock() {
  if (!status().has("startTime") && !spec_.suspended) status().put("startTime", format_time(now_));
}

// --- how it ends ---

// The result of an earlier pass is final; otherwise failures count before successes.
void JobPass::judge() {
  if (const auto met = true_condition(job_.root(), kMet)) {
    verdict_ = {kMet, met["reason"].string(), met["message"].string()};
  } else if (const auto target = true_condition(job_.root(), kFailureTarget)) {
    verdict_ = {kFailed, target["reason"].string(), target["message"].string()};
  } else {
    for (const auto& pod : pods_) {
      if (!spec_.failure_policy || !has_failed(pod, spec_)) continue;
      if (auto failure = judge_failure(spec_, pod); !failure.fail_job.empty()) {
        verdict_ = {kFailureTarget, "PodFailurePolicy", std::move(failure.fail_job)};
        break;
      }
    }
  }
  if (!verdict_) judge_limits();
  if (!verdict_ && spec_.indexed) judge_indexes();
}

void JobPass::judge_limits() {
  if (failed_ > spec_.backoff_limit || past_restart_limit(spec_, pods_)) {
    verdict_ = {kFailureTarget, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
    return;
  }
  const auto started = parse_time(status()["startTime"].text());
  if (!spec_.active_deadline || spec_.suspended || !started) return;
  const auto left = *started + seconds(*spec_.active_deadline) - now_;
  if (left <= seconds(0))
    verdict_ = {kFailureTarget, "DeadlineExceeded", "Job was active longer than specified deadline"};
  else
    out_.context.enqueue_after(key_, std::chrono::ceil<milliseconds>(left));
}

void JobPass::judge_indexes() {
  const auto failed = failed_indexes_.count();
  if (spec_.backoff_limit_per_index && spec_.max_failed_indexes && failed > *spec_.max_failed_indexes) {
    verdict_ = {kFailureTarget, "MaxFailedIndexesExceeded",
                "Job has exceeded the specified maximal number of failed indexes"};
  } else if (spec_.backoff_limit_per_index && failed > 0 &&
             failed + done_indexes_.count() >= spec_.completions.value_or(0)) {
    verdict_ = {kFailureTarget, "FailedIndexes", "Job has failed indexes"};
  } else if (auto met = met_success_policy(spec_, done_indexes_)) {
    verdict_ = {kMet, "SuccessPolicy", std::move(*met)};
  }
}

// --- pods are made and removed ---

// The Job cannot be over before all running pods are being deleted.
Outcome JobPass::end_active_pods() {
  auto removed = remove_pods(active_, false);
  if (active_count_ != 0) verdict_.reset();
  return removed;
}

Outcome JobPass::manage_or_wait() {
  const bool manages = !job_["metadata"].has("deletionTimestamp");
  Outcome managed;
  if (manages) managed = manage();
  const bool enough = spec_.completions ? succeeded_ >= *spec_.completions : succeeded_ > 0;
  if (enough && active_count_ == 0)
    verdict_ = {kMet, "CompletionsReached", "Reached expected number of succeeded pods"};
  else if (manages)
    say_suspension();
  return managed;
}

void JobPass::say_suspension() {
  const auto& events = out_.context.events();
  if (spec_.suspended) {
    if (!put_condition("Suspended", "True", "JobSuspended", "Job suspended")) return;
    events.normal(ref_, "Suspended", "Job suspended");
    status().erase("startTime");
  } else {
    if (!put_condition("Suspended", "False", "JobResumed", "Job resumed")) return;
    events.normal(ref_, "Resumed", "Job resumed");
    status().put("startTime", format_time(now_));  // the deadline counts from here
  }
  changed_ = true;
}

std::int64_t JobPass::wanted_active() const {
  if (!spec_.completions) return succeeded_ > 0 ? active_count_ : spec_.parallelism;
  return std::clamp<std::int64_t>(*spec_.completions - succeeded_, 0, spec_.parallelism);
}

Outcome JobPass::manage() {
  if (spec_.suspended) return remove_pods(surplus(active_count_), true);
  const auto wanted = wanted_active();
  auto too_many = surplus(std::max<std::int64_t>(0, active_count_ - wanted));
  if (too_many.size() > static_cast<std::size_t>(kPodsPerPass))
    too_many.erase(too_many.begin() + kPodsPerPass, too_many.end());
  if (!too_many.empty()) return remove_pods(too_many, true);  // in one pass pods are removed or made, not both
  const auto missing = wanted - active_count_ - (spec_.only_replace_failed ? terminating_ : 0);
  return missing > 0 ? make_pods(missing) : Outcome();
}

Outcome JobPass::make_pods(std::int64_t count) {
  auto wait =
      spec_.backoff_limit_per_index ? milliseconds(0) : backoff_left(backoff_.failures, backoff_.last_failure, now_);
  std::vector<std::int64_t> indexes;
  count = std::min(count, kPodsPerPass);
  if (wait == milliseconds(0) && spec_.indexed) {
    indexes = indexes_to_make(count, wait);
    count = static_cast<std::int64_t>(indexes.size());
  }
  if (wait > milliseconds(0)) {
    out_.context.enqueue_after(key_, wait);
    return {};
  }
  auto created = PodControl(out_.context).create(ref_, static_cast<int>(count), [&](int i) {
    return make_pod(indexes.empty() ? kNoIndex : indexes[static_cast<std::size_t>(i)]);
  });
  active_count_ += created.count;
  return created.error ? fail(std::move(*created.error)) : Outcome();
}

/// Of the indexes that are to come those whose back-off is over; when there is none, `wait` is how long that takes.
std::vector<std::int64_t> JobPass::indexes_to_make(std::int64_t count, milliseconds& wait) const {
  auto taken = done_indexes_;
  if (spec_.backoff_limit_per_index) taken.add(failed_indexes_);
  for (const auto& pod : pods_)
    if ((pod.active() || (spec_.only_replace_failed && pod.terminating())) && completion_index(pod) != kNoIndex)
      taken.add(completion_index(pod));
  auto indexes = taken.first_missing(count, spec_.completions.value_or(0));
  if (!spec_.backoff_limit_per_index) return indexes;
  std::optional<milliseconds> shortest;
  std::erase_if(indexes, [&](std::int64_t index) {
    const auto before = to_replace_.find(index);
    if (before == to_replace_.end()) return false;
    const auto& pod = before->second;
    const auto left = backoff_left(all_index_failures(pod) + 1, finished_time(pod), now_);
    if (left == milliseconds(0)) return false;
    shortest = std::min(shortest.value_or(left), left);
    return true;
  });
  if (indexes.empty() && shortest) wait = *shortest;
  return indexes;
}

Document JobPass::make_pod(std::int64_t index) const {
  auto pod = pod_from_template(job_["spec"]["template"], ref_);
  auto metadata = pod.root().object("metadata");
  auto finalizers = metadata.array("finalizers");
  if (!texts(finalizers).contains(std::string(kJobFinalizer))) finalizers.push(kJobFinalizer);
  if (!spec_.indexed) return pod;
  const auto number = std::to_string(index);
  metadata.put("generateName", pod_name_prefix(ref_.name, index));
  metadata.object("labels").put(kCompletionIndex, number);
  auto annotations = metadata.object("annotations");
  annotations.put(kCompletionIndex, number);
  auto spec = pod.root().object("spec");
  spec.put("hostname", ref_.name + "-" + number);
  put_index_variable(spec["initContainers"]);
  put_index_variable(spec["containers"]);
  if (!spec_.backoff_limit_per_index) return pod;
  std::int64_t failures = 0, ignored = 0;
  if (const auto before = to_replace_.find(index); before != to_replace_.end()) {
    failures = index_failures(before->second);
    ignored = all_index_failures(before->second) - failures;
    ++(judge_failure(spec_, before->second).counts ? failures : ignored);
  }
  annotations.put(kIndexFailures, std::to_string(failures));
  if (ignored > 0) annotations.put(kIndexIgnoredFailures, std::to_string(ignored));
  return pod;
}

/// Active pods to remove: at least so many, and of an indexed Job those that double an index or have none to do.
std::vector<Pod> JobPass::surplus(std::int64_t least) const {
  auto left = active_;
  std::sort(left.begin(), left.end(), goes_before);
  std::vector<Pod> chosen;
  const auto choose = [&](auto which) {
    chosen.push_back(*which);
    return left.erase(which);
  };
  if (spec_.indexed) {
    std::map<std::int64_t, int> doing;
    for (const auto& pod : left) ++doing[completion_index(pod)];
    for (auto at = left.begin(); at != left.end();) {
      const auto index = completion_index(*at);
      at = !has_valid_index(*at) || doing[index]-- > 1 ? choose(at) : at + 1;
    }
  }
  while (!left.empty() && static_cast<std::int64_t>(chosen.size()) < least) choose(left.begin());
  return chosen;
}

/// What does not go stays in the counts.
Outcome JobPass::remove_pods(const std::vector<Pod>& pods, bool with_finalizer) {
  if (pods.empty()) return {};
  Outcome outcome;
  if (with_finalizer) outcome = release_job_pods(out_.context.client(), pods, nullptr);
  if (!outcome) return outcome;
  std::vector<std::string> names;
  for (const auto& pod : pods) names.emplace_back(pod.name());
  outcome = PodControl(out_.context).remove(ref_, names);
  for (const auto& pod : pods) {
    const auto latest = out_.pods.get(pod.namespace_name(), pod.name());
    const bool gone = !latest || latest->index.uid != pod.uid();
    if (!gone && !is_ending(*latest)) continue;
    --active_count_;
    if (!gone) ++terminating_;
    if (pod.ready()) --ready_;
  }
  return outcome;
}

// --- the status ---

Outcome JobPass::track() {
  changed_ |= settle_uncounted();
  bool more = false;
  const auto to_release = take_count(more);
  put_interim_condition();
  if (changed_) {
    if (auto written = write_status(); !written) return written;
    out_.backoffs.put(key_, backoff_);
    changed_ = false;
  }
  auto released = release_finalizers(to_release);
  changed_ |= settle_uncounted();
  if (!released) {
    if (changed_)
      if (auto written = write_status(); !written) return written;
    return released;
  }
  const bool ended = !more && enact_end();
  if (!ended && !changed_) return {};
  if (auto written = write_status(); !written) return written;
  if (ended) say_end();
  return {};
}

/// Notes the pods that have ended in the status; the answer are those whose finalizer may go then. `more`: not all.
std::vector<Pod> JobPass::take_count(bool& more) {
  std::vector<Pod> to_release;
  IndexRanges fresh;
  std::int64_t noted = 0;
  const bool all_fail = verdict_ && verdict_->type != kMet;
  for (const auto& pod : pods_) {
    if (!has_job_finalizer(pod)) continue;
    const bool failed = has_failed(pod, spec_);
    if (!may_release(pod, failed)) continue;
    to_release.push_back(pod);
    const bool known_failed = counted_failed_.contains(pod.uid());
    auto pending = status().object("uncountedTerminatedPods");
    if (has_succeeded(pod, spec_) && !known_failed) {
      const auto index = completion_index(pod);
      if (!spec_.indexed && !counted_succeeded_.contains(pod.uid())) {
        pending.array("succeeded").push(pod.uid());
        changed_ = true;
      } else if (spec_.indexed && has_valid_index(pod) && !known_indexes_.has(index)) {
        fresh.add(index);
        changed_ = true;
        ++noted;
      }
    } else if ((failed || all_fail) && !known_failed && (!spec_.indexed || has_valid_index(pod)) &&
               judge_failure(spec_, pod).counts) {
      pending.array("failed").push(pod.uid());
      changed_ = true;
    }
    more = static_cast<std::size_t>(noted) + pending["succeeded"].size() + pending["failed"].size() >= kUncountedMax;
    if (more) break;
  }
  if (spec_.indexed) put_indexes(fresh);
  return to_release;
}

bool JobPass::may_release(const Pod& pod, bool failed) const {
  if (verdict_ || job_["metadata"].has("deletionTimestamp") || has_succeeded(pod, spec_)) return true;
  if (!failed) return false;
  const auto waiting = to_replace_.find(completion_index(pod));  // its count is handed over first
  return waiting == to_replace_.end() || waiting->second.uid() != pod.uid();
}

void JobPass::put_indexes(const IndexRanges& fresh) {
  done_indexes_.add(fresh);
  const auto done = done_indexes_.text();
  changed_ |= status()["completedIndexes"].text() != done;
  done.empty() ? void(status().erase("completedIndexes")) : void(status().put("completedIndexes", done));
  put_count("succeeded", done_indexes_.count());
  if (!spec_.backoff_limit_per_index) return;
  const auto failed = failed_indexes_.text();
  changed_ |= status()["failedIndexes"].text("-") != failed;
  status().put("failedIndexes", failed);
}

/// Writes the coming end of the Job before its pods lose their finalizers, and the end itself after.
void JobPass::put_interim_condition() {
  if (!verdict_) return;
  if (verdict_->type == kFailureTarget) {
    append_condition(*verdict_);
    verdict_->type = kFailed;
  } else if (verdict_->type == kMet) {
    if (!true_condition(job_.root(), kMet)) append_condition(*verdict_);
    verdict_->type = kComplete;
  }
}

/// The counters take over the uids of pods that have no finalizer any more.
bool JobPass::settle_uncounted() {
  bool settled = false;
  for (auto member : {"succeeded", "failed"}) {
    auto pending = status()["uncountedTerminatedPods"];
    auto uids = pending[member];
    if (uids.empty()) continue;
    const auto before = static_cast<std::int64_t>(uids.size());
    uids.retain([&](const Value& uid) { return held_.contains(uid.string()); });
    const auto counted = before - static_cast<std::int64_t>(uids.size());
    if (uids.empty()) pending.erase(member);
    if (counted == 0) continue;
    put_count(member, status()[member].integer() + counted);
    settled = true;
  }
  return settled;
}

Outcome JobPass::release_finalizers(const std::vector<Pod>& pods) {
  std::set<std::string> released;
  auto outcome = release_job_pods(out_.context.client(), pods, &released);
  for (const auto& uid : released) held_.erase(uid);
  return outcome;
}

bool JobPass::enact_end() {
  const auto pending = status()["uncountedTerminatedPods"];
  if (!verdict_ || !pending["succeeded"].empty() || !pending["failed"].empty() || terminating_ > 0) return false;
  put_condition(verdict_->type, "True", verdict_->reason, verdict_->message);
  if (verdict_->type == kComplete) status().put("completionTime", format_time(now_));
  return true;
}

void JobPass::say_end() {
  const auto& events = out_.context.events();
  if (verdict_->type == kFailed) return events.warning(ref_, verdict_->reason, verdict_->message);
  if (spec_.completions && status()["succeeded"].integer() > *spec_.completions)
    events.warning(ref_, "TooManySucceededPods", "Too many succeeded pods running after completion count reached");
  events.normal(ref_, "Completed", "Job completed");
}

Outcome JobPass::write_status() {
  auto written = out_.context.client().update(kJobs, ref_.namespace_name, ref_.name, job_.root(), "status");
  if (!written) return fail(written.error());
  job_["metadata"].put("resourceVersion", (*written)["metadata"]["resourceVersion"].text());
  return {};
}

bool JobPass::put_count(std::string_view member, std::int64_t value) {
  if (status()[member].integer() == value) return false;
  value == 0 ? void(status().erase(member)) : void(status().put(member, value));
  return true;
}

bool JobPass::put_condition(std::string_view type, std::string_view value, const std::string& reason,
                            const std::string& message) {
  Value found;
  for (Value condition : status()["conditions"])
    if (condition["type"].text() == type) found = condition;
  if (!found && value == "False") return false;  // from nothing to "no" is no change
  if (found && found["status"].text() == value && found["reason"].text() == reason &&
      found["message"].text() == message)
    return false;
  if (!found) found = status().array("conditions").push_object();
  found.put("type", type);
  found.put("status", value);
  for (auto time : {"lastProbeTime", "lastTransitionTime"}) found.put(time, format_time(now_));
  found.put("reason", reason);
  found.put("message", message);
  return true;
}

void JobPass::append_condition(const Verdict& verdict) {
  put_condition(verdict.type, "True", verdict.reason, verdict.message);
  changed_ = true;
}

Outcome release_job_pods(const kube::Client& client, const std::vector<Pod>& pods, std::set<std::string>* released) {
  std::vector<net::Request> requests;
  std::vector<const Pod*> asked;
  static const std::string patch =
      R"({"metadata":{"$deleteFromPrimitiveList/finalizers":[")" + std::string(kJobFinalizer) + R"("]}})";
  for (const auto& pod : pods) {
    if (!has_job_finalizer(pod)) continue;
    requests.push_back(
        client.patch_request(kPods, pod.namespace_name(), pod.name(), kube::PatchType::strategic_merge, patch));
    asked.push_back(&pod);
  }
  if (requests.empty()) return {};
  const auto results = call_all(client, std::move(requests));
  Outcome outcome;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] || results[i].error().is(Reason::not_found)) {
      if (released) released->insert(asked[i]->uid());
    } else if (outcome) {
      outcome = fail(results[i].error().reason, "removing tracking finalizer: " + results[i].error().message);
    }
  }
  return outcome;
}

}  // namespace sublet::controllers
