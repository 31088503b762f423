#include "controllers/disruption/budget.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kAllowed = "DisruptionAllowed";

std::map<std::string, std::string> texts_of(const Value& object) {
  std::map<std::string, std::string> all;
  for (Value member : object) all.emplace(member.key(), member.string());
  return all;
}

bool put_allowed_condition(Value status, std::string_view value, std::string_view reason, const std::string& message,
                           std::int64_t generation, WallTime now) {
  Value found;
  for (Value condition : status["conditions"])
    if (condition["type"].text() == kAllowed) found = condition;
  if (found && found["status"].text() == value && found["reason"].text() == reason &&
      found["message"].text() == message && found["observedGeneration"].integer() == generation)
    return false;
  if (!found) {
    found = status.array("conditions").push_object();
    found.put("type", kAllowed);
  }
  if (found["status"].text() != value) found.put("lastTransitionTime", format_time(now));
  found.put("status", value);
  found.put("reason", reason);
  found.put("message", message);
  found.put("observedGeneration", generation);
  return true;
}

bool put_number(Value status, std::string_view member, std::int64_t value) {
  if (status[member].integer(-1) == value) return false;
  status.put(member, value);
  return true;
}

/// Pods whose eviction was granted and that are still there, neither ending nor given up.
void follow_disrupted(BudgetStatus& result, const Value& known, const std::vector<Pod>& pods, WallTime now) {
  for (const auto& pod : pods) {
    const auto since = parse_time(known[pod.name()].text());
    if (pod.ending() || !since) continue;
    const auto gives_up = *since + kEvictionTakes;
    if (gives_up < now) {
      result.not_deleted.emplace_back(pod.name());
      continue;
    }
    result.next_look = std::min(result.next_look.value_or(gives_up), gives_up);
    result.disrupted.emplace_back(pod.name(), known[pod.name()].string());
  }
}

}  // namespace

std::optional<std::int64_t> share_of(const Value& number_or_percent, std::int64_t total) {
  if (number_or_percent.is_integer()) return number_or_percent.integer();
  const auto text = number_or_percent.text();
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)) != "%")
    return std::nullopt;
  return (percent * total + 99) / 100;
}

bool needs_scale(const Value& spec) { return spec.has("maxUnavailable") || spec["minAvailable"].is_string(); }

std::optional<BudgetStatus> judge_budget(const Value& budget, const std::vector<Pod>& pods, std::int64_t scale,
                                         WallTime now) {
  BudgetStatus result;
  const auto spec = budget["spec"];
  result.expected = needs_scale(spec) ? scale : spec.has("minAvailable") ? static_cast<std::int64_t>(pods.size()) : 0;
  if (const auto most = spec["maxUnavailable"]) {
    const auto share = share_of(most, result.expected);
    if (!share) return std::nullopt;
    result.desired_healthy = std::max<std::int64_t>(0, result.expected - *share);
  } else if (const auto least = spec["minAvailable"]) {
    const auto share = share_of(least, result.expected);
    if (!share) return std::nullopt;
    result.desired_healthy = *share;
  }
  follow_disrupted(result, budget["status"]["disruptedPods"], pods, now);
  for (const auto& pod : pods) {
    const bool leaving = std::any_of(result.disrupted.begin(), result.disrupted.end(),
                                     [&](const auto& entry) { return entry.first == pod.name(); });
    if (!pod.ending() && !leaving && pod.ready()) ++result.current_healthy;
  }
  if (result.expected > 0) result.allowed = std::max<std::int64_t>(0, result.current_healthy - result.desired_healthy);
  return result;
}

bool put_status(Value budget, const BudgetStatus& wanted, WallTime now) {
  auto status = budget.object("status");
  const auto generation = budget["metadata"]["generation"].integer();
  bool changed = put_number(status, "currentHealthy", wanted.current_healthy);
  changed |= put_number(status, "desiredHealthy", wanted.desired_healthy);
  changed |= put_number(status, "expectedPods", wanted.expected);
  changed |= put_number(status, "disruptionsAllowed", wanted.allowed);
  changed |= put_number(status, "observedGeneration", generation);
  const std::map<std::string, std::string> disrupted(wanted.disrupted.begin(), wanted.disrupted.end());
  if (texts_of(status["disruptedPods"]) != disrupted) {
    changed = true;
    status.erase("disruptedPods");
    for (const auto& [pod, since] : disrupted) status.object("disruptedPods").put(pod, since);
  }
  const bool some = wanted.allowed > 0;
  changed |= put_allowed_condition(status, some ? "True" : "False", some ? "SufficientPods" : "InsufficientPods", "",
                                   generation, now);
  return changed;
}

bool put_failure(Value budget, const std::string& why, WallTime now) {
  auto status = budget.object("status");
  bool changed = put_number(status, "disruptionsAllowed", 0);
  changed |= put_allowed_condition(status, "False", "SyncFailed", why, status["observedGeneration"].integer(), now);
  return changed;
}

std::string go_text(const Value& selector) {
  if (!selector.is_object()) return "nil";
  std::string text = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [label, value] : texts_of(selector["matchLabels"])) text += label + ": " + value + ",";
  text += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (Value expression : selector["matchExpressions"]) {
    text += "LabelSelectorRequirement{Key:" + expression["key"].string() +
            ",Operator:" + expression["operator"].string() + ",Values:[";
    std::string_view space;
    for (Value value : expression["values"]) text.append(std::exchange(space, " ")).append(value.text());
    text += "],},";
  }
  return text + "},}";
}

}  // namespace sublet::controllers
