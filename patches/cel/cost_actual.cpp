#include <algorithm>
#include <cmath>

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

bool kubernetes_kind(Kind kind) { return kind >= Kind::quantity && kind <= Kind::decision; }

}  // namespace

std::uint64_t call_cost(CostWay way, Arguments a, const Value& result) {
  switch (way) {
    case CostWay::one:
      return 1;
    case CostWay::check:
      return kCheckCost;
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
