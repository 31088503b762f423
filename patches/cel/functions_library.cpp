// Smaller libraries: Kubernetes quantities, optional values, math, sets, base64.
#include <algorithm>
#include <cmath>

#include "patches/cel/functions.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

using Arguments = std::span<const Value>;
using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;

// --- quantity --------------------------------------------------------------------------------------------------------

Value quantity(Arguments a, Meter&) {
  const auto nanos = schema::quantity_nanos(a[0].as_text());
  if (!nanos) return Value::error("'" + std::string(a[0].as_text()) + "' is not a valid quantity");
  return Value::quantity({*nanos});
}

// Resource amounts of the API may be plain numbers, too.
Value quantity_of_int(Arguments a, Meter&) { return Value::quantity({static_cast<Wide>(a[0].as_int()) * kNano}); }

Value is_quantity(Arguments a, Meter&) { return Value::boolean(schema::quantity_nanos(a[0].as_text()).has_value()); }

bool whole(Wide nanos) { return nanos % kNano == 0 && nanos / kNano <= INT64_MAX && nanos / kNano >= INT64_MIN; }

Value is_integer(Arguments a, Meter&) { return Value::boolean(whole(a[0].as_quantity().nanos)); }

Value as_integer(Arguments a, Meter&) {
  if (!whole(a[0].as_quantity().nanos)) return Value::error("the quantity cannot be represented as an int");
  return Value::integer(static_cast<std::int64_t>(a[0].as_quantity().nanos / kNano));
}

Value as_float(Arguments a, Meter&) {
  return Value::floating(static_cast<double>(a[0].as_quantity().nanos) / static_cast<double>(kNano));
}

Value sign(Arguments a, Meter&) {
  const Wide nanos = a[0].as_quantity().nanos;
  return Value::integer(nanos < 0 ? -1 : (nanos > 0 ? 1 : 0));
}

template <int Sign>
Value add_quantities(Arguments a, Meter&) {
  const Wide other = a[1].is(Kind::quantity) ? a[1].as_quantity().nanos : static_cast<Wide>(a[1].as_int()) * kNano;
  Wide total = 0;
  if (Sign > 0 ? __builtin_add_overflow(a[0].as_quantity().nanos, other, &total)
               : __builtin_sub_overflow(a[0].as_quantity().nanos, other, &total))
    return Value::error("quantity overflow");
  return Value::quantity({total});
}

Value compare_to(Arguments a, Meter&) { return Value::integer(*compare(a[0], a[1])); }
Value is_less(Arguments a, Meter&) { return Value::boolean(*compare(a[0], a[1]) < 0); }
Value is_greater(Arguments a, Meter&) { return Value::boolean(*compare(a[0], a[1]) > 0); }

// --- optional --------------------------------------------------------------------------------------------------------

bool is_zero(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return !value.as_bool();
    case Kind::integer:
      return value.as_int() == 0;
    case Kind::uinteger:
      return value.as_uint() == 0;
    case Kind::floating:
      return value.as_double() == 0;
    case Kind::string:
    case Kind::bytes:
      return value.as_text().empty();
    case Kind::list:
    case Kind::map:
      return value.size() == 0;
    default:
      return false;
  }
}

Value optional_of(Arguments a, Meter&) { return Value::optional_of(a[0]); }
Value optional_of_non_zero(Arguments a, Meter&) {
  return is_zero(a[0]) ? Value::optional_none() : Value::optional_of(a[0]);
}
Value optional_none(Arguments, Meter&) { return Value::optional_none(); }
Value has_value(Arguments a, Meter&) { return Value::boolean(a[0].as_optional().has_value()); }
Value optional_value(Arguments a, Meter&) {
  return a[0].as_optional() ? *a[0].as_optional() : Value::error("optional.none() has no value");
}
Value or_value(Arguments a, Meter&) { return a[0].as_optional() ? *a[0].as_optional() : a[1]; }
Value or_optional(Arguments a, Meter&) { return a[0].as_optional() ? a[0] : a[1]; }

// --- math ------------------------------------------------------------------------------------------------------------

template <int Direction>
Value pick(const Value& a, const Value& b) {
  const auto order = compare(a, b);
  if (!order || !a.is_numeric()) return Value::error("math.least() and math.greatest() take numbers");
  return *order == Direction ? b : a;
}

template <int Direction>
Value pick_from_list(Arguments a, Meter& meter) {
  if (a[0].size() == 0) return Value::error("math.least() and math.greatest() of an empty list");
  Value best = a[0].item(0);
  a[0].each_item([&](const Value& item) {
    meter.charge(1);
    best = pick<Direction>(best, item);
    return !best.is_error();
  });
  return best;
}

