// The sets extension: lists as sets.
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

bool list_holds(const Value& list, const Value& wanted, Meter& meter) {
  bool found = false;
  std::size_t work = 0;
  list.each_item([&](const Value& item) { return !(found = equal(item, wanted, work)); });
  meter.work(work);
  return found;
}

bool holds_all(const Value& list, const Value& wanted, Meter& meter) {
  bool all = true;
  wanted.each_item([&](const Value& item) { return !meter.exhausted() && (all = list_holds(list, item, meter)); });
  return all;
}

Value set_contains(Arguments a, Meter& meter) { return Value::boolean(holds_all(a[0], a[1], meter)); }
Value equivalent(Arguments a, Meter& meter) {
  return Value::boolean(holds_all(a[0], a[1], meter) && holds_all(a[1], a[0], meter));
}
Value intersects(Arguments a, Meter& meter) {
  bool any = false;
  a[1].each_item([&](const Value& item) { return !meter.exhausted() && !(any = list_holds(a[0], item, meter)); });
  return Value::boolean(any);
}

constexpr Overload kSetOverloads[] = {
    {"sets.contains", "list_sets_contains_list", "(list(T), list(T)) -> bool", set_contains, Set::sets},
    {"sets.equivalent", "list_sets_equivalent_list", "(list(T), list(T)) -> bool", equivalent, Set::sets},
    {"sets.intersects", "list_sets_intersects_list", "(list(T), list(T)) -> bool", intersects, Set::sets},
};

}  // namespace

std::span<const Overload> set_table() { return kSetOverloads; }

}  // namespace sublet::patches::cel
