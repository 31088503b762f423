#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "patches/cel/cost.h"
#include "patches/cel/named_format.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

std::uint64_t size_of(const Value& value) {
  switch (value.kind()) {
    case Kind::string:
      return character_count(value.as_text());
    case Kind::bytes:
      return value.as_text().size();
    case Kind::list:
    case Kind::map:
      return value.size();
    case Kind::ip:
    case Kind::cidr:
      return value.as_opaque().size();
    default:
      return 1;
  }
}

std::uint64_t deep_size(const Value& value) {
  return value.is(Kind::optional) && value.as_optional() ? deep_size(*value.as_optional()) : size_of(value);
}

std::uint64_t rounded_up(double cost) { return static_cast<std::uint64_t>(std::ceil(cost)); }
std::uint64_t text_cost(std::uint64_t size, double times = 1) {
  return rounded_up(static_cast<double>(size) * times * kTextFactor);
}

// Going through a whole value.
std::uint64_t traversal_cost(const Value& value) {
  switch (value.kind()) {
    case Kind::string:
    case Kind::bytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.as_text().size()) * kTextFactor);
    case Kind::list:
    case Kind::map: {
      std::uint64_t cost = 0;
      value.each_item([&](const Value& item) {
        cost += traversal_cost(item);
        return true;
      });
      value.each_entry([&](const Value& key, const Value& entry) {
        cost += traversal_cost(key) + traversal_cost(entry);
        return true;
      });
      return cost;
    }
    default:
      return 1;
  }
}

std::uint64_t pattern_cost(const Value& text, double pattern_size) {
  return rounded_up((1.0 + static_cast<double>(size_of(text))) * kTextFactor) *
         rounded_up(pattern_size * kPatternFactor);
}

// A call that makes a list.
std::uint64_t list_cost(double factor, std::uint64_t size) {
  return static_cast<std::uint64_t>(static_cast<double>(size) * factor) + 1 + kListCost;
}

std::uint64_t self_compare_cost(const Value& list) {
  const std::uint64_t size = list.size();
  if (size == 0) return list_cost(2, 0);
  const Kind kind = list.item(0).kind();
  return list_cost(kind == Kind::string || kind == Kind::bytes ? 2 + kTextFactor : 2, size * size);
}

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

// How Kubernetes counts, by function.
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
    all(CostWay::text, {"url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "ip", "isIP", "isCIDR",
                        "quantity", "isQuantity", "semver", "isSemver"});
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

bool kubernetes_kind(Kind kind) { return kind >= Kind::quantity && kind <= Kind::decision; }

}  // namespace

CostWay cost_way(std::string_view function, std::string_view id) {
  if (const auto way = extension_way(id)) return *way;
  if (const auto way = kubernetes_way(function, id)) return *way;
  return standard_way(id);
}

std::uint64_t call_cost(CostWay way, Arguments a, const Value& result) {
  switch (way) {
    case CostWay::one:
      return 1;
    case CostWay::check:
      return 350'000;
    case CostWay::selector:
      return kListCost + text_cost(size_of(a[1])) +
             rounded_up(static_cast<double>(rounded_up(static_cast<double>(size_of(a[1])) * .5)) * 50.0);
    case CostWay::traversal:
      return traversal_cost(a[0]);
    case CostWay::text:
      return text_cost(size_of(a[0]));
    case CostWay::text_twice:
      return text_cost(size_of(a[0]), 2);
    case CostWay::result_twice:
      return text_cost(size_of(result), 2);
    case CostWay::pattern:
      return pattern_cost(a[0], static_cast<double>(size_of(a[1])));
    case CostWay::contains_ip:
      return text_cost(2 * size_of(a[0]));
    case CostWay::contains_ip_text:
      return text_cost(2 * size_of(a[0])) + text_cost(size_of(a[1]));
    case CostWay::contains_cidr:
      return text_cost(2 * size_of(a[0])) + text_cost(size_of(a[0])) + 1;
    case CostWay::contains_cidr_text:
      return text_cost(2 * size_of(a[0])) + text_cost(size_of(a[0])) + 1 + text_cost(size_of(a[1]));
    case CostWay::validate:
      return pattern_cost(a[1], static_cast<double>(static_cast<const NamedFormat&>(a[0].as_opaque()).pattern_size()));
    case CostWay::equality:
      if (kubernetes_kind(a[0].kind())) return 1;
      [[fallthrough]];
    case CostWay::smaller_text:
      return text_cost(std::min(deep_size(a[0]), deep_size(a[1])));
    case CostWay::deep_text:
      return text_cost(deep_size(a[0]));
    case CostWay::second_size:
      return deep_size(a[1]);
    case CostWay::both_texts:
      return text_cost(deep_size(a[0]) + deep_size(a[1]));
    case CostWay::deep_pattern:
      return pattern_cost(a[0], static_cast<double>(deep_size(a[1])));
    case CostWay::product:
      return text_cost(deep_size(a[0])) * text_cost(deep_size(a[1]));
    case CostWay::sets:
      return 1 + size_of(a[0]) * size_of(a[1]);
    case CostWay::sets_twice:
      return 1 + 2 * size_of(a[0]) * size_of(a[1]);
    case CostWay::list_of_result:
      return list_cost(1, size_of(result));
    case CostWay::flatten:
      return list_cost(1, size_of(a[0]));
    case CostWay::flatten_depth:
      return list_cost(static_cast<double>(a[1].as_int()), size_of(a[0]));
    case CostWay::self_compare:
      return self_compare_cost(a[0]);
    case CostWay::self_compare_keys:
      return self_compare_cost(a[1]);
  }
  return 1;
}

}  // namespace sublet::patches::cel