template <double (*Round)(double)>
Value rounded(Arguments a, Meter&) {
  return Value::floating(Round(a[0].as_double()));
}

Value int_absolute(Arguments a, Meter&) {
  if (a[0].as_int() == INT64_MIN) return Value::error("integer overflow");
  return Value::integer(a[0].as_int() < 0 ? -a[0].as_int() : a[0].as_int());
}

template <class T>
Value number_sign(T value, Value (*make)(T)) {
  return make(static_cast<T>(value > T{} ? 1 : (value < T{} ? -1 : 0)));
}
Value int_sign(Arguments a, Meter&) { return number_sign(a[0].as_int(), Value::integer); }
Value uint_sign(Arguments a, Meter&) { return Value::uinteger(a[0].as_uint() == 0 ? 0 : 1); }
Value double_sign(Arguments a, Meter&) {
  return std::isnan(a[0].as_double()) ? a[0] : number_sign(a[0].as_double(), Value::floating);
}

std::uint64_t bits_of(const Value& value) {
  return value.is(Kind::uinteger) ? value.as_uint() : static_cast<std::uint64_t>(value.as_int());
}
Value of_bits(std::uint64_t bits, Kind kind) {
  return kind == Kind::uinteger ? Value::uinteger(bits) : Value::integer(static_cast<std::int64_t>(bits));
}

enum class Bits : std::uint8_t { with, either, differ, shift_left, shift_right };

template <Bits Operation>
Value bitwise(Arguments a, Meter&) {
  const std::uint64_t left = bits_of(a[0]);
  const std::uint64_t right = bits_of(a[1]);
  const bool shifts = Operation == Bits::shift_left || Operation == Bits::shift_right;
  if (shifts && a[1].as_int() < 0) return Value::error("a shift by a negative number of bits");
  if (shifts && right > 63) return of_bits(0, a[0].kind());
  switch (Operation) {
    case Bits::with:
      return of_bits(left & right, a[0].kind());
    case Bits::either:
      return of_bits(left | right, a[0].kind());
    case Bits::differ:
      return of_bits(left ^ right, a[0].kind());
    case Bits::shift_left:
      return of_bits(left << right, a[0].kind());
    case Bits::shift_right:  // without sign, as the specification has it
      return of_bits(left >> right, a[0].kind());
  }
  return {};
}
Value bitwise_not(Arguments a, Meter&) { return of_bits(~bits_of(a[0]), a[0].kind()); }

Value is_nan(Arguments a, Meter&) { return Value::boolean(std::isnan(a[0].as_double())); }
Value is_infinite(Arguments a, Meter&) { return Value::boolean(std::isinf(a[0].as_double())); }
Value is_finite(Arguments a, Meter&) { return Value::boolean(std::isfinite(a[0].as_double())); }

// --- sets ------------------------------------------------------------------------------------------------------------

bool holds(const Value& list, const Value& wanted, Meter& meter) {
  bool found = false;
  std::size_t work = 0;
  list.each_item([&](const Value& item) { return !(found = equal(item, wanted, work)); });
  meter.charge(work);
  return found;
}

bool holds_all(const Value& list, const Value& wanted, Meter& meter) {
  bool all = true;
  wanted.each_item([&](const Value& item) { return !meter.exhausted() && (all = holds(list, item, meter)); });
  return all;
}

Value set_contains(Arguments a, Meter& meter) { return Value::boolean(holds_all(a[0], a[1], meter)); }
Value set_equivalent(Arguments a, Meter& meter) {
  return Value::boolean(holds_all(a[0], a[1], meter) && holds_all(a[1], a[0], meter));
}
Value set_intersects(Arguments a, Meter& meter) {
  bool any = false;
  a[1].each_item([&](const Value& item) { return !meter.exhausted() && !(any = holds(a[0], item, meter)); });
  return Value::boolean(any);
}

// --- base64 ----------------------------------------------------------------------------------------------------------

Value base64_encode(Arguments a, Meter& meter) {
  meter.charge(a[0].as_text().size() / 10);
  return Value::string(schema::base64_encode(a[0].as_text()));
}

Value base64_decode(Arguments a, Meter& meter) {
  meter.charge(a[0].as_text().size() / 10);
  std::string text(a[0].as_text());
  while (text.size() % 4 != 0) text += '=';  // padding may be left out
  auto bytes = schema::base64_decode(text);
  return bytes ? Value::bytes(std::move(*bytes)) : Value::error("invalid base64");
}

