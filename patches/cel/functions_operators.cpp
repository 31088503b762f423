// Operators: arithmetic with overflow as an error, comparison across number kinds, concatenation, `in`, size().
#include <cmath>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

using Arguments = std::span<const Value>;

Value overflow(std::string_view kind) { return Value::error(std::string(kind) + " overflow"); }

template <bool (*Builtin)(std::int64_t, std::int64_t, std::int64_t*)>
Value int_arithmetic(Arguments a, Meter&) {
  std::int64_t result = 0;
  if (Builtin(a[0].as_int(), a[1].as_int(), &result)) return overflow("integer");
  return Value::integer(result);
}

template <bool (*Builtin)(std::uint64_t, std::uint64_t, std::uint64_t*)>
Value uint_arithmetic(Arguments a, Meter&) {
  std::uint64_t result = 0;
  if (Builtin(a[0].as_uint(), a[1].as_uint(), &result)) return overflow("unsigned integer");
  return Value::uinteger(result);
}

template <class T>
bool add_overflows(T a, T b, T* out) {
  return __builtin_add_overflow(a, b, out);
}
template <class T>
bool subtract_overflows(T a, T b, T* out) {
  return __builtin_sub_overflow(a, b, out);
}
template <class T>
bool multiply_overflows(T a, T b, T* out) {
  return __builtin_mul_overflow(a, b, out);
}

Value int_divide(Arguments a, Meter&) {
  if (a[1].as_int() == 0) return Value::error("division by zero");
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow("integer");
  return Value::integer(a[0].as_int() / a[1].as_int());
}

Value int_modulo(Arguments a, Meter&) {
  if (a[1].as_int() == 0) return Value::error("modulus by zero");
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow("integer");
  return Value::integer(a[0].as_int() % a[1].as_int());
}

Value uint_divide(Arguments a, Meter&) {
  if (a[1].as_uint() == 0) return Value::error("division by zero");
  return Value::uinteger(a[0].as_uint() / a[1].as_uint());
}

Value uint_modulo(Arguments a, Meter&) {
  if (a[1].as_uint() == 0) return Value::error("modulus by zero");
  return Value::uinteger(a[0].as_uint() % a[1].as_uint());
}

Value int_negate(Arguments a, Meter&) {
  if (a[0].as_int() == INT64_MIN) return overflow("integer");
  return Value::integer(-a[0].as_int());
}

Value double_add(Arguments a, Meter&) { return Value::floating(a[0].as_double() + a[1].as_double()); }
Value double_subtract(Arguments a, Meter&) { return Value::floating(a[0].as_double() - a[1].as_double()); }
Value double_multiply(Arguments a, Meter&) { return Value::floating(a[0].as_double() * a[1].as_double()); }
Value double_divide(Arguments a, Meter&) { return Value::floating(a[0].as_double() / a[1].as_double()); }
Value double_negate(Arguments a, Meter&) { return Value::floating(-a[0].as_double()); }

Value string_add(Arguments a, Meter& meter) {
  std::string text(a[0].as_text());
  text += a[1].as_text();
  meter.charge(text.size() / 10);
  return Value::string(std::move(text));
}

Value bytes_add(Arguments a, Meter& meter) {
  std::string text(a[0].as_text());
  text += a[1].as_text();
  meter.charge(text.size() / 10);
  return Value::bytes(std::move(text));
}

Value list_add(Arguments a, Meter& meter) {
  List items;
  meter.charge(a[0].size() + a[1].size());
  if (meter.exhausted()) return {};
  items.reserve(a[0].size() + a[1].size());
  for (const Value& list : a)
    list.each_item([&](const Value& item) {
      items.push_back(item);
      return true;
    });
  return Value::list(std::move(items));
}

Value logical_not(Arguments a, Meter&) { return Value::boolean(!a[0].as_bool()); }

template <bool Wanted>
Value equals(Arguments a, Meter& meter) {
  std::size_t work = 0;
  const bool same = equal(a[0], a[1], work);
  meter.charge(work);
  return Value::boolean(same == Wanted);
}

bool is_nan(const Value& value) { return value.is(Kind::floating) && std::isnan(value.as_double()); }

template <bool (*Accept)(int)>
Value ordered(Arguments a, Meter& meter) {
  if (a[0].is(Kind::string) && a[1].is(Kind::string))
    meter.charge(std::min(a[0].as_text().size(), a[1].as_text().size()) / 10);
  if (const auto order = compare(a[0], a[1])) return Value::boolean(Accept(*order));
  if (is_nan(a[0]) || is_nan(a[1])) return Value::boolean(false);
  return Value::error("values of type " + std::string(kind_name(a[0].kind())) + " and " +
                      std::string(kind_name(a[1].kind())) + " cannot be ordered");
}

