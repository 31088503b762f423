// Conversions between kinds: int(), uint(), double(), string(), bytes(), bool(), type(), dyn().
#include <charconv>
#include <cmath>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

using Arguments = std::span<const Value>;

Value same(Arguments a, Meter&) { return a[0]; }

Value range_error(std::string_view kind) {
  return Value::error("the value is out of the range of " + std::string(kind));
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Value not_a(std::string_view kind, std::string_view text) {
  return Value::error("'" + std::string(text) + "' is not a valid " + std::string(kind));
}

Value int_of_uint(Arguments a, Meter&) {
  if (a[0].as_uint() > INT64_MAX) return range_error("int");
  return Value::integer(static_cast<std::int64_t>(a[0].as_uint()));
}

Value int_of_double(Arguments a, Meter&) {
  const double value = a[0].as_double();
  if (!(value > -9223372036854775808.0 && value < 9223372036854775808.0)) return range_error("int");
  return Value::integer(static_cast<std::int64_t>(value));
}

Value int_of_string(Arguments a, Meter&) {
  const auto number = parse_number<std::int64_t>(a[0].as_text());
  return number ? Value::integer(*number) : not_a("int", a[0].as_text());
}

Value uint_of_int(Arguments a, Meter&) {
  if (a[0].as_int() < 0) return range_error("uint");
  return Value::uinteger(static_cast<std::uint64_t>(a[0].as_int()));
}

Value uint_of_double(Arguments a, Meter&) {
  const double value = a[0].as_double();
  if (!(value > -1.0 && value < 18446744073709551616.0)) return range_error("uint");
  return Value::uinteger(static_cast<std::uint64_t>(value));
}

Value uint_of_string(Arguments a, Meter&) {
  const auto number = parse_number<std::uint64_t>(a[0].as_text());
  return number ? Value::uinteger(*number) : not_a("uint", a[0].as_text());
}

Value double_of_int(Arguments a, Meter&) { return Value::floating(static_cast<double>(a[0].as_int())); }
Value double_of_uint(Arguments a, Meter&) { return Value::floating(static_cast<double>(a[0].as_uint())); }

Value double_of_string(Arguments a, Meter&) {
  const auto number = parse_number<double>(a[0].as_text());
  return number ? Value::floating(*number) : not_a("double", a[0].as_text());
}

Value string_of_bool(Arguments a, Meter&) { return Value::borrowed(a[0].as_bool() ? "true" : "false"); }
Value string_of_int(Arguments a, Meter&) { return Value::string(std::to_string(a[0].as_int())); }
Value string_of_uint(Arguments a, Meter&) { return Value::string(std::to_string(a[0].as_uint())); }
Value string_of_double(Arguments a, Meter&) { return Value::string(double_text(a[0].as_double())); }

Value string_of_bytes(Arguments a, Meter&) {
  if (!valid_utf8(a[0].as_text())) return Value::error("the bytes are not valid UTF-8");
  return Value::string(std::string(a[0].as_text()));
}

Value string_of_quantity(Arguments a, Meter&) {
  return Value::string(schema::quantity_from_nanos(a[0].as_quantity().nanos));
}

Value bytes_of_string(Arguments a, Meter&) { return Value::bytes(std::string(a[0].as_text())); }

Value bool_of_string(Arguments a, Meter&) {
  for (const std::string_view yes : {"true", "TRUE", "True", "t", "1"})
    if (a[0].as_text() == yes) return Value::boolean(true);
  for (const std::string_view no : {"false", "FALSE", "False", "f", "0"})
    if (a[0].as_text() == no) return Value::boolean(false);
  return not_a("bool", a[0].as_text());
}

Value type_of(Arguments a, Meter&) { return Value::type(a[0].kind()); }

constexpr Kind B = Kind::boolean, I = Kind::integer, U = Kind::uinteger, D = Kind::floating, S = Kind::string,
               Y = Kind::bytes, Q = Kind::quantity, T = Kind::type, X = Kind::dyn;
constexpr Style F = Style::function;

constexpr Overload kTable[] = {
    {"int", F, {I}, 1, I, same},
    {"int", F, {U}, 1, I, int_of_uint},
    {"int", F, {D}, 1, I, int_of_double},
    {"int", F, {S}, 1, I, int_of_string},
    {"uint", F, {U}, 1, U, same},
    {"uint", F, {I}, 1, U, uint_of_int},
    {"uint", F, {D}, 1, U, uint_of_double},
    {"uint", F, {S}, 1, U, uint_of_string},
    {"double", F, {D}, 1, D, same},
    {"double", F, {I}, 1, D, double_of_int},
    {"double", F, {U}, 1, D, double_of_uint},
    {"double", F, {S}, 1, D, double_of_string},
    {"string", F, {S}, 1, S, same},
    {"string", F, {B}, 1, S, string_of_bool},
    {"string", F, {I}, 1, S, string_of_int},
    {"string", F, {U}, 1, S, string_of_uint},
    {"string", F, {D}, 1, S, string_of_double},
    {"string", F, {Y}, 1, S, string_of_bytes},
    {"string", F, {Q}, 1, S, string_of_quantity},
    {"bytes", F, {Y}, 1, Y, same},
    {"bytes", F, {S}, 1, Y, bytes_of_string},
    {"bool", F, {B}, 1, B, same},
    {"bool", F, {S}, 1, B, bool_of_string},
    {"type", F, {X}, 1, T, type_of},
    {"dyn", F, {X}, 1, X, same},
};

}  // namespace

std::span<const Overload> conversion_table() { return kTable; }

}  // namespace sublet::patches::cel
