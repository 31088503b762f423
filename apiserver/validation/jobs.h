// Jobs and CronJobs: what upstream refuses beyond pod template and selector: indexes, policies, schedules, time zones.
// Pure, but for the machine's tzdata. Source: pkg/apis/batch/validation of Kubernetes.
#pragma once

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// A Job's spec, whose path is given ("spec", or that in a CronJob's template).
void validate_job_spec(Causes& causes, const std::string& path, const schema::Value& spec);
/// A CronJob's own fields.
void validate_schedule(Causes& causes, const schema::Value& spec);
/// Completions stand, or follow the parallelism of an indexed Job.
void validate_completions_kept(Causes& causes, const schema::Value& spec, const schema::Value& old);

}  // namespace sublet::apiserver
