// CronJobs: a Job for every time that the schedule names, as the concurrency policy allows, and the oldest of those
// that are over removed. What is waited for is the next due time of each alone.
// Source: pkg/controller/cronjob/cronjob_controllerv2.go of Kubernetes.

#include <algorithm>

#include "controllers/cron_job/due_times.h"
#include "controllers/job/job_facts.h"
#include "controllers/pods/pod_control.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kCronJobs{"batch", "v1", "cronjobs"};
const KindFacts kCronJob{"batch/v1", "CronJob", kCronJobs};
constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp",
                           kScheduleChanged = "schedule/";  // key: another schedule, which begins with its next time

struct OwnedJob {
  Document document;
  std::string uid, name;
  std::string finished_as;
  explicit OwnedJob(const store::Object& stored)
      : document(document_of(stored)),
        uid(stored.index.uid),
        name(name_of(stored)),
        finished_as(controllers::finished_as(document.root())) {}
};

bool started_before(const OwnedJob& a, const OwnedJob& b) {
  const auto x = a.document["status"]["startTime"].text(), y = b.document["status"]["startTime"].text();
  if (x.empty() != y.empty()) return y.empty();
  return x != y ? x < y : a.name < b.name;
}

std::string job_name(const std::string& cron_job, WallTime due) {
  return cron_job + "-" + std::to_string(std::chrono::floor<std::chrono::minutes>(due.time_since_epoch()).count());
}

CronTimes times_of(const Value& cron_job) {
  CronTimes times;
  times.created = parse_time(cron_job["metadata"]["creationTimestamp"].text()).value_or(WallTime());
  times.last_schedule = parse_time(cron_job["status"]["lastScheduleTime"].text());
  if (const auto deadline = cron_job["spec"]["startingDeadlineSeconds"])
    times.starting_deadline = std::chrono::seconds(deadline.integer());
  return times;
}

Result<kube::CronSchedule> schedule_of(const Value& cron_job) {
  auto zone = kube::TimeZone::load(cron_job["spec"]["timeZone"].string());
  if (!zone) return fail(zone.error());
  return kube::CronSchedule::parse(cron_job["spec"]["schedule"].text(), std::move(*zone));
}

/// One look at one CronJob.
class CronJobPass {
 public:
  CronJobPass(const Context& context, const Lister& jobs, const store::Object& stored)
      : context_(context),
        events_(context.events()),
        jobs_(jobs),
        cron_job_(document_of(stored)),
        ref_(ref_of(kCronJob, stored)),
        now_(context.clock().now()) {}

  Outcome run() {
    for (const auto& job : jobs_.owned_by(ref_.uid))
      if (is_controlled_by(*job, ref_.uid)) owned_.emplace_back(*job);
    std::sort(owned_.begin(), owned_.end(), started_before);
    trim_history();
    follow_jobs();
    forget_missing();
    auto outcome = cron_job_["metadata"].has("deletionTimestamp") ? Outcome() : run_schedule();
    if (!changed_) return outcome;
    if (auto written =
            settled(context_.client().update(kCronJobs, ref_.namespace_name, ref_.name, cron_job_.root(), "status"));
        !written)
      return written;
    return outcome;
  }

 private:
  Value spec() const { return cron_job_["spec"]; }
  Value status() { return cron_job_.root().object("status"); }

  bool is_active(std::string_view uid) {
    for (Value active : status()["active"])
      if (active["uid"].text() == uid) return true;
    return false;
  }

  void deactivate(std::string_view uid) {
    auto active = status()["active"];
    if (!active) return;
    active.retain([&](const Value& entry) { return entry["uid"].text() != uid; });
    if (active.empty()) status().erase("active");
    changed_ = true;
  }

