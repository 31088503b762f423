// Which way each function's cost is counted: the one table behind the estimate and the actual cost.
#include <algorithm>
#include <unordered_map>

#include "patches/cel/cost.h"

namespace sublet::patches::cel {

namespace {

// How the extensions count, which do so by overload.
std::optional<CostWay> extension_way(std::string_view id) {
  if (id == "list_sets_equivalent_list") return CostWay::sets_twice;
  if (id.starts_with("list_sets_")) return CostWay::sets;
  if (id == "list_slice" || id == "lists_range" || id == "list_reverse") return CostWay::list_of_result;
  if (id == "list_flatten") return CostWay::flatten;
  if (id == "list_flatten_int") return CostWay::flatten_depth;
  if (id.ends_with("_sortByAssociatedKeys")) return CostWay::self_compare_keys;
  if (id == "list_distinct" || (id.starts_with("list_") && id.ends_with("_sort"))) return CostWay::self_compare;
  return std::nullopt;
}

}  // namespace

std::optional<CostWay> kubernetes_way(std::string_view function, std::string_view id) {
  static const std::unordered_map<std::string_view, CostWay> kWays = [] {
    std::unordered_map<std::string_view, CostWay> ways;
    const auto all = [&](CostWay way, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) ways[name] = way;
    };
    all(CostWay::one, {"serviceAccount",
                       "path",
                       "group",
                       "resource",
                       "subresource",
                       "namespace",
                       "name",
                       "allowed",
                       "reason",
                       "error",
                       "errored",
                       "masked",
                       "prefixLength",
                       "family",
                       "isUnspecified",
                       "isLoopback",
                       "isLinkLocalMulticast",
                       "isLinkLocalUnicast",
                       "isGlobalUnicast",
                       "format.named",
                       "sign",
                       "asInteger",
                       "isInteger",
                       "asApproximateFloat",
                       "isGreaterThan",
                       "isLessThan",
                       "compareTo",
                       "add",
                       "sub",
                       "major",
                       "minor",
                       "patch",
                       "getScheme",
                       "getHostname",
                       "getHost",
                       "getPort",
                       "getEscapedPath",
                       "getQuery"});
    all(CostWay::check, {"check"});
    all(CostWay::selector, {"fieldSelector", "labelSelector"});
    all(CostWay::traversal, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"});
    all(CostWay::text, {"jsonpatch.escapeKey", "url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "ip",
                        "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"});
    all(CostWay::text_twice, {"replace", "split", "ip.isCanonical"});
    all(CostWay::result_twice, {"join"});
    all(CostWay::pattern, {"find", "findAll"});
    all(CostWay::contains_ip, {"containsIP"});
    all(CostWay::contains_cidr, {"containsCIDR"});
    all(CostWay::validate, {"validate"});
    return ways;
  }();
  if (id == "cidr_ip") return CostWay::one;
  if (id == "cidr_contains_ip_string") return CostWay::contains_ip_text;
  if (id == "cidr_contains_cidr_string") return CostWay::contains_cidr_text;
  const auto found = kWays.find(function);
  return found == kWays.end() ? std::nullopt : std::optional(found->second);
}

namespace {

bool starts_with_any(std::string_view id, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return id.starts_with(p); });
}

CostWay standard_way(std::string_view id) {
  static constexpr std::string_view kTexts[] = {"starts_with_string", "ends_with_string", "string_to_bytes",
                                                "bytes_to_string",    "strings_quote",    "string_format"};
  if (std::find(std::begin(kTexts), std::end(kTexts), id) != std::end(kTexts)) return CostWay::deep_text;
  const bool ordering =
      starts_with_any(id, {"less_", "greater_"}) && (id.ends_with("_string") || id.ends_with("_bytes"));
  if (id == "equals") return CostWay::equality;
  if (ordering || id == "not_equals") return CostWay::smaller_text;
  if (id == "in_list") return CostWay::second_size;
  if (id == "add_string" || id == "add_bytes") return CostWay::both_texts;
  if (id == "matches_string") return CostWay::deep_pattern;
  return id == "contains_string" ? CostWay::product : CostWay::one;
}

}  // namespace

CostWay cost_way(std::string_view function, std::string_view id) {
  if (const auto way = extension_way(id)) return *way;
  if (const auto way = kubernetes_way(function, id)) return *way;
  return standard_way(id);
}

}  // namespace sublet::patches::cel
