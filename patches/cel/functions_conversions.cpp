// Conversions between kinds: int(), uint(), double(), string(), bytes(), bool(), timestamp(), duration(), type(),
// dyn().
#include <charconv>
#include <cmath>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"
#include "patches/cel/time.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

Value unchanged(Arguments a, Meter&) { return a[0]; }

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return std::nullopt;
  Number number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Value cannot(const Value& from, Kind to) {
  return Value::error("type conversion error from '" + std::string(kind_name(from.kind())) + "' to '" +
                      std::string(kind_name(to)) + "'");
}

Value int_of_uint(Arguments a, Meter&) {
  if (a[0].as_uint() > INT64_MAX) return Value::error("integer overflow");
  return Value::integer(static_cast<std::int64_t>(a[0].as_uint()));
}

Value int_of_double(Arguments a, Meter&) {
  const double value = a[0].as_double();
  if (!(value > -9223372036854775808.0 && value < 9223372036854775808.0)) return Value::error("integer overflow");
  return Value::integer(static_cast<std::int64_t>(value));
}

Value int_of_string(Arguments a, Meter&) {
  const auto number = parse_number<std::int64_t>(a[0].as_text());
  return number ? Value::integer(*number) : cannot(a[0], Kind::integer);
}

Value int_of_timestamp(Arguments a, Meter&) { return Value::integer(a[0].as_timestamp().seconds); }
Value int_of_duration(Arguments a, Meter&) { return Value::integer(a[0].as_duration().nanos); }

Value uint_of_int(Arguments a, Meter&) {
  if (a[0].as_int() < 0) return Value::error("unsigned integer overflow");
  return Value::uinteger(static_cast<std::uint64_t>(a[0].as_int()));
}

Value uint_of_double(Arguments a, Meter&) {
  const double value = a[0].as_double();
  if (!(value >= 0 && value < 18446744073709551616.0)) return Value::error("unsigned integer overflow");
  return Value::uinteger(static_cast<std::uint64_t>(value));
}

Value uint_of_string(Arguments a, Meter&) {
  const auto number = a[0].as_text().starts_with('+') ? std::nullopt : parse_number<std::uint64_t>(a[0].as_text());
  return number ? Value::uinteger(*number) : cannot(a[0], Kind::uinteger);
}

Value double_of_int(Arguments a, Meter&) { return Value::floating(static_cast<double>(a[0].as_int())); }
Value double_of_uint(Arguments a, Meter&) { return Value::floating(static_cast<double>(a[0].as_uint())); }

Value double_of_string(Arguments a, Meter&) {
  const auto number = parse_number<double>(a[0].as_text());
  return number ? Value::floating(*number) : cannot(a[0], Kind::floating);
}

Value string_of_bool(Arguments a, Meter&) { return Value::borrowed(a[0].as_bool() ? "true" : "false"); }
Value string_of_int(Arguments a, Meter&) { return Value::string(std::to_string(a[0].as_int())); }
Value string_of_uint(Arguments a, Meter&) { return Value::string(std::to_string(a[0].as_uint())); }

Value string_of_double(Arguments a, Meter& meter) {
  const double value = a[0].as_double();
  return Value::string(meter.library() == Library::templates ? double_text(value) : go_double_text(value));
}

Value string_of_bytes(Arguments a, Meter&) {
  if (!valid_utf8(a[0].as_text())) return Value::error("invalid UTF-8 in bytes, cannot convert to string");
  return Value::string(std::string(a[0].as_text()));
}

Value string_of_timestamp(Arguments a, Meter&) { return Value::string(timestamp_text(a[0].as_timestamp())); }
Value string_of_duration(Arguments a, Meter&) { return Value::string(duration_text(a[0].as_duration())); }

Value string_of_quantity(Arguments a, Meter&) {
  return Value::string(schema::quantity_from_nanos(a[0].as_quantity().nanos));
}

Value bytes_of_string(Arguments a, Meter&) { return Value::bytes(std::string(a[0].as_text())); }

