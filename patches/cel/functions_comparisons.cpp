// Ordering: numbers across kinds, texts, bytes, times.
#include <cmath>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

bool is_nan_value(const Value& value) { return value.is(Kind::floating) && std::isnan(value.as_double()); }

template <bool (*Accept)(int)>
Value ordered(Arguments a, Meter& meter) {
  if (const auto order = compare(a[0], a[1])) return Value::boolean(Accept(*order));
  if (meter.library() == Library::templates && (is_nan_value(a[0]) || is_nan_value(a[1]))) return Value::boolean(false);
  return is_nan_value(a[0]) || is_nan_value(a[1]) ? Value::error("NaN values cannot be ordered")
                                                  : plain_no_such_overload();
}

bool less(int order) { return order < 0; }
bool less_or_equal(int order) { return order <= 0; }
bool greater(int order) { return order > 0; }
bool greater_or_equal(int order) { return order >= 0; }

constexpr Overload kComparisonOverloads[] = {
    {"_<_", "less_bool", "(bool, bool) -> bool", ordered<less>},
    {"_<_", "less_int64", "(int, int) -> bool", ordered<less>},
    {"_<_", "less_int64_double", "(int, double) -> bool", ordered<less>},
    {"_<_", "less_int64_uint64", "(int, uint) -> bool", ordered<less>},
    {"_<_", "less_uint64", "(uint, uint) -> bool", ordered<less>},
    {"_<_", "less_uint64_double", "(uint, double) -> bool", ordered<less>},
    {"_<_", "less_uint64_int64", "(uint, int) -> bool", ordered<less>},
    {"_<_", "less_double", "(double, double) -> bool", ordered<less>},
    {"_<_", "less_double_int64", "(double, int) -> bool", ordered<less>},
    {"_<_", "less_double_uint64", "(double, uint) -> bool", ordered<less>},
    {"_<_", "less_string", "(string, string) -> bool", ordered<less>},
    {"_<_", "less_bytes", "(bytes, bytes) -> bool", ordered<less>},
    {"_<_", "less_timestamp", "(timestamp, timestamp) -> bool", ordered<less>},
    {"_<_", "less_duration", "(duration, duration) -> bool", ordered<less>},
    {"_<=_", "less_equals_bool", "(bool, bool) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_int64", "(int, int) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_int64_double", "(int, double) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_int64_uint64", "(int, uint) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_uint64", "(uint, uint) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_uint64_double", "(uint, double) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_uint64_int64", "(uint, int) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_double", "(double, double) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_double_int64", "(double, int) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_double_uint64", "(double, uint) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_string", "(string, string) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_bytes", "(bytes, bytes) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_timestamp", "(timestamp, timestamp) -> bool", ordered<less_or_equal>},
    {"_<=_", "less_equals_duration", "(duration, duration) -> bool", ordered<less_or_equal>},
    {"_>_", "greater_bool", "(bool, bool) -> bool", ordered<greater>},
    {"_>_", "greater_int64", "(int, int) -> bool", ordered<greater>},
    {"_>_", "greater_int64_double", "(int, double) -> bool", ordered<greater>},
    {"_>_", "greater_int64_uint64", "(int, uint) -> bool", ordered<greater>},
    {"_>_", "greater_uint64", "(uint, uint) -> bool", ordered<greater>},
    {"_>_", "greater_uint64_double", "(uint, double) -> bool", ordered<greater>},
    {"_>_", "greater_uint64_int64", "(uint, int) -> bool", ordered<greater>},
    {"_>_", "greater_double", "(double, double) -> bool", ordered<greater>},
    {"_>_", "greater_double_int64", "(double, int) -> bool", ordered<greater>},
    {"_>_", "greater_double_uint64", "(double, uint) -> bool", ordered<greater>},
    {"_>_", "greater_string", "(string, string) -> bool", ordered<greater>},
    {"_>_", "greater_bytes", "(bytes, bytes) -> bool", ordered<greater>},
    {"_>_", "greater_timestamp", "(timestamp, timestamp) -> bool", ordered<greater>},
    {"_>_", "greater_duration", "(duration, duration) -> bool", ordered<greater>},
    {"_>=_", "greater_equals_bool", "(bool, bool) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_int64", "(int, int) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_int64_double", "(int, double) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_int64_uint64", "(int, uint) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_uint64", "(uint, uint) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_uint64_double", "(uint, double) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_uint64_int64", "(uint, int) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_double", "(double, double) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_double_int64", "(double, int) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_double_uint64", "(double, uint) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_string", "(string, string) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_bytes", "(bytes, bytes) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_timestamp", "(timestamp, timestamp) -> bool", ordered<greater_or_equal>},
    {"_>=_", "greater_equals_duration", "(duration, duration) -> bool", ordered<greater_or_equal>},
};

}  // namespace

std::span<const Overload> comparison_table() { return kComparisonOverloads; }

}  // namespace sublet::patches::cel
