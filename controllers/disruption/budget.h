// Budget: how many of a PodDisruptionBudget's pods may be disturbed now. Pure functions.
// Source: pkg/controller/disruption/disruption.go of Kubernetes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods/pod.h"

namespace sublet::controllers {

/// For as long a pod whose eviction was granted counts as gone; then it was none.
inline constexpr std::chrono::seconds kEvictionTakes{120};

struct BudgetStatus {
  std::int64_t current_healthy = 0, desired_healthy = 0, expected = 0, allowed = 0;
  std::vector<std::pair<std::string, std::string>> disrupted;  // pods that are about to be deleted, and since when
  std::optional<WallTime> next_look;                           // when the first of them is given up
  std::vector<std::string> not_deleted;                        // those that were
};

/// A number or a share of `total` such as "25%", rounded up; nullopt when it is neither.
std::optional<std::int64_t> share_of(const schema::Value& number_or_percent, std::int64_t total);
/// The share is not of the pods that there are, but of those that their controllers want.
bool needs_scale(const schema::Value& spec);
/// `scale`: how many pods the controllers want, where needs_scale.
std::optional<BudgetStatus> judge_budget(const schema::Value& budget, const std::vector<Pod>& pods, std::int64_t scale,
                                         WallTime now);
/// Writes it into the budget's status; returns false when nothing changes.
bool put_status(schema::Value budget, const BudgetStatus& status, WallTime now);
/// Nothing may be disturbed, because of an error.
bool put_failure(schema::Value budget, const std::string& why, WallTime now);

/// "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}".
std::string go_text(const schema::Value& selector);

}  // namespace sublet::controllers