Value bool_of_string(Arguments a, Meter&) {
  for (const std::string_view yes : {"true", "TRUE", "True", "t", "T", "1"})
    if (a[0].as_text() == yes) return Value::boolean(true);
  for (const std::string_view no : {"false", "FALSE", "False", "f", "F", "0"})
    if (a[0].as_text() == no) return Value::boolean(false);
  return cannot(a[0], Kind::boolean);
}

Value timestamp_of_int(Arguments a, Meter&) { return timestamp_in_range({a[0].as_int(), 0, 0}); }

Value timestamp_of_string(Arguments a, Meter&) {
  const auto moment = parse_timestamp(a[0].as_text());
  return moment ? timestamp_in_range(*moment) : cannot(a[0], Kind::timestamp);
}

Value duration_of_int(Arguments a, Meter&) { return cannot(a[0], Kind::duration); }

Value duration_of_string(Arguments a, Meter&) {
  const auto span = parse_duration(a[0].as_text());
  return span ? Value::duration(*span) : cannot(a[0], Kind::duration);
}

Value type_of_value(Arguments a, Meter&) { return Value::type(a[0].kind()); }

constexpr Overload kConversionOverloads[] = {
    {"int", "int64_to_int64", "(int) -> int", unchanged},
    {"int", "double_to_int64", "(double) -> int", int_of_double},
    {"int", "duration_to_int64", "(duration) -> int", int_of_duration},
    {"int", "string_to_int64", "(string) -> int", int_of_string},
    {"int", "timestamp_to_int64", "(timestamp) -> int", int_of_timestamp},
    {"int", "uint64_to_int64", "(uint) -> int", int_of_uint},
    {"uint", "uint64_to_uint64", "(uint) -> uint", unchanged},
    {"uint", "double_to_uint64", "(double) -> uint", uint_of_double},
    {"uint", "int64_to_uint64", "(int) -> uint", uint_of_int},
    {"uint", "string_to_uint64", "(string) -> uint", uint_of_string},
    {"double", "double_to_double", "(double) -> double", unchanged},
    {"double", "int64_to_double", "(int) -> double", double_of_int},
    {"double", "string_to_double", "(string) -> double", double_of_string},
    {"double", "uint64_to_double", "(uint) -> double", double_of_uint},
    {"string", "string_to_string", "(string) -> string", unchanged},
    {"string", "bool_to_string", "(bool) -> string", string_of_bool},
    {"string", "bytes_to_string", "(bytes) -> string", string_of_bytes},
    {"string", "double_to_string", "(double) -> string", string_of_double},
    {"string", "duration_to_string", "(duration) -> string", string_of_duration},
    {"string", "int64_to_string", "(int) -> string", string_of_int},
    {"string", "timestamp_to_string", "(timestamp) -> string", string_of_timestamp},
    {"string", "uint64_to_string", "(uint) -> string", string_of_uint},
    {"string", "quantity_to_string", "(quantity) -> string", string_of_quantity, Set::quantity_more},
    {"bytes", "bytes_to_bytes", "(bytes) -> bytes", unchanged},
    {"bytes", "string_to_bytes", "(string) -> bytes", bytes_of_string},
    {"bool", "bool_to_bool", "(bool) -> bool", unchanged},
    {"bool", "string_to_bool", "(string) -> bool", bool_of_string},
    {"timestamp", "timestamp_to_timestamp", "(timestamp) -> timestamp", unchanged},
    {"timestamp", "int64_to_timestamp", "(int) -> timestamp", timestamp_of_int},
    {"timestamp", "string_to_timestamp", "(string) -> timestamp", timestamp_of_string},
    {"duration", "duration_to_duration", "(duration) -> duration", unchanged},
    {"duration", "int64_to_duration", "(int) -> duration", duration_of_int},
    {"duration", "string_to_duration", "(string) -> duration", duration_of_string},
    {"type", "type", "(A) -> type(A)", type_of_value},
    {"dyn", "to_dyn", "(A) -> dyn", unchanged},
};

}  // namespace

std::span<const Overload> conversion_table() { return kConversionOverloads; }

}  // namespace sublet::patches::cel
