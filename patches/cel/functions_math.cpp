// The math and the encoders extension.
#include <cmath>

#include "patches/cel/functions.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

Value alone(Arguments a, Meter&) { return a[0]; }

template <int Direction>
Value pick(const Value& a, const Value& b) {
  if (!a.is_numeric() || !b.is_numeric()) return plain_no_such_overload();
  const auto order = compare(a, b);
  return order && *order == Direction ? b : a;
}

Value most(Arguments a, Meter&) { return pick<-1>(a[0], a[1]); }
Value least(Arguments a, Meter&) { return pick<1>(a[0], a[1]); }

template <int Direction>
Value pick_from_list(Arguments a, Meter& meter) {
  if (a[0].size() == 0)
    return Value::error(Direction < 0 ? "math.@max(list) argument must not be empty"
                                      : "math.@min(list) argument must not be empty");
  Value best = a[0].item(0);
  a[0].each_item([&](const Value& item) {
    meter.work(1);
    best = pick<Direction>(best, item);
    return !best.is_error();
  });
  return best;
}
Value most_of_list(Arguments a, Meter& meter) { return pick_from_list<-1>(a, meter); }
Value least_of_list(Arguments a, Meter& meter) { return pick_from_list<1>(a, meter); }

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

double as_number(const Value& value) {
  if (value.is(Kind::integer)) return static_cast<double>(value.as_int());
  return value.is(Kind::uinteger) ? static_cast<double>(value.as_uint()) : value.as_double();
}
Value square_root(Arguments a, Meter&) { return Value::floating(std::sqrt(as_number(a[0]))); }

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
  if (Operation == Bits::shift_left || Operation == Bits::shift_right) {
    const char* name = Operation == Bits::shift_left ? "Left" : "Right";
    if (a[1].as_int() < 0)
      return Value::error(std::string("math.bitShift") + name + "() negative offset: " + std::to_string(a[1].as_int()));
    if (right > 63) return of_bits(0, a[0].kind());
  }
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

Value math_is_nan(Arguments a, Meter&) { return Value::boolean(std::isnan(a[0].as_double())); }
Value is_infinite(Arguments a, Meter&) { return Value::boolean(std::isinf(a[0].as_double())); }
Value is_finite(Arguments a, Meter&) { return Value::boolean(std::isfinite(a[0].as_double())); }

Value base64_encode(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size());
  return Value::string(schema::base64_encode(a[0].as_text()));
}

Value base64_decode(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size());
  std::string text(a[0].as_text());
  while (text.size() % 4 != 0) text += '=';  // padding may be left out
  auto bytes = schema::base64_decode(text);
  return bytes ? Value::bytes(std::move(*bytes)) : Value::error("illegal base64 data");
}

