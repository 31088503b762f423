#include "controllers/autoscaling/scale_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sublet::controllers {
namespace {

using schema::Value;
using std::chrono::seconds;

constexpr seconds kDownStabilization{300};  // where the behaviour sets none
constexpr std::int64_t kUpLimitMin = 4;     // without a behaviour: at least so many, or twice what there is
constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();

struct Words {
  std::string_view reason, message;
};
constexpr Words kUpLimit{"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"};
constexpr Words kDownLimit{"ScaleDownLimit",
                           "the desired replica count is decreasing faster than the maximum scale rate"};
constexpr Words kTooMany{"TooManyReplicas", "the desired replica count is more than the maximum replica count"};
constexpr Words kTooFew{"TooFewReplicas", "the desired replica count is less than the minimum replica count"};
constexpr Words kWithin{"DesiredWithinRange", "the desired count is within the acceptable range"};
constexpr Words kReady{"ReadyForNewScale", "recommended size matches current size"};
constexpr Words kDownStabilized{
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation"};
constexpr Words kUpStabilized{
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation"};

Normalized limited(std::int64_t replicas, const Words& words) {
  Normalized normalized;
  normalized.replicas = replicas;
  normalized.limit_reason = words.reason;
  normalized.limit_message = words.message;
  return normalized;
}

Normalized limit_simply(const ScaleBounds& bounds) {
  const auto up = std::max(2 * bounds.current, kUpLimitMin);
  if (bounds.desired < bounds.min) return limited(bounds.min, kTooFew);
  const auto most = std::min(bounds.max, up);
  if (bounds.desired > most) return limited(most, bounds.max > up ? kUpLimit : kTooMany);
  return limited(bounds.desired, kWithin);
}

seconds window_of(const Value& rules, seconds missing) {
  const auto window = rules["stabilizationWindowSeconds"];
  return window ? seconds(window.integer()) : missing;
}

}  // namespace

void ScaleHistory::begin(std::int64_t current, WallTime now) {
  if (recommended_.empty()) recommended_.push_back({current, now});
}

Normalized ScaleHistory::normalize(const Value& behavior, const ScaleBounds& bounds, WallTime now) {
  auto stable = bounds;
  stable.desired = behavior ? stabilize(behavior, bounds, now) : stabilize(bounds.desired, now);
  auto normalized = behavior ? limit_rate(behavior, stable, now) : limit_simply(stable);
  normalized.limited = normalized.replicas != stable.desired;
  const bool up = behavior && bounds.desired >= bounds.current;
  const auto& able = stable.desired == bounds.desired ? kReady : up ? kUpStabilized : kDownStabilized;
  normalized.able_reason = able.reason;
  normalized.able_message = able.message;
  return normalized;
}

std::int64_t ScaleHistory::stabilize(std::int64_t desired, WallTime now) {
  auto highest = desired;
  std::erase_if(recommended_, [&](const Entry& entry) { return entry.at < now - kDownStabilization; });
  for (const auto& entry : recommended_) highest = std::max(highest, entry.amount);
  recommended_.push_back({desired, now});
  return highest;
}

std::int64_t ScaleHistory::stabilize(const Value& behavior, const ScaleBounds& bounds, WallTime now) {
  const auto up_since = now - window_of(behavior["scaleUp"], seconds(0)),
             down_since = now - window_of(behavior["scaleDown"], kDownStabilization);
  auto lowest = bounds.desired, highest = bounds.desired;
  for (const auto& entry : recommended_) {
    if (entry.at > up_since) lowest = std::min(lowest, entry.amount);
    if (entry.at > down_since) highest = std::max(highest, entry.amount);
  }
  std::erase_if(recommended_, [&](const Entry& entry) { return entry.at < up_since && entry.at < down_since; });
  recommended_.push_back({bounds.desired, now});
  return std::min(std::max(bounds.current, lowest), highest);
}

/// How far the rules let it go: up or down from what it was at the beginning of each policy's period.
std::int64_t ScaleHistory::limit_of(const Value& rules, bool up, std::int64_t current, WallTime now) const {
  const auto select = rules["selectPolicy"].text("Max");
  if (select == "Disabled") return current;
  const bool farthest = select != "Min";
  const bool highest = farthest == up;  // of the policies' limits the highest counts
  std::int64_t limit = highest ? -kNone : kNone;
  const auto consider = [&](std::string_view type, std::int64_t value, seconds period) {
    const auto changed = [&](const Entries& entries) {
      std::int64_t sum = 0;
      for (const auto& entry : entries) sum += entry.at > now - period ? entry.amount : 0;
      return sum;
    };
    const auto start = current - changed(ups_) + changed(downs_);
    const auto share = static_cast<double>(value) / 100;
    std::int64_t proposed = start + (up ? value : -value);
    if (type == "Percent")
      proposed = static_cast<std::int64_t>(up ? std::ceil(static_cast<double>(start) * (1 + share))
                                              : static_cast<double>(start) * (1 - share));
    limit = highest ? std::max(limit, proposed) : std::min(limit, proposed);
  };
  const auto policies = rules["policies"];
  for (auto policy : policies)
    consider(policy["type"].text(), policy["value"].integer(), seconds(policy["periodSeconds"].integer()));
  if (policies.empty()) {  // upstream's defaults
    consider("Percent", 100, seconds(15));
    if (up) consider("Pods", 4, seconds(15));
  }
  return limit;
}

Normalized ScaleHistory::limit_rate(const Value& behavior, const ScaleBounds& bounds, WallTime now) const {
  if (bounds.desired > bounds.current) {
    const auto rate = std::max(limit_of(behavior["scaleUp"], true, bounds.current, now), bounds.current);
    const auto most = std::min(bounds.max, rate);
    if (bounds.desired > most) return limited(most, bounds.max > rate ? kUpLimit : kTooMany);
  } else if (bounds.desired < bounds.current) {
    const auto rate = std::min(limit_of(behavior["scaleDown"], false, bounds.current, now), bounds.current);
    const auto least = std::max(bounds.min, rate);
    if (bounds.desired < least) return limited(least, bounds.min < rate ? kDownLimit : kTooFew);
  }
  return limited(bounds.desired, kWithin);
}

void ScaleHistory::note(const Value& behavior, std::int64_t before, std::int64_t after, WallTime now) {
  if (!behavior) return;
  const bool up = after > before;
  seconds longest{15};
  for (auto policy : behavior[up ? "scaleUp" : "scaleDown"]["policies"])
    longest = std::max(longest, seconds(policy["periodSeconds"].integer()));
  auto& entries = up ? ups_ : downs_;
  std::erase_if(entries, [&](const Entry& entry) { return entry.at < now - longest; });
  entries.push_back({up ? after - before : before - after, now});
}

}  // namespace sublet::controllers
