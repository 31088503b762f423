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

// By overload; the extensions that count by themselves.
std::optional<std::uint64_t> extension_cost(std::string_view id, Arguments a, const Value& result) {
  if (id.starts_with("list_sets_")) {
    const double factor = id == "list_sets_equivalent_list" ? 2 : 1;
    return 1 + static_cast<std::uint64_t>(static_cast<double>(size_of(a[0]) * size_of(a[1])) * factor);
  }
  if (id == "list_slice" || id == "lists_range" || id == "list_reverse") return list_cost(1, size_of(result));
  if (id == "list_flatten") return list_cost(1, size_of(a[0]));
  if (id == "list_flatten_int") return list_cost(static_cast<double>(a[1].as_int()), size_of(a[0]));
  if (id == "list_distinct") return self_compare_cost(a[0]);
  if (id.ends_with("_sortByAssociatedKeys")) return self_compare_cost(a[1]);
  if (id.starts_with("list_") && id.ends_with("_sort")) return self_compare_cost(a[0]);
  return std::nullopt;
}

enum class Way : std::uint8_t {
  one,
  check,
  selector,
  traversal,
  text,  // once through the first argument
  text_twice,
  result_twice,
  pattern,
  ip,
  contains_ip,
  contains_cidr,
  validate,
  equality,
};

// By function; what Kubernetes counts.
const std::unordered_map<std::string_view, Way>& kubernetes_ways() {
  static const std::unordered_map<std::string_view, Way> kWays = [] {
    std::unordered_map<std::string_view, Way> ways;
    const auto all = [&](Way way, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) ways[name] = way;
    };
    all(Way::one, {"serviceAccount",
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
    all(Way::check, {"check"});
    all(Way::selector, {"fieldSelector", "labelSelector"});
    all(Way::traversal, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"});
    all(Way::text, {"url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity",
                    "isQuantity", "semver", "isSemver"});
    all(Way::text_twice, {"replace", "split", "ip.isCanonical"});
    all(Way::result_twice, {"join"});
    all(Way::pattern, {"find", "findAll"});
    all(Way::ip, {"ip"});
    all(Way::contains_ip, {"containsIP"});
    all(Way::contains_cidr, {"containsCIDR"});
    all(Way::validate, {"validate"});
    all(Way::equality, {"_==_"});
    return ways;
  }();
  return kWays;
}

bool kubernetes_kind(Kind kind) { return kind >= Kind::quantity && kind <= Kind::decision; }

std::optional<std::uint64_t> kubernetes_cost(std::string_view function, std::string_view id, Arguments a,
                                             const Value& result) {
  const auto found = kubernetes_ways().find(function);
  if (found == kubernetes_ways().end()) return std::nullopt;
  const std::uint64_t first = a.empty() ? 0 : size_of(a[0]);
  switch (found->second) {
    case Way::one:
      return 1;
    case Way::check:
      return 350'000;
    case Way::selector:
      return kListCost + text_cost(size_of(a[1])) +
             rounded_up(rounded_up(static_cast<double>(size_of(a[1])) * .5) * 50.0);
    case Way::traversal:
      return traversal_cost(a[0]);
    case Way::text:
      return text_cost(first);
    case Way::text_twice:
      return text_cost(first, 2);
    case Way::result_twice:
      return text_cost(size_of(result), 2);
    case Way::pattern:
      return pattern_cost(a[0], static_cast<double>(size_of(a[1])));
    case Way::ip:
      return id == "cidr_ip" ? 1 : text_cost(first);
    case Way::contains_ip:
      return text_cost(first + first) + (id == "cidr_contains_ip_string" ? text_cost(size_of(a[1])) : 0);
    case Way::contains_cidr:
      return text_cost(first + first) + text_cost(first) + 1 +
             (id == "cidr_contains_cidr_string" ? text_cost(size_of(a[1])) : 0);
    case Way::validate:
      if (!a[0].is(Kind::format)) return std::nullopt;
      return pattern_cost(a[1], static_cast<double>(static_cast<const NamedFormat&>(a[0].as_opaque()).pattern_size()));
    case Way::equality:
      if (!kubernetes_kind(a[0].kind())) return std::nullopt;
      return 1;
  }
  return std::nullopt;
}

bool starts_with_any(std::string_view id, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return id.starts_with(p); });
}

std::uint64_t standard_cost(std::string_view id, Arguments a) {
  if (id == "starts_with_string" || id == "ends_with_string" || id == "string_to_bytes" || id == "bytes_to_string" ||
      id == "strings_quote" || id == "string_format")
    return text_cost(deep_size(a[0]));
  if (id == "in_list") return deep_size(a[1]);
  const bool ordering =
      starts_with_any(id, {"less_", "greater_"}) && (id.ends_with("_string") || id.ends_with("_bytes"));
  if (ordering || id == "equals" || id == "not_equals") return text_cost(std::min(deep_size(a[0]), deep_size(a[1])));
  if (id == "add_string" || id == "add_bytes") return text_cost(deep_size(a[0]) + deep_size(a[1]));
  if (id == "matches_string") return pattern_cost(a[0], static_cast<double>(deep_size(a[1])));
  if (id == "contains_string") return text_cost(deep_size(a[0])) * text_cost(deep_size(a[1]));
  return 1;
}

}  // namespace

std::uint64_t call_cost(std::string_view function, const Overload* overload, Arguments a, const Value& result) {
  const std::string_view id = overload ? overload->id : std::string_view();
  if (const auto cost = extension_cost(id, a, result)) return *cost;
  if (const auto cost = kubernetes_cost(function, id, a, result)) return *cost;
  return standard_cost(id, a);
}

}  // namespace sublet::patches::cel
