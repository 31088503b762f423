// Functions on lists: Kubernetes' lists library and the lists extension.
#include <algorithm>
#include <numeric>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

List metered_items(const Value& list, Meter& meter) {
  List items;
  meter.work(list.size());
  if (meter.exhausted()) return items;
  items.reserve(list.size());
  list.each_item([&](const Value& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

Value is_sorted(Arguments a, Meter& meter) {
  const List items = metered_items(a[0], meter);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto order = compare(items[i - 1], items[i]);
    if (order && *order > 0) return Value::boolean(false);
  }
  return Value::boolean(true);
}

template <int Preferred>
Value extreme(Arguments a, Meter& meter) {
  const List items = metered_items(a[0], meter);
  if (items.empty()) return Value::error(Preferred > 0 ? "min called on empty list" : "max called on empty list");
  Value best = items.front();
  for (const Value& item : items)
    if (compare(best, item) == Preferred) best = item;
  return best;
}

Value zero_of(Kind kind) {
  if (kind == Kind::integer) return Value::integer(0);
  if (kind == Kind::uinteger) return Value::uinteger(0);
  return kind == Kind::floating ? Value::floating(0) : Value::duration({});
}

Value add_up(const Value& total, const Value& item) {
  if (item.kind() != total.kind()) return plain_no_such_overload();
  std::int64_t next = 0;
  std::uint64_t unsigned_next = 0;
  switch (item.kind()) {
    case Kind::floating:
      return Value::floating(total.as_double() + item.as_double());
    case Kind::integer:
      if (__builtin_add_overflow(total.as_int(), item.as_int(), &next)) return Value::error("integer overflow");
      return Value::integer(next);
    case Kind::uinteger:
      if (__builtin_add_overflow(total.as_uint(), item.as_uint(), &unsigned_next))
        return Value::error("unsigned integer overflow");
      return Value::uinteger(unsigned_next);
    default:
      if (__builtin_add_overflow(total.as_duration().nanos, item.as_duration().nanos, &next))
        return Value::error("integer overflow");
      return Value::duration({next});
  }
}

template <Kind Of>
Value sum(Arguments a, Meter& meter) {
  Value total = zero_of(Of);
  for (const Value& item : metered_items(a[0], meter)) {
    total = add_up(total, item);
    if (total.is_error()) break;
  }
  return total;
}

template <bool Last>
Value list_index_of(Arguments a, Meter& meter) {
  std::int64_t found = -1;
  std::int64_t index = 0;
  std::size_t work = 0;
  a[0].each_item([&](const Value& item) {
    if (equal(item, a[1], work)) found = index;
    ++index;
    return Last || found < 0;
  });
  meter.work(work);
  return Value::integer(found);
}

Value distinct(Arguments a, Meter& meter) {
  List kept;
  for (const Value& item : metered_items(a[0], meter)) {
    std::size_t work = 0;
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const Value& other) { return equal(item, other, work); });
    if (!known) kept.push_back(item);
    meter.work(work);
    if (meter.exhausted()) break;
  }
  return Value::list(std::move(kept));
}

Value slice(Arguments a, Meter& meter) {
  const auto size = static_cast<std::int64_t>(a[0].size());
  const std::int64_t from = a[1].as_int(), to = a[2].as_int();
  const std::string what = "cannot slice(" + std::to_string(from) + ", " + std::to_string(to) + "), ";
  if (from < 0 || to < 0) return Value::error(what + "negative indexes not supported");
  if (from > to) return Value::error(what + "start index must be less than or equal to end index");
  if (size < to) return Value::error(what + "list is length " + std::to_string(size));
  List items = metered_items(a[0], meter);
  if (meter.exhausted()) return {};
  return Value::list(List(items.begin() + from, items.begin() + to));
}

void flatten_into(List& out, const Value& list, std::int64_t depth, Meter& meter) {
  list.each_item([&](const Value& item) {
    meter.work(1);
    if (item.is(Kind::list) && depth > 0)
      flatten_into(out, item, depth - 1, meter);
    else
      out.push_back(item);
    return !meter.exhausted();
  });
}

Value flatten(Arguments a, Meter& meter) {
  List items;
  flatten_into(items, a[0], 1, meter);
  return Value::list(std::move(items));
}

Value flatten_depth(Arguments a, Meter& meter) {
  if (a[1].as_int() < 0) return Value::error("level must be non-negative");
  List items;
  flatten_into(items, a[0], a[1].as_int(), meter);
  return Value::list(std::move(items));
}

Value sorted_by(const List& items, const List& keys, Meter& meter) {
  if (items.size() != keys.size())
    return Value::error(
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
        std::to_string(items.size()) + " and " + std::to_string(keys.size()) + " elements respectively");
  for (const Value& key : keys) {
    if (!compare(keys[0], keys[0]) && !keys[0].is_numeric()) return Value::error("list elements must be comparable");
    if (key.kind() != keys[0].kind()) return Value::error("list elements must have the same type");
  }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  meter.work(items.size() * 16);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t l, std::size_t r) { return compare(keys[l], keys[r]) == -1; });
  List sorted;
  sorted.reserve(items.size());
  for (const std::size_t index : order) sorted.push_back(items[index]);
  return Value::list(std::move(sorted));
}

Value sort(Arguments a, Meter& meter) {
  const List items = metered_items(a[0], meter);
  return meter.exhausted() ? Value() : sorted_by(items, items, meter);
}

Value sort_by(Arguments a, Meter& meter) {
  const List items = metered_items(a[0], meter);
  const List keys = metered_items(a[1], meter);
  return meter.exhausted() ? Value() : sorted_by(items, keys, meter);
}