  void trim_history() {
    for (const auto& [type, member] :
         {std::pair("Complete", "successfulJobsHistoryLimit"), std::pair("Failed", "failedJobsHistoryLimit")}) {
      const auto limit = spec()[member];
      if (!limit) continue;
      std::vector<const OwnedJob*> over;
      for (const auto& job : owned_)
        if (job.finished_as == type) over.push_back(&job);
      const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, limit.integer()));
      for (std::size_t i = 0; i + kept < over.size(); ++i) remove_job(over[i]->name, over[i]->uid);
    }
  }

  bool remove_job(const std::string& name, const std::string& uid) {
    kube::DeleteOptions options;
    options.propagation_policy = "Background";
    auto removed = context_.client().remove(kJobs, ref_.namespace_name, name, options);
    if (!removed && !removed.error().is(Reason::not_found)) {
      events_.warning(ref_, "FailedDelete", "Deleted job: " + removed.error().message);
      return false;
    }
    if (is_active(uid)) deactivate(uid);
    if (removed) events_.normal(ref_, "SuccessfulDelete", "Deleted job " + name);
    return true;
  }

  void follow_jobs() {
    for (const auto& job : owned_) {
      const bool active = is_active(job.uid);
      if (job.finished_as.empty()) {
        if (!active)
          events_.warning(ref_, "UnexpectedJob", "Saw a job that the controller did not create or forgot: " + job.name);
        continue;
      }
      if (active) {
        deactivate(job.uid);
        events_.normal(ref_, "SawCompletedJob", "Saw completed job: " + job.name + ", condition: " + job.finished_as);
      }
      if (job.finished_as == "Complete") note_success(job.document["status"]["completionTime"].text());
    }
  }

  void note_success(std::string_view completed) {
    const auto last = status()["lastSuccessfulTime"].text();
    if (completed.empty() || (!last.empty() && parse_time(completed) <= parse_time(last))) return;
    status().put("lastSuccessfulTime", completed);
    changed_ = true;
  }

  void forget_missing() {
    std::vector<std::pair<std::string, std::string>> missing;  // uid, name
    for (Value active : status()["active"]) {
      const auto stored = jobs_.get(active["namespace"].text(), active["name"].text());
      if (!stored) missing.emplace_back(active["uid"].string(), active["name"].string());
    }
    for (const auto& [uid, name] : missing) {
      events_.normal(ref_, "MissingJob", "Active job went missing: " + name);
      deactivate(uid);
    }
  }

  Outcome run_schedule() {
    if (const auto zone = spec()["timeZone"]) {
      if (auto known = kube::TimeZone::load(zone.string()); !known) {
        events_.warning(ref_, "UnknownTimeZone",
                        "invalid timeZone: \"" + zone.string() + "\": " + known.error().message);
        return {};
      }
    }
    if (spec()["suspend"].boolean()) return {};
    const auto schedule = schedule_of(cron_job_.root());
    if (!schedule) {
      events_.warning(ref_, "UnparseableSchedule",
                      "unparseable schedule: \"" + spec()["schedule"].string() + "\" : " + schedule.error().message);
      return {};
    }
    const auto due = last_due(times_of(cron_job_.root()), *schedule, now_);
    if (!due) {
      events_.warning(ref_, "InvalidSchedule",
                      "invalid schedule: " + spec()["schedule"].string() + " : " + due.error().message);
      return {};
    }
    if (due->too_many)
      events_.warning(ref_, "TooManyMissedTimes",
                      "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
    auto outcome = due->due ? start_job(*due->due) : Outcome();
    if (const auto wait = until_next_due(times_of(cron_job_.root()), *schedule, now_); wait && outcome)
      context_.enqueue_after(ref_.key(), *wait);
    return outcome;
  }

  /// Nothing to do when the time has been met, or must not be.
  Outcome start_job(WallTime due) {
    const auto deadline = times_of(cron_job_.root()).starting_deadline;
    if (deadline && due + *deadline < now_) {
      events_.warning(ref_, "MissSchedule", "Missed scheduled time to start a job: " + format_rfc1123(due));
      return {};
    }
    const auto name = job_name(ref_.name, due);
    for (Value active : status()["active"])
      if (active["name"].text() == name) return {};
    if (parse_time(status()["lastScheduleTime"].text()) == due) return {};
    const auto policy = spec()["concurrencyPolicy"].text();
    if (policy == "Forbid" && !status()["active"].empty()) {
      events_.normal(ref_, "JobAlreadyActive",
                     "Not starting job because prior execution is running and concurrency policy is Forbid");
      return {};
    }
    if (policy == "Replace")
      if (auto replaced = remove_active(); !replaced) return replaced;
    return create_job(name, due);
  }

  Outcome remove_active() {
    std::vector<std::pair<std::string, std::string>> active;  // name, uid
    for (Value entry : status()["active"]) active.emplace_back(entry["name"].string(), entry["uid"].string());
    for (const auto& [name, uid] : active)
      if (!remove_job(name, uid))
        return fail(Reason::internal_error, "could not replace job " + ref_.namespace_name + "/" + name);
    return {};
  }

  Document make_job(const std::string& name, WallTime due) const {
    auto job = Document::object();
    auto metadata = job.root().object("metadata");
    metadata.put("name", name);
    const auto given = spec()["jobTemplate"];
    for (auto member : {"labels", "annotations"})
      if (const auto value = given["metadata"][member]; !value.empty()) metadata.put(member, value);
    const auto zone = kube::TimeZone::load(spec()["timeZone"].string());
    metadata.object("annotations").put(kScheduledAt, kube::format_time_in(zone ? *zone : kube::TimeZone(), due));
    put_controller_ref(metadata, ref_);
    job.root().put("spec", given["spec"]);
    return job;
  }

  Outcome create_job(const std::string& name, WallTime due) {
    auto created = context_.client().create(kJobs, ref_.namespace_name, make_job(name, due).root());
    if (!created && created.error().is(Reason::already_exists)) {
      const auto stored = jobs_.get(ref_.namespace_name, name);
      if (!stored || !is_controlled_by(*stored, ref_.uid) || is_active(stored->index.uid.str())) return {};
      created = document_of(*stored);  // created by a pass that could not record it
    } else if (!created) {
      if (is_namespace_ending(created.error())) return {};
      events_.warning(ref_, "FailedCreate", "Error creating job: " + created.error().message);
      return fail(created.error());
    } else {
      events_.normal(ref_, "SuccessfulCreate", "Created job " + name);
    }
    const auto metadata = (*created)["metadata"];
    auto active = status().array("active").push_object();
    active.put("kind", "Job");
    active.put("namespace", ref_.namespace_name);
    active.put("name", name);
    active.put("uid", metadata["uid"].text());
    active.put("apiVersion", "batch/v1");
    active.put("resourceVersion", metadata["resourceVersion"].text());
    status().put("lastScheduleTime", format_time(due));
    changed_ = true;
    return {};
  }

  const Context& context_;
  const EventRecorder& events_;
  const Lister& jobs_;
  Document cron_job_;
  const ObjectRef ref_;
  const WallTime now_;
  std::vector<OwnedJob> owned_;
  bool changed_ = false;  // the status is to be written
};

