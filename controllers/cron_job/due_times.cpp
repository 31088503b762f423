#include "controllers/cron_job/due_times.h"

#include <algorithm>
#include <ctime>

namespace sublet::controllers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPadding{100};
constexpr std::int64_t kMissedMax = 100;

struct Missed {
  WallTime earliest{};
  std::optional<WallTime> latest{};  // the most recent one
  std::int64_t count = 0;
};

/// Those between the last run (or the creation) and now. Counted by the distance of the first two, as far as that goes.
Result<Missed> missed_since(WallTime earliest, const kube::CronSchedule& schedule, WallTime now) {
  Missed missed{earliest};
  const auto first = schedule.next(earliest);
  if (first && now < *first) return missed;
  const auto second = first ? schedule.next(*first) : std::nullopt;
  if (first && second && now < *second) {
    missed.latest = first;
    return missed;
  }
  const auto apart = first && second ? std::chrono::round<seconds>(*second - *first) : seconds(0);
  if (apart < seconds(1)) return bad_request("time difference between two schedules is less than 1 second");
  missed.count = std::chrono::floor<seconds>(now - *first) / apart + 1;
  const auto start = *first + (missed.count - 2) * apart;
  for (auto at = schedule.next(start); at && *at <= now; at = schedule.next(*at)) missed.latest = at;
  return missed;
}

WallTime earliest_of(const CronTimes& times) { return times.last_schedule.value_or(times.created); }

}  // namespace

Result<DueTime> last_due(const CronTimes& times, const kube::CronSchedule& schedule, WallTime now) {
  auto earliest = earliest_of(times);
  if (times.starting_deadline) earliest = std::max(earliest, now - *times.starting_deadline);
  auto missed = missed_since(earliest, schedule, now);
  if (!missed) return fail(missed.error());
  return DueTime{missed->latest, missed->latest && missed->count > kMissedMax};
}

std::optional<milliseconds> until_next_due(const CronTimes& times, const kube::CronSchedule& schedule, WallTime now) {
  const auto missed = missed_since(earliest_of(times), schedule, now);
  auto from = now;
  if (missed && missed->latest)
    from = *missed->latest;
  else if (missed && missed->count == 0)
    from = missed->earliest;
  const auto next = schedule.next(from);
  if (!next) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*next - now) + kPadding;
}

std::string format_rfc1123(WallTime time) {
  const auto unix_seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<seconds>(time));
  std::tm parts{};
  gmtime_r(&unix_seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &parts)};
}

}  // namespace sublet::controllers
