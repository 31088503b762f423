// When a CronJob was last due, and when it is due next. Pure functions.
// Source: pkg/controller/cronjob/utils.go of Kubernetes.
#pragma once

#include <chrono>
#include <optional>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/kube/cron_schedule.h"

namespace sublet::controllers {

/// What of a CronJob decides about times.
struct CronTimes {
  WallTime created{};
  std::optional<WallTime> last_schedule{};
  std::optional<std::chrono::seconds> starting_deadline{};
};

struct DueTime {
  std::optional<WallTime> due{};  // the latest that has come and was not met
  bool too_many = false;          // more than a hundred were missed
};
/// bad_request: the schedule names no moment at all.
Result<DueTime> last_due(const CronTimes& times, const kube::CronSchedule& schedule, WallTime now);

/// How long until the next one, with a little more for clocks that differ; nullopt: it never comes.
std::optional<std::chrono::milliseconds> until_next_due(const CronTimes& times, const kube::CronSchedule& schedule,
                                                        WallTime now);

/// "Mon, 02 Jan 2006 15:04:05 +0000".
std::string format_rfc1123(WallTime time);

}  // namespace sublet::controllers