constexpr Kind B = Kind::boolean, I = Kind::integer, U = Kind::uinteger, D = Kind::floating, S = Kind::string,
               Y = Kind::bytes, L = Kind::list, Q = Kind::quantity, O = Kind::optional, X = Kind::dyn;
constexpr Style F = Style::function, M = Style::method;

constexpr Overload kTable[] = {
    {"quantity", F, {S}, 1, Q, quantity},
    {"quantity", F, {I}, 1, Q, quantity_of_int},
    {"isQuantity", F, {S}, 1, B, is_quantity},
    {"isInteger", M, {Q}, 1, B, is_integer},
    {"asInteger", M, {Q}, 1, I, as_integer},
    {"asApproximateFloat", M, {Q}, 1, D, as_float},
    {"sign", M, {Q}, 1, I, sign},
    {"add", M, {Q, Q}, 2, Q, add_quantities<1>},
    {"add", M, {Q, I}, 2, Q, add_quantities<1>},
    {"sub", M, {Q, Q}, 2, Q, add_quantities<-1>},
    {"sub", M, {Q, I}, 2, Q, add_quantities<-1>},
    {"compareTo", M, {Q, Q}, 2, I, compare_to},
    {"isLessThan", M, {Q, Q}, 2, B, is_less},
    {"isGreaterThan", M, {Q, Q}, 2, B, is_greater},
    {"optional.of", F, {X}, 1, O, optional_of},
    {"optional.ofNonZeroValue", F, {X}, 1, O, optional_of_non_zero},
    {"optional.none", F, {}, 0, O, optional_none},
    {"hasValue", M, {O}, 1, B, has_value},
    {"value", M, {O}, 1, X, optional_value},
    {"orValue", M, {O, X}, 2, X, or_value},
    {"or", M, {O, O}, 2, O, or_optional},
    {"math.greatest", F, {L}, 1, X, pick_from_list<-1>},
    {"math.least", F, {L}, 1, X, pick_from_list<1>},
    {"math.ceil", F, {D}, 1, D, rounded<std::ceil>},
    {"math.floor", F, {D}, 1, D, rounded<std::floor>},
    {"math.round", F, {D}, 1, D, rounded<std::round>},
    {"math.trunc", F, {D}, 1, D, rounded<std::trunc>},
    {"math.abs", F, {D}, 1, D, rounded<std::fabs>},
    {"math.abs", F, {I}, 1, I, int_absolute},
    {"math.abs", F, {U}, 1, U, [](Arguments a, Meter&) { return a[0]; }},
    {"math.sign", F, {I}, 1, I, int_sign},
    {"math.sign", F, {U}, 1, U, uint_sign},
    {"math.sign", F, {D}, 1, D, double_sign},
    {"math.bitAnd", F, {I, I}, 2, I, bitwise<Bits::with>},
    {"math.bitAnd", F, {U, U}, 2, U, bitwise<Bits::with>},
    {"math.bitOr", F, {I, I}, 2, I, bitwise<Bits::either>},
    {"math.bitOr", F, {U, U}, 2, U, bitwise<Bits::either>},
    {"math.bitXor", F, {I, I}, 2, I, bitwise<Bits::differ>},
    {"math.bitXor", F, {U, U}, 2, U, bitwise<Bits::differ>},
    {"math.bitNot", F, {I}, 1, I, bitwise_not},
    {"math.bitNot", F, {U}, 1, U, bitwise_not},
    {"math.bitShiftLeft", F, {I, I}, 2, I, bitwise<Bits::shift_left>},
    {"math.bitShiftLeft", F, {U, I}, 2, U, bitwise<Bits::shift_left>},
    {"math.bitShiftRight", F, {I, I}, 2, I, bitwise<Bits::shift_right>},
    {"math.bitShiftRight", F, {U, I}, 2, U, bitwise<Bits::shift_right>},
    {"math.isNaN", F, {D}, 1, B, is_nan},
    {"math.isInf", F, {D}, 1, B, is_infinite},
    {"math.isFinite", F, {D}, 1, B, is_finite},
    {"sets.contains", F, {L, L}, 2, B, set_contains},
    {"sets.equivalent", F, {L, L}, 2, B, set_equivalent},
    {"sets.intersects", F, {L, L}, 2, B, set_intersects},
    {"base64.encode", F, {Y}, 1, S, base64_encode},
    {"base64.decode", F, {S}, 1, Y, base64_decode},
};

}  // namespace

std::span<const Overload> library_table() { return kTable; }

}  // namespace sublet::patches::cel
