// Cost: what an expression may cost at most, by the sizes its types allow, and what a call did cost. The numbers are
// cel-go's (checker/cost.go, interpreter/runtimecost.go) and Kubernetes' (apiserver/pkg/cel/library/cost.go): CRDs that
// the real API server takes or refuses, ours takes or refuses.
#pragma once

#include "patches/cel/ast.h"
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

inline constexpr double kTextFactor = 0.1;      // of a text's characters, for going through it once
inline constexpr double kPatternFactor = 0.25;  // of a pattern's characters
inline constexpr std::uint64_t kMessageCost = 40;
inline constexpr std::uint64_t kListCost = 10;
inline constexpr std::uint64_t kMapCost = 30;
inline constexpr std::uint64_t kCheckCost = 350'000;  // to ask an authorizer

CostEstimate estimate_cost(const Node& root, const Environment& environment);

/// How Kubernetes counts its own functions, by name; none: the standard's, or an extension's.
std::optional<CostWay> kubernetes_way(std::string_view function, std::string_view id);

/// Of a call that was made, by the overload's way, or the function's when it was not known which overload.
std::uint64_t call_cost(CostWay way, Arguments arguments, const Value& result);

}  // namespace sublet::patches::cel