Value range(Arguments a, Meter& meter) {
  const std::int64_t count = std::max<std::int64_t>(a[0].as_int(), 0);
  if (!meter.affords(static_cast<std::uint64_t>(count))) return {};
  List items;
  items.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items.push_back(Value::integer(i));
  return Value::list(std::move(items));
}

Value list_reverse(Arguments a, Meter& meter) {
  List items = metered_items(a[0], meter);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

constexpr Set L = Set::lists;

constexpr Overload kListOverloads[] = {
    {"isSorted", "list_int_is_sorted_bool", "list(int).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_uint_is_sorted_bool", "list(uint).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_double_is_sorted_bool", "list(double).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_bool_is_sorted_bool", "list(bool).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_duration_is_sorted_bool", "list(duration).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_timestamp_is_sorted_bool", "list(timestamp).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_string_is_sorted_bool", "list(string).() -> bool", is_sorted, Set::kubernetes},
    {"isSorted", "list_bytes_is_sorted_bool", "list(bytes).() -> bool", is_sorted, Set::kubernetes},
    {"sum", "list_int_sum_int", "list(int).() -> int", sum<Kind::integer>, Set::kubernetes},
    {"sum", "list_uint_sum_uint", "list(uint).() -> uint", sum<Kind::uinteger>, Set::kubernetes},
    {"sum", "list_double_sum_double", "list(double).() -> double", sum<Kind::floating>, Set::kubernetes},
    {"sum", "list_duration_sum_duration", "list(duration).() -> duration", sum<Kind::duration>, Set::kubernetes},
    {"max", "list_int_max_int", "list(int).() -> int", extreme<-1>, Set::kubernetes},
    {"max", "list_uint_max_uint", "list(uint).() -> uint", extreme<-1>, Set::kubernetes},
    {"max", "list_double_max_double", "list(double).() -> double", extreme<-1>, Set::kubernetes},
    {"max", "list_bool_max_bool", "list(bool).() -> bool", extreme<-1>, Set::kubernetes},
    {"max", "list_duration_max_duration", "list(duration).() -> duration", extreme<-1>, Set::kubernetes},
    {"max", "list_timestamp_max_timestamp", "list(timestamp).() -> timestamp", extreme<-1>, Set::kubernetes},
    {"max", "list_string_max_string", "list(string).() -> string", extreme<-1>, Set::kubernetes},
    {"max", "list_bytes_max_bytes", "list(bytes).() -> bytes", extreme<-1>, Set::kubernetes},
    {"min", "list_int_min_int", "list(int).() -> int", extreme<1>, Set::kubernetes},
    {"min", "list_uint_min_uint", "list(uint).() -> uint", extreme<1>, Set::kubernetes},
    {"min", "list_double_min_double", "list(double).() -> double", extreme<1>, Set::kubernetes},
    {"min", "list_bool_min_bool", "list(bool).() -> bool", extreme<1>, Set::kubernetes},
    {"min", "list_duration_min_duration", "list(duration).() -> duration", extreme<1>, Set::kubernetes},
    {"min", "list_timestamp_min_timestamp", "list(timestamp).() -> timestamp", extreme<1>, Set::kubernetes},
    {"min", "list_string_min_string", "list(string).() -> string", extreme<1>, Set::kubernetes},
    {"min", "list_bytes_min_bytes", "list(bytes).() -> bytes", extreme<1>, Set::kubernetes},
    {"sort", "list_int_sort", "list(int).() -> list(int)", sort, L},
    {"sort", "list_uint_sort", "list(uint).() -> list(uint)", sort, L},
    {"sort", "list_double_sort", "list(double).() -> list(double)", sort, L},
    {"sort", "list_bool_sort", "list(bool).() -> list(bool)", sort, L},
    {"sort", "list_google.protobuf.Duration_sort", "list(duration).() -> list(duration)", sort, L},
    {"sort", "list_google.protobuf.Timestamp_sort", "list(timestamp).() -> list(timestamp)", sort, L},
    {"sort", "list_string_sort", "list(string).() -> list(string)", sort, L},
    {"sort", "list_bytes_sort", "list(bytes).() -> list(bytes)", sort, L},
    {"@sortByAssociatedKeys", "list_int_sortByAssociatedKeys", "list(T).(list(int)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_uint_sortByAssociatedKeys", "list(T).(list(uint)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_double_sortByAssociatedKeys", "list(T).(list(double)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_bool_sortByAssociatedKeys", "list(T).(list(bool)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_google.protobuf.Duration_sortByAssociatedKeys",
     "list(T).(list(duration)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_google.protobuf.Timestamp_sortByAssociatedKeys",
     "list(T).(list(timestamp)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_string_sortByAssociatedKeys", "list(T).(list(string)) -> list(T)", sort_by, L},
    {"@sortByAssociatedKeys", "list_bytes_sortByAssociatedKeys", "list(T).(list(bytes)) -> list(T)", sort_by, L},
    {"indexOf", "list_a_index_of_int", "list(A).(A) -> int", list_index_of<false>, Set::kubernetes},
    {"lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", list_index_of<true>, Set::kubernetes},
    {"slice", "list_slice", "list(T).(int, int) -> list(T)", slice, L},
    {"flatten", "list_flatten", "list(list(T)).() -> list(T)", flatten, L},
    {"flatten", "list_flatten_int", "list(dyn).(int) -> list(dyn)", flatten_depth, L},
    {"distinct", "list_distinct", "list(T).() -> list(T)", distinct, L},
    {"reverse", "list_reverse", "list(T).() -> list(T)", list_reverse, L},
    {"lists.range", "lists_range", "(int) -> list(int)", range, L},
};

}  // namespace

std::span<const Overload> list_table() { return kListOverloads; }

}  // namespace sublet::patches::cel
