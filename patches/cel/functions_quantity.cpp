// Kubernetes quantities.
#include <algorithm>

#include "patches/cel/functions.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

using Wide = __int128;

constexpr Wide kNanosPerUnit = 1'000'000'000;

// Number and suffix, whatever the suffix is.
bool well_formed(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  text.remove_prefix(digits);
  text.remove_prefix(std::min(text.find_first_not_of("eEinumkKMGTP"), text.size()));
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return digits > 0 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Value quantity_of_string(Arguments a, Meter&) {
  const auto nanos = schema::quantity_nanos(a[0].as_text());
  if (!nanos)
    return Value::error(
        well_formed(a[0].as_text())
            ? "unable to parse quantity's suffix"
            : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  return Value::quantity({*nanos});
}

// Resource amounts of the API may be plain numbers, too.
Value quantity_of_int(Arguments a, Meter&) {
  return Value::quantity({static_cast<Wide>(a[0].as_int()) * kNanosPerUnit});
}

Value is_quantity(Arguments a, Meter&) { return Value::boolean(schema::quantity_nanos(a[0].as_text()).has_value()); }

bool is_whole_number(Wide nanos) {
  return nanos % kNanosPerUnit == 0 && nanos / kNanosPerUnit <= INT64_MAX && nanos / kNanosPerUnit >= INT64_MIN;
}

Value is_integer(Arguments a, Meter&) { return Value::boolean(is_whole_number(a[0].as_quantity().nanos)); }

Value as_integer(Arguments a, Meter&) {
  if (!is_whole_number(a[0].as_quantity().nanos)) return Value::error("cannot convert value to integer");
  return Value::integer(static_cast<std::int64_t>(a[0].as_quantity().nanos / kNanosPerUnit));
}

Value as_float(Arguments a, Meter&) {
  return Value::floating(static_cast<double>(a[0].as_quantity().nanos) / static_cast<double>(kNanosPerUnit));
}

Value quantity_sign(Arguments a, Meter&) {
  const Wide nanos = a[0].as_quantity().nanos;
  return Value::integer(nanos < 0 ? -1 : (nanos > 0 ? 1 : 0));
}

template <int Sign>
Value add_quantities(Arguments a, Meter&) {
  const Wide other =
      a[1].is(Kind::quantity) ? a[1].as_quantity().nanos : static_cast<Wide>(a[1].as_int()) * kNanosPerUnit;
  Wide total = 0;
  if (Sign > 0 ? __builtin_add_overflow(a[0].as_quantity().nanos, other, &total)
               : __builtin_sub_overflow(a[0].as_quantity().nanos, other, &total))
    return Value::error("quantity overflow");
  return Value::quantity({total});
}

Value quantity_compare_to(Arguments a, Meter&) { return Value::integer(*compare(a[0], a[1])); }
Value quantity_is_less(Arguments a, Meter&) { return Value::boolean(*compare(a[0], a[1]) < 0); }
Value quantity_is_greater(Arguments a, Meter&) { return Value::boolean(*compare(a[0], a[1]) > 0); }

constexpr Set Q = Set::quantity;

constexpr Overload kQuantityOverloads[] = {
    {"quantity", "string_to_quantity", "(string) -> quantity", quantity_of_string, Q},
    {"quantity", "int_to_quantity", "(int) -> quantity", quantity_of_int, Set::quantity_more},
    {"isQuantity", "is_quantity_string", "(string) -> bool", is_quantity, Q},
    {"isInteger", "quantity_is_integer", "quantity.() -> bool", is_integer, Q},
    {"asInteger", "quantity_get_int", "quantity.() -> int", as_integer, Q},
    {"asApproximateFloat", "quantity_get_float", "quantity.() -> double", as_float, Q},
    {"sign", "quantity_sign", "(quantity) -> int", quantity_sign, Q},
    {"sign", "quantity_sign_method", "quantity.() -> int", quantity_sign, Set::quantity_more},
    {"add", "quantity_add", "quantity.(quantity) -> quantity", add_quantities<1>, Q},
    {"add", "quantity_add_int", "quantity.(int) -> quantity", add_quantities<1>, Q},
    {"sub", "quantity_sub", "quantity.(quantity) -> quantity", add_quantities<-1>, Q},
    {"sub", "quantity_sub_int", "quantity.(int) -> quantity", add_quantities<-1>, Q},
    {"compareTo", "quantity_compare_to", "quantity.(quantity) -> int", quantity_compare_to, Q},
    {"isLessThan", "quantity_is_less_than", "quantity.(quantity) -> bool", quantity_is_less, Q},
    {"isGreaterThan", "quantity_is_greater_than", "quantity.(quantity) -> bool", quantity_is_greater, Q},
};

}  // namespace

std::span<const Overload> quantity_table() { return kQuantityOverloads; }

}  // namespace sublet::patches::cel
