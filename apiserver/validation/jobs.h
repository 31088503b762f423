// Jobs and CronJobs: what upstream refuses beyond pod template and selector: indexes, policies, schedules, time zones.
// Pure, but for the machine's tzdata. Source: pkg/apis/batch/validation of Kubernetes.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// A Job's spec, whose path is given ("spec", or that in a CronJob's template).
void validate_job_spec(Causes& causes, const std::string& path, const schema::Value& spec);
/// What is wrong with a text of indexes such as "0-2,5"; empty: nothing.
std::string index_text_error(std::string_view text, std::int64_t completions);
/// A Job's status, as an update of it may leave it: also other controllers may keep it (spec.managedBy).
void validate_job_status_update(Causes& causes, const schema::Value& job, const schema::Value& old);
/// A CronJob's own fields.
void validate_schedule(Causes& causes, const schema::Value& spec);
/// Completions stand, or follow the parallelism of an indexed Job.
void validate_completions_kept(Causes& causes, const schema::Value& spec, const schema::Value& old);

}  // namespace sublet::apiserver
