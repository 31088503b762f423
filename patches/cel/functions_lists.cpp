// Functions on lists: Kubernetes' lists library and the lists extension.
#include <algorithm>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

using Arguments = std::span<const Value>;

List items_of(const Value& list, Meter& meter) {
  List items;
  meter.charge(list.size());
  if (meter.exhausted()) return items;
  items.reserve(list.size());
  list.each_item([&](const Value& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

Value cannot_order(std::string_view name) {
  return Value::error(std::string(name) + "() needs items that can be ordered");
}

Value is_sorted(Arguments a, Meter& meter) {
  const List items = items_of(a[0], meter);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto order = compare(items[i - 1], items[i]);
    if (!order) return cannot_order("isSorted");
    if (*order > 0) return Value::boolean(false);
  }
  return Value::boolean(true);
}

template <int Direction>
Value extreme(Arguments a, Meter& meter) {
  const List items = items_of(a[0], meter);
  if (items.empty()) return Value::error("min() or max() of an empty list");
  Value best = items.front();
  for (const Value& item : items) {
    const auto order = compare(item, best);
    if (!order) return cannot_order(Direction < 0 ? "min" : "max");
    if (*order == Direction) best = item;
  }
  return best;
}

Value sum(Arguments a, Meter& meter) {
  const List items = items_of(a[0], meter);
  Value total = Value::integer(0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& item = items[i];
    if (!item.is_numeric() || (i > 0 && item.kind() != total.kind()))
      return Value::error("sum() needs numbers of one kind, found " + std::string(kind_name(item.kind())));
    if (i == 0) {
      total = item;
    } else if (item.is(Kind::integer)) {
      std::int64_t next = 0;
      if (__builtin_add_overflow(total.as_int(), item.as_int(), &next)) return Value::error("integer overflow");
      total = Value::integer(next);
    } else if (item.is(Kind::uinteger)) {
      std::uint64_t next = 0;
      if (__builtin_add_overflow(total.as_uint(), item.as_uint(), &next))
        return Value::error("unsigned integer overflow");
      total = Value::uinteger(next);
    } else {
      total = Value::floating(total.as_double() + item.as_double());
    }
  }
  return total;
}

template <bool Last>
Value index_of(Arguments a, Meter& meter) {
  std::int64_t found = -1;
  std::int64_t index = 0;
  std::size_t work = 0;
  a[0].each_item([&](const Value& item) {
    if (equal(item, a[1], work)) found = index;
    ++index;
    return Last || found < 0;
  });
  meter.charge(work);
  return Value::integer(found);
}

Value distinct(Arguments a, Meter& meter) {
  List kept;
  std::size_t work = 0;
  for (const Value& item : items_of(a[0], meter)) {
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const Value& other) { return equal(item, other, work); });
    if (!known) kept.push_back(item);
    meter.charge(work);
    work = 0;
    if (meter.exhausted()) break;
  }
  return Value::list(std::move(kept));
}

Value slice(Arguments a, Meter& meter) {
  const auto size = static_cast<std::int64_t>(a[0].size());
  const std::int64_t from = a[1].as_int();
  const std::int64_t to = a[2].as_int();
  if (from < 0 || to < from || to > size)
    return Value::error("slice range [" + std::to_string(from) + ", " + std::to_string(to) + ") is out of the list's " +
                        std::to_string(size) + " items");
  const List items = items_of(a[0], meter);
  if (meter.exhausted()) return {};
  return Value::list(List(items.begin() + from, items.begin() + to));
}

Value reverse(Arguments a, Meter& meter) {
  List items = items_of(a[0], meter);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value sort(Arguments a, Meter& meter) {
  List items = items_of(a[0], meter);
  meter.charge(items.size() * 8);
  for (std::size_t i = 1; i < items.size(); ++i)
    if (!compare(items[0], items[i])) return cannot_order("sort");
  std::stable_sort(items.begin(), items.end(),
                   [](const Value& x, const Value& y) { return compare(x, y).value_or(0) < 0; });
  return Value::list(std::move(items));
}

Value flatten(Arguments a, Meter& meter) {
  List flat;
  for (const Value& item : items_of(a[0], meter)) {
    if (!item.is(Kind::list)) {
      flat.push_back(item);
      continue;
    }
    for (const Value& inner : items_of(item, meter)) flat.push_back(inner);
  }
  return Value::list(std::move(flat));
}

Value range(Arguments a, Meter& meter) {
  if (a[0].as_int() < 0) return Value::error("lists.range() of a negative number");
  meter.charge(static_cast<std::size_t>(a[0].as_int()));
  if (meter.exhausted()) return {};
  List items;
  for (std::int64_t i = 0; i < a[0].as_int(); ++i) items.push_back(Value::integer(i));
  return Value::list(std::move(items));
}

constexpr Kind B = Kind::boolean, I = Kind::integer, L = Kind::list, X = Kind::dyn;
constexpr Style M = Style::method;

constexpr Overload kTable[] = {
    {"isSorted", M, {L}, 1, B, is_sorted},
    {"min", M, {L}, 1, X, extreme<-1>},
    {"max", M, {L}, 1, X, extreme<1>},
    {"sum", M, {L}, 1, X, sum},
    {"indexOf", M, {L, X}, 2, I, index_of<false>},
    {"lastIndexOf", M, {L, X}, 2, I, index_of<true>},
    {"distinct", M, {L}, 1, L, distinct},
    {"slice", M, {L, I, I}, 3, L, slice},
    {"reverse", M, {L}, 1, L, reverse},
    {"sort", M, {L}, 1, L, sort},
    {"flatten", M, {L}, 1, L, flatten},
    {"lists.range", Style::function, {I}, 1, L, range},
};

}  // namespace

std::span<const Overload> list_table() { return kTable; }

}  // namespace sublet::patches::cel