constexpr Overload kMathOverloads[] = {
    {"math.@max", "math_@max_int", "(int) -> int", alone, Set::math},
    {"math.@max", "math_@max_double", "(double) -> double", alone, Set::math},
    {"math.@max", "math_@max_uint", "(uint) -> uint", alone, Set::math},
    {"math.@max", "math_@max_int_int", "(int, int) -> int", most, Set::math},
    {"math.@max", "math_@max_double_double", "(double, double) -> double", most, Set::math},
    {"math.@max", "math_@max_uint_uint", "(uint, uint) -> uint", most, Set::math},
    {"math.@max", "math_@max_int_double", "(int, double) -> dyn", most, Set::math},
    {"math.@max", "math_@max_int_uint", "(int, uint) -> dyn", most, Set::math},
    {"math.@max", "math_@max_double_int", "(double, int) -> dyn", most, Set::math},
    {"math.@max", "math_@max_double_uint", "(double, uint) -> dyn", most, Set::math},
    {"math.@max", "math_@max_uint_int", "(uint, int) -> dyn", most, Set::math},
    {"math.@max", "math_@max_uint_double", "(uint, double) -> dyn", most, Set::math},
    {"math.@max", "math_@max_list_int", "(list(int)) -> int", most_of_list, Set::math},
    {"math.@max", "math_@max_list_double", "(list(double)) -> double", most_of_list, Set::math},
    {"math.@max", "math_@max_list_uint", "(list(uint)) -> uint", most_of_list, Set::math},
    {"math.@max", "math_@max_list_dyn", "(list(dyn)) -> dyn", most_of_list, Set::math},
    {"math.@min", "math_@min_int", "(int) -> int", alone, Set::math},
    {"math.@min", "math_@min_double", "(double) -> double", alone, Set::math},
    {"math.@min", "math_@min_uint", "(uint) -> uint", alone, Set::math},
    {"math.@min", "math_@min_int_int", "(int, int) -> int", least, Set::math},
    {"math.@min", "math_@min_double_double", "(double, double) -> double", least, Set::math},
    {"math.@min", "math_@min_uint_uint", "(uint, uint) -> uint", least, Set::math},
    {"math.@min", "math_@min_int_double", "(int, double) -> dyn", least, Set::math},
    {"math.@min", "math_@min_int_uint", "(int, uint) -> dyn", least, Set::math},
    {"math.@min", "math_@min_double_int", "(double, int) -> dyn", least, Set::math},
    {"math.@min", "math_@min_double_uint", "(double, uint) -> dyn", least, Set::math},
    {"math.@min", "math_@min_uint_int", "(uint, int) -> dyn", least, Set::math},
    {"math.@min", "math_@min_uint_double", "(uint, double) -> dyn", least, Set::math},
    {"math.@min", "math_@min_list_int", "(list(int)) -> int", least_of_list, Set::math},
    {"math.@min", "math_@min_list_double", "(list(double)) -> double", least_of_list, Set::math},
    {"math.@min", "math_@min_list_uint", "(list(uint)) -> uint", least_of_list, Set::math},
    {"math.@min", "math_@min_list_dyn", "(list(dyn)) -> dyn", least_of_list, Set::math},
    {"math.ceil", "math_ceil_double", "(double) -> double", rounded<std::ceil>, Set::math},
    {"math.floor", "math_floor_double", "(double) -> double", rounded<std::floor>, Set::math},
    {"math.round", "math_round_double", "(double) -> double", rounded<std::round>, Set::math},
    {"math.trunc", "math_trunc_double", "(double) -> double", rounded<std::trunc>, Set::math},
    {"math.abs", "math_abs_double", "(double) -> double", rounded<std::fabs>, Set::math},
    {"math.abs", "math_abs_int", "(int) -> int", int_absolute, Set::math},
    {"math.abs", "math_abs_uint", "(uint) -> uint", alone, Set::math},
    {"math.sign", "math_sign_double", "(double) -> double", double_sign, Set::math},
    {"math.sign", "math_sign_int", "(int) -> int", int_sign, Set::math},
    {"math.sign", "math_sign_uint", "(uint) -> uint", uint_sign, Set::math},
    {"math.sqrt", "math_sqrt_double", "(double) -> double", square_root, Set::math},
    {"math.sqrt", "math_sqrt_int", "(int) -> double", square_root, Set::math},
    {"math.sqrt", "math_sqrt_uint", "(uint) -> double", square_root, Set::math},
    {"math.bitAnd", "math_bitAnd_int_int", "(int, int) -> int", bitwise<Bits::with>, Set::math},
    {"math.bitAnd", "math_bitAnd_uint_uint", "(uint, uint) -> uint", bitwise<Bits::with>, Set::math},
    {"math.bitOr", "math_bitOr_int_int", "(int, int) -> int", bitwise<Bits::either>, Set::math},
    {"math.bitOr", "math_bitOr_uint_uint", "(uint, uint) -> uint", bitwise<Bits::either>, Set::math},
    {"math.bitXor", "math_bitXor_int_int", "(int, int) -> int", bitwise<Bits::differ>, Set::math},
    {"math.bitXor", "math_bitXor_uint_uint", "(uint, uint) -> uint", bitwise<Bits::differ>, Set::math},
    {"math.bitNot", "math_bitNot_int_int", "(int) -> int", bitwise_not, Set::math},
    {"math.bitNot", "math_bitNot_uint_uint", "(uint) -> uint", bitwise_not, Set::math},
    {"math.bitShiftLeft", "math_bitShiftLeft_int_int", "(int, int) -> int", bitwise<Bits::shift_left>, Set::math},
    {"math.bitShiftLeft", "math_bitShiftLeft_uint_int", "(uint, int) -> uint", bitwise<Bits::shift_left>, Set::math},
    {"math.bitShiftRight", "math_bitShiftRight_int_int", "(int, int) -> int", bitwise<Bits::shift_right>, Set::math},
    {"math.bitShiftRight", "math_bitShiftRight_uint_int", "(uint, int) -> uint", bitwise<Bits::shift_right>, Set::math},
    {"math.isNaN", "math_isNaN_double", "(double) -> bool", math_is_nan, Set::math},
    {"math.isInf", "math_isInf_double", "(double) -> bool", is_infinite, Set::math},
    {"math.isFinite", "math_isFinite_double", "(double) -> bool", is_finite, Set::math},
    {"base64.encode", "base64_encode_bytes", "(bytes) -> string", base64_encode, Set::encoders},
    {"base64.decode", "base64_decode_string", "(string) -> bytes", base64_decode, Set::encoders},
};

}  // namespace

std::span<const Overload> math_table() { return kMathOverloads; }

}  // namespace sublet::patches::cel
