// What an update may leave in a Job's status. A rule about a field speaks when the field changes: what an older server
// stored may stay.
#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "apiserver/validation/jobs.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kConditionsPath = "status.conditions";

bool is_true(const Value& job, std::string_view type) {
  for (auto condition : job["status"]["conditions"])
    if (condition["type"].text() == type) return condition["status"].text() == "True";
  return false;
}

bool is_false(const Value& job, std::string_view type) {
  for (auto condition : job["status"]["conditions"])
    if (condition["type"].text() == type) return condition["status"].text() == "False";
  return false;
}

/// One half of an update.
struct JobOutcome {
  explicit JobOutcome(const Value& job)
      : status(job["status"]),
        complete(is_true(job, "Complete")),
        failed(is_true(job, "Failed")),
        failure_target(is_true(job, "FailureTarget")),
        success(is_true(job, "SuccessCriteriaMet")) {}
  bool finished() const { return complete || failed; }

  const Value status;
  const bool complete, failed, failure_target, success;
};

class StatusCheck {
 public:
  StatusCheck(Causes& causes, const Value& job, const Value& old)
      : causes_(causes), job_(job), old_job_(old), spec_(job["spec"]), now_(job), was_(old) {}

  void run() {
    counts();
    uncounted();
    conditions();
    times();
    finished();
    indexes();
    transitions();
  }

 private:
  bool changed(std::string_view field) const { return !semantically_equal(now_.status[field], was_.status[field]); }
  std::int64_t number(std::string_view field) const { return now_.status[field].integer(); }
  static std::string at(std::string_view field) { return child("status", field); }
  /// Without the value.
  void wrong_conditions(std::string_view why) {
    causes_.push_back({"FieldValueInvalid", "Invalid value: " + std::string(why), std::string(kConditionsPath)});
  }

  void counts() {
    for (auto field : {"active", "succeeded", "failed", "ready", "terminating"})
      nonnegative(causes_, at(field), number(field));
  }

  void uncounted() {
    std::set<std::string_view> seen;
    for (auto list : {"succeeded", "failed"}) {
      std::size_t index = 0;
      for (auto uid : now_.status["uncountedTerminatedPods"][list]) {
        const auto here = item(child(at("uncountedTerminatedPods"), list), index++);
        if (uid.text().empty())
          invalid(causes_, here, "", "must not be empty");
        else if (!seen.insert(uid.text()).second)
          duplicate(causes_, here, uid.text());
      }
    }
  }

  void conditions() {
    const bool completes = now_.complete != was_.complete, fails = now_.failed != was_.failed;
    if ((completes || fails) && now_.complete && now_.failed)
      wrong_conditions("cannot set Complete=True and Failed=true conditions");
    if ((completes || now_.failure_target != was_.failure_target) && now_.complete && now_.failure_target)
      wrong_conditions("cannot set Complete=True and FailureTarget=true conditions");
    if ((fails || changed("failedIndexes")) && now_.failed && !now_.failure_target)
      wrong_conditions("cannot set Failed=True condition without the FailureTarget=true condition");
    if ((completes || now_.success != was_.success) && now_.complete && !now_.success)
      wrong_conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    if (now_.success && now_.failed) wrong_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (now_.success && now_.failure_target)
      wrong_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    if (spec_.has("successPolicy") && !now_.success && now_.complete)
      wrong_conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
  }

  void times() {
    const auto start = now_.status["startTime"], end = now_.status["completionTime"];
    if (now_.complete != was_.complete || changed("completionTime")) {
      if (end && !now_.complete)
        invalid(causes_, at("completionTime"), end,
                "cannot set completionTime when there is no Complete=True condition");
      if (!end && now_.complete)
        required(causes_, at("completionTime"), "completionTime is required for Complete jobs");
    }
    // Both are written in UTC and in whole seconds.
    if ((changed("startTime") || changed("completionTime")) && start && end && end.text() < start.text())
      invalid(causes_, at("completionTime"), end, "must be equal to or after `startTime`");
  }

  void finished() {
    if (!now_.finished()) return;
    const bool ends = !was_.finished();
    if ((ends || changed("active")) && number("active") > 0)
      invalid(causes_, at("active"), number("active"), "active>0 is invalid for finished job");
    const bool idle = spec_["suspend"].boolean() && spec_["completions"] && spec_["completions"].integer() == 0;
    if ((ends || changed("startTime")) && !idle && !now_.status["startTime"])
      required(causes_, at("startTime"), "startTime is required for finished job");
    const auto left = now_.status["uncountedTerminatedPods"];
    if ((ends || changed("uncountedTerminatedPods")) && (!left["failed"].empty() || !left["succeeded"].empty()))
      invalid(causes_, at("uncountedTerminatedPods"), left, "must be empty for finished job");
    if ((ends || changed("terminating")) && number("terminating") > 0)
      invalid(causes_, at("terminating"), number("terminating"), "terminating>0 is invalid for finished job");
  }

