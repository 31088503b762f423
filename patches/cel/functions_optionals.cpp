// Optional values. or() and orValue() are carried out by the evaluator, which looks at the second only when it must.
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

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
    case Kind::duration:
      return value.as_duration().nanos == 0;
    case Kind::timestamp:  // Go's zero time
      return value.as_timestamp().seconds == -62'135'596'800 && value.as_timestamp().nanos == 0;
    default:
      return false;
  }
}

Value optional_of(Arguments a, Meter&) { return Value::optional_of(a[0]); }
Value of_non_zero(Arguments a, Meter&) { return is_zero(a[0]) ? Value::optional_none() : Value::optional_of(a[0]); }
Value optional_none(Arguments, Meter&) { return Value::optional_none(); }
Value has_value(Arguments a, Meter&) { return Value::boolean(a[0].as_optional().has_value()); }
Value value_of(Arguments a, Meter&) {
  return a[0].as_optional() ? *a[0].as_optional() : Value::error("optional.none() dereference");
}

Value first(Arguments a, Meter&) {
  return a[0].size() == 0 ? Value::optional_none() : Value::optional_of(a[0].item(0));
}
Value last(Arguments a, Meter& meter) {
  meter.work(a[0].size());
  return a[0].size() == 0 ? Value::optional_none() : Value::optional_of(a[0].item(a[0].size() - 1));
}

Value unwrap(Arguments a, Meter& meter) {
  List items;
  Value failure;
  a[0].each_item([&](const Value& item) {
    meter.work(1);
    if (!item.is(Kind::optional)) failure = Value::error("value " + go_text(item) + " is not optional");
    if (!failure.is_error() && item.as_optional()) items.push_back(*item.as_optional());
    return !failure.is_error();
  });
  return failure.is_error() ? failure : Value::list(std::move(items));
}

constexpr Set O = Set::optional;

constexpr Overload kOptionalOverloads[] = {
    {"optional.of", "optional_of", "(V) -> optional(V)", optional_of, O},
    {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(V) -> optional(V)", of_non_zero, O},
    {"optional.none", "optional_none", "() -> optional(V)", optional_none, O},
    {"optional.unwrap", "optional_unwrap", "(list(optional(V))) -> list(V)", unwrap, O},
    {"unwrapOpt", "optional_unwrapOpt", "list(optional(V)).() -> list(V)", unwrap, O},
    {"hasValue", "optional_hasValue", "optional(V).() -> bool", has_value, O},
    {"value", "optional_value", "optional(V).() -> V", value_of, O},
    {"or", "optional_or_optional", "optional(V).(optional(V)) -> optional(V)", nullptr, O},
    {"orValue", "optional_orValue_value", "optional(V).(V) -> V", nullptr, O},
    {"first", "list_first", "list(V).() -> optional(V)", first, O},
    {"last", "list_last", "list(V).() -> optional(V)", last, O},
};

}  // namespace

std::span<const Overload> optional_table() { return kOptionalOverloads; }

}  // namespace sublet::patches::cel