bool less(int order) { return order < 0; }
bool less_or_equal(int order) { return order <= 0; }
bool greater(int order) { return order > 0; }
bool greater_or_equal(int order) { return order >= 0; }

Value in_list(Arguments a, Meter& meter) {
  bool found = false;
  std::size_t work = 0;
  a[1].each_item([&](const Value& item) { return !(found = equal(a[0], item, work)); });
  meter.charge(work);
  return Value::boolean(found);
}

Value in_map(Arguments a, Meter& meter) {
  meter.charge(a[1].size() / 16);
  return Value::boolean(a[1].find(a[0]).has_value());
}

Value container_size(Arguments a, Meter&) { return Value::integer(static_cast<std::int64_t>(a[0].size())); }

Value byte_count(Arguments a, Meter&) { return Value::integer(static_cast<std::int64_t>(a[0].as_text().size())); }

Value character_count(Arguments a, Meter& meter) {
  std::int64_t count = 0;
  for (const char c : a[0].as_text()) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  meter.charge(a[0].as_text().size() / 10);
  return Value::integer(count);
}

constexpr Kind B = Kind::boolean, I = Kind::integer, U = Kind::uinteger, D = Kind::floating, S = Kind::string,
               Y = Kind::bytes, L = Kind::list, M = Kind::map, X = Kind::dyn;
constexpr Style F = Style::function;

constexpr Overload kTable[] = {
    {"_+_", F, {I, I}, 2, I, int_arithmetic<add_overflows<std::int64_t>>},
    {"_+_", F, {U, U}, 2, U, uint_arithmetic<add_overflows<std::uint64_t>>},
    {"_+_", F, {D, D}, 2, D, double_add},
    {"_+_", F, {S, S}, 2, S, string_add},
    {"_+_", F, {Y, Y}, 2, Y, bytes_add},
    {"_+_", F, {L, L}, 2, L, list_add},
    {"_-_", F, {I, I}, 2, I, int_arithmetic<subtract_overflows<std::int64_t>>},
    {"_-_", F, {U, U}, 2, U, uint_arithmetic<subtract_overflows<std::uint64_t>>},
    {"_-_", F, {D, D}, 2, D, double_subtract},
    {"_*_", F, {I, I}, 2, I, int_arithmetic<multiply_overflows<std::int64_t>>},
    {"_*_", F, {U, U}, 2, U, uint_arithmetic<multiply_overflows<std::uint64_t>>},
    {"_*_", F, {D, D}, 2, D, double_multiply},
    {"_/_", F, {I, I}, 2, I, int_divide},
    {"_/_", F, {U, U}, 2, U, uint_divide},
    {"_/_", F, {D, D}, 2, D, double_divide},
    {"_%_", F, {I, I}, 2, I, int_modulo},
    {"_%_", F, {U, U}, 2, U, uint_modulo},
    {"-_", F, {I}, 1, I, int_negate},
    {"-_", F, {D}, 1, D, double_negate},
    {"!_", F, {B}, 1, B, logical_not},
    {"_==_", F, {X, X}, 2, B, equals<true>},
    {"_!=_", F, {X, X}, 2, B, equals<false>},
    {"_<_", F, {X, X}, 2, B, ordered<less>},
    {"_<=_", F, {X, X}, 2, B, ordered<less_or_equal>},
    {"_>_", F, {X, X}, 2, B, ordered<greater>},
    {"_>=_", F, {X, X}, 2, B, ordered<greater_or_equal>},
    {"@in", F, {X, L}, 2, B, in_list},
    {"@in", F, {X, M}, 2, B, in_map},
    {"size", F, {S}, 1, I, character_count},
    {"size", F, {Y}, 1, I, byte_count},
    {"size", F, {L}, 1, I, container_size},
    {"size", F, {M}, 1, I, container_size},
    {"size", Style::method, {S}, 1, I, character_count},
    {"size", Style::method, {Y}, 1, I, byte_count},
    {"size", Style::method, {L}, 1, I, container_size},
    {"size", Style::method, {M}, 1, I, container_size},
};

}  // namespace

std::span<const Overload> operator_table() { return kTable; }

}  // namespace sublet::patches::cel