class CronJobController final : public Controller {
 public:
  explicit CronJobController(Context& context)
      : context_(context), cron_jobs_(context.lister(kCronJobs)), jobs_(context.lister(kJobs, {By::owner})) {}

  void start() override {
    context_.on_change(kCronJobs, [this](const Change& change) {
      const bool changed = change.before && change.after && !same_schedule(*change.before, *change.after);
      context_.enqueue((changed ? std::string(kScheduleChanged) : "") + key_of(change.object()));
    });
    context_.on_change(kJobs, [this](const Change& change) {
      const auto controller = controller_of(change.object());
      if (controller && controller->kind == kCronJob.kind)
        context_.enqueue(key_of(namespace_of(change.object()), controller->name));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const bool changed = key.starts_with(kScheduleChanged);
    const auto [namespace_name, name] = parts_of(changed ? key.substr(kScheduleChanged.size()) : key);
    const auto stored = cron_jobs_.get(namespace_name, name);
    if (!stored) return {};
    return changed ? wait_for_next(*stored) : CronJobPass(context_, jobs_, *stored).run();
  }

 private:
  static bool same_schedule(const store::Object& a, const store::Object& b) {
    return raw_of(a, {"spec", "schedule"}) == raw_of(b, {"spec", "schedule"}) &&
           raw_of(a, {"spec", "timeZone"}) == raw_of(b, {"spec", "timeZone"});
  }

  /// What another schedule would have named before now is not made up for.
  Outcome wait_for_next(const store::Object& stored) {
    const auto cron_job = document_of(stored);
    const auto schedule = schedule_of(cron_job.root());
    if (!schedule) {
      context_.events().warning(ref_of(kCronJob, stored), "UnParseableCronJobSchedule",
                                "unparseable schedule for cronjob: " + cron_job["spec"]["schedule"].string());
      return {};
    }
    if (const auto wait = until_next_due(times_of(cron_job.root()), *schedule, context_.clock().now()))
      context_.enqueue_after(key_of(stored), *wait);
    return {};
  }

  Context& context_;
  const Lister cron_jobs_, jobs_;
};

}  // namespace

std::unique_ptr<Controller> make_cron_job_controller(Context& context) {
  return std::make_unique<CronJobController>(context);
}

}  // namespace sublet::controllers