  void indexes() {
    const auto done = now_.status["completedIndexes"], failed = now_.status["failedIndexes"];
    const auto completions = spec_["completions"];
    const auto readable = [&](std::string_view field, const Value& text) {
      if (const auto error = index_text_error(text.text(), completions.integer()); !error.empty())
        invalid(causes_, at(field), text.text(), "error parsing " + std::string(field) + ": " + error);
    };
    if (changed("completedIndexes")) {
      if (completions) readable("completedIndexes", done);
      if (!done.text().empty() && spec_["completionMode"].text() != "Indexed")
        invalid(causes_, at("completedIndexes"), done,
                "cannot set non-empty completedIndexes when non-indexed completion mode");
    }
    const bool by_index = spec_.has("backoffLimitPerIndex");
    if (changed("failedIndexes") && failed) {
      if (completions && by_index) readable("failedIndexes", failed);
      if (!by_index)
        invalid(causes_, at("failedIndexes"), failed,
                "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if ((changed("failedIndexes") || changed("completedIndexes")) && completions && failed)
      if (const auto both = overlap(done.text(), failed.text()); both >= 0)
        invalid(causes_, at("failedIndexes"), failed,
                "failedIndexes and completedIndexes overlap at index: " + std::to_string(both));
    if (now_.status["ready"] && (changed("ready") || changed("active")) && number("ready") > number("active"))
      invalid(causes_, at("ready"), number("ready"), "cannot set more ready pods than active");
  }

  using Interval = std::pair<std::int64_t, std::int64_t>;
  /// Of the text's intervals those that can be read.
  static std::vector<Interval> intervals(std::string_view text) {
    std::vector<Interval> found;
    const auto read = [](std::string_view part) {
      std::int64_t value = -1;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
      return error == std::errc() && end == part.data() + part.size() ? value : -1;
    };
    while (!text.empty()) {
      const auto part = text.substr(0, text.find(','));
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      const auto dash = part.find('-');
      const auto first = read(part.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : read(part.substr(dash + 1));
      if (first >= 0 && last >= first) found.emplace_back(first, last);
    }
    return found;
  }

  static std::int64_t overlap(std::string_view done, std::string_view failed) {
    for (const auto& [first, last] : intervals(done))
      for (const auto& [other_first, other_last] : intervals(failed))
        if (first <= other_last && other_first <= last) return std::max(first, other_first);
    return -1;
  }

  void transitions() {
    const auto ends = [&](bool before, bool now, std::string_view type) {
      if (before && !now) wrong_conditions("cannot disable the terminal " + std::string(type) + "=True condition");
    };
    ends(was_.failed, now_.failed, "Failed");
    ends(was_.complete, now_.complete, "Complete");
    ends(was_.failure_target, now_.failure_target, "FailureTarget");
    if (number("failed") < was_.status["failed"].integer())
      invalid(causes_, at("failed"), number("failed"), "cannot decrease the failed counter");
    // An indexed Job whose completions follow its parallelism may become smaller.
    const bool elastic = spec_["completionMode"].text() == "Indexed" && spec_["completions"] &&
                         spec_["completions"].integer() == spec_["parallelism"].integer();
    if (!elastic && number("succeeded") < was_.status["succeeded"].integer())
      invalid(causes_, at("succeeded"), number("succeeded"), "cannot decrease the succeeded counter");
    const auto start = now_.status["startTime"], end = now_.status["completionTime"];
    if (end && was_.status.has("completionTime") && changed("completionTime"))
      invalid(causes_, at("completionTime"), end, kImmutable);
    const bool resumes = is_true(old_job_, "Suspended") && is_false(job_, "Suspended");
    if (was_.status.has("startTime") && changed("startTime") && !resumes && !spec_["suspend"].boolean())
      invalid(causes_, at("startTime"), start ? BadValue(start) : BadValue::raw("null"),
              "field is immutable for unsuspended job once set");
    if (was_.success && !now_.success) wrong_conditions("cannot disable the SuccessCriteriaMet=True condition");
    if (was_.complete && !was_.success && now_.success)
      wrong_conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
  }

  Causes& causes_;
  const Value job_, old_job_, spec_;
  const JobOutcome now_, was_;
};

}  // namespace

void validate_job_status_update(Causes& causes, const Value& job, const Value& old) {
  StatusCheck(causes, job, old).run();
}

}  // namespace sublet::apiserver
