// Operators: arithmetic with overflow as an error, concatenation, `in`, size(), and the forms that the evaluator itself
// carries out (their rows say what types they take).
#include <algorithm>
#include <cmath>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

Value overflow_error(std::string_view kind) { return Value::error(std::string(kind) + " overflow"); }

template <bool (*Builtin)(std::int64_t, std::int64_t, std::int64_t*)>
Value int_arithmetic(Arguments a, Meter&) {
  std::int64_t result = 0;
  if (Builtin(a[0].as_int(), a[1].as_int(), &result)) return overflow_error("integer");
  return Value::integer(result);
}

template <bool (*Builtin)(std::uint64_t, std::uint64_t, std::uint64_t*)>
Value uint_arithmetic(Arguments a, Meter&) {
  std::uint64_t result = 0;
  if (Builtin(a[0].as_uint(), a[1].as_uint(), &result)) return overflow_error("unsigned integer");
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
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow_error("integer");
  return Value::integer(a[0].as_int() / a[1].as_int());
}

Value int_modulo(Arguments a, Meter&) {
  if (a[1].as_int() == 0) return Value::error("modulus by zero");
  if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return overflow_error("integer");
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
  if (a[0].as_int() == INT64_MIN) return overflow_error("integer");
  return Value::integer(-a[0].as_int());
}

Value double_add(Arguments a, Meter&) { return Value::floating(a[0].as_double() + a[1].as_double()); }
Value double_subtract(Arguments a, Meter&) { return Value::floating(a[0].as_double() - a[1].as_double()); }
Value double_multiply(Arguments a, Meter&) { return Value::floating(a[0].as_double() * a[1].as_double()); }
Value double_divide(Arguments a, Meter&) { return Value::floating(a[0].as_double() / a[1].as_double()); }
Value double_negate(Arguments a, Meter&) { return Value::floating(-a[0].as_double()); }

std::string joined_text(Arguments a, Meter& meter) {
  const std::size_t size = a[0].as_text().size() + a[1].as_text().size();
  if (!meter.affords(size / 40)) return {};  // its cost is a tenth of its characters, which have four bytes at most
  std::string text(a[0].as_text());
  text += a[1].as_text();
  return text;
}
Value string_add(Arguments a, Meter& meter) { return Value::string(joined_text(a, meter)); }
Value bytes_add(Arguments a, Meter& meter) { return Value::bytes(joined_text(a, meter)); }

// X + Y of x-kubernetes-list-type map: what Y has of a key that X has, too, takes its place; the rest is appended.
void merge_keyed_item(List& items, const Value& item, const Type& type) {
  for (Value& known : items) {
    bool same = true;
    for (const std::string& key : type.list_keys) same = same && known.node()[key].equals(item.node()[key]);
    if (!same) continue;
    known = item;
    return;
  }
  items.push_back(item);
}

void unite_item(List& items, const Value& item, std::size_t& work) {
  if (std::none_of(items.begin(), items.end(), [&](const Value& known) { return equal(known, item, work); }))
    items.push_back(item);
}

Value list_add(Arguments a, Meter& meter) {
  meter.work(a[0].size() + a[1].size());
  if (meter.exhausted()) return {};
  const Type* type = a[0].container_type();
  List items;
  items.reserve(a[0].size() + a[1].size());
  a[0].each_item([&](const Value& item) {
    items.push_back(item);
    return true;
  });
  a[1].each_item([&](const Value& item) {
    std::size_t work = items.size();
    if (!type || type->list_form == ListForm::atomic)
      items.push_back(item);
    else if (type->list_form == ListForm::map)
      merge_keyed_item(items, item, *type);
    else
      unite_item(items, item, work);
    meter.work(type ? work : 1);
    return !meter.exhausted();
  });
  return Value::list(std::move(items), type);
}

Value logical_not(Arguments a, Meter&) { return Value::boolean(!a[0].as_bool()); }

template <bool Wanted>
Value equality(Arguments a, Meter& meter) {
  std::size_t work = 0;
  const bool same = equal(a[0], a[1], work);
  meter.work(work);
  return Value::boolean(same == Wanted);
}

Value in_list(Arguments a, Meter& meter) {
  bool found = false;
  std::size_t work = 0;
  a[1].each_item([&](const Value& item) { return !(found = equal(a[0], item, work)); });
  meter.work(work);
  return Value::boolean(found);
}

Value in_map(Arguments a, Meter& meter) {
  meter.work(1 + a[1].size() / 16);
  return Value::boolean(a[1].find(a[0]).has_value());
}

Value container_size(Arguments a, Meter&) { return Value::integer(static_cast<std::int64_t>(a[0].size())); }

Value byte_size(Arguments a, Meter&) { return Value::integer(static_cast<std::int64_t>(a[0].as_text().size())); }

Value text_size(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size() / 16);
  return Value::integer(static_cast<std::int64_t>(character_count(a[0].as_text())));
}

Value not_strictly_false(Arguments a, Meter&) { return a[0].is(Kind::boolean) ? a[0] : Value::boolean(true); }

Value duplicate_key(const Value& key) { return Value::error("insert failed: key " + go_text(key) + " already exists"); }

Map entries_of(const Value& map) {
  Map entries;
  entries.reserve(map.size() + 1);
  map.each_entry([&](const Value& key, const Value& value) {
    entries.emplace_back(key, value);
    return true;
  });
  return entries;
}

// The accumulators of transformMap() and transformMapEntry().
Value insert_entry(Arguments a, Meter& meter) {
  meter.work(2 * a[0].size() + 1);
  if (meter.exhausted()) return {};
  if (a[0].find(a[1])) return duplicate_key(a[1]);
  Map entries = entries_of(a[0]);
  entries.emplace_back(a[1], a[2]);
  return Value::map(std::move(entries));
}

Value insert_entries(Arguments a, Meter& meter) {
  meter.work((a[0].size() + 1) * (a[1].size() + 1));
  if (meter.exhausted()) return {};
  Map entries = entries_of(a[0]);
  Value failure;
  a[1].each_entry([&](const Value& key, const Value& value) {
    if (a[0].find(key)) failure = duplicate_key(key);
    entries.emplace_back(key, value);
    return !failure.is_error();
  });
  return failure.is_error() ? failure : Value::map(std::move(entries));
}

constexpr Overload kOperatorOverloads[] = {
    {"_+_", "add_bytes", "(bytes, bytes) -> bytes", bytes_add},
    {"_+_", "add_double", "(double, double) -> double", double_add},
    {"_+_", "add_int64", "(int, int) -> int", int_arithmetic<add_overflows<std::int64_t>>},
    {"_+_", "add_list", "(list(A), list(A)) -> list(A)", list_add},
    {"_+_", "add_string", "(string, string) -> string", string_add},
    {"_+_", "add_uint64", "(uint, uint) -> uint", uint_arithmetic<add_overflows<std::uint64_t>>},
    {"_-_", "subtract_double", "(double, double) -> double", double_subtract},
    {"_-_", "subtract_int64", "(int, int) -> int", int_arithmetic<subtract_overflows<std::int64_t>>},
    {"_-_", "subtract_uint64", "(uint, uint) -> uint", uint_arithmetic<subtract_overflows<std::uint64_t>>},
    {"_*_", "multiply_double", "(double, double) -> double", double_multiply},
    {"_*_", "multiply_int64", "(int, int) -> int", int_arithmetic<multiply_overflows<std::int64_t>>},
    {"_*_", "multiply_uint64", "(uint, uint) -> uint", uint_arithmetic<multiply_overflows<std::uint64_t>>},
    {"_/_", "divide_double", "(double, double) -> double", double_divide},
    {"_/_", "divide_int64", "(int, int) -> int", int_divide},
    {"_/_", "divide_uint64", "(uint, uint) -> uint", uint_divide},
    {"_%_", "modulo_int64", "(int, int) -> int", int_modulo},
    {"_%_", "modulo_uint64", "(uint, uint) -> uint", uint_modulo},
    {"-_", "negate_double", "(double) -> double", double_negate},
    {"-_", "negate_int64", "(int) -> int", int_negate},
    {"!_", "logical_not", "(bool) -> bool", logical_not},
    {"_==_", "equals", "(A, A) -> bool", equality<true>},
    {"_!=_", "not_equals", "(A, A) -> bool", equality<false>},
    {"@in", "in_list", "(A, list(A)) -> bool", in_list},
    {"@in", "in_map", "(A, map(A, B)) -> bool", in_map},
    {"size", "size_bytes", "(bytes) -> int", byte_size},
    {"size", "bytes_size", "bytes.() -> int", byte_size},
    {"size", "size_list", "(list(A)) -> int", container_size},
    {"size", "list_size", "list(A).() -> int", container_size},
    {"size", "size_map", "(map(A, B)) -> int", container_size},
    {"size", "map_size", "map(A, B).() -> int", container_size},
    {"size", "size_string", "(string) -> int", text_size},
    {"size", "string_size", "string.() -> int", text_size},
    {"@not_strictly_false", "not_strictly_false", "(bool) -> bool", not_strictly_false},
    {"cel.@mapInsert", "@mapInsert_map_key_value", "(map(K, V), K, V) -> map(K, V)", insert_entry, Set::two_variables},
    {"cel.@mapInsert", "@mapInsert_map_map", "(map(K, V), map(K, V)) -> map(K, V)", insert_entries, Set::two_variables},
    // Carried out by the evaluator.
    {"_?_:_", "conditional", "(bool, A, A) -> A", nullptr},
    {"_[_]", "index_list", "(list(A), int) -> A", nullptr},
    {"_[_]", "index_map", "(map(A, B), A) -> B", nullptr},
    {"_[_]", "optional_list_index_int", "(optional(list(V)), int) -> optional(V)", nullptr, Set::optional},
    {"_[_]", "optional_map_index_value", "(optional(map(K, V)), K) -> optional(V)", nullptr, Set::optional},
    {"_[?_]", "list_optindex_optional_int", "(list(V), int) -> optional(V)", nullptr, Set::optional},
    {"_[?_]", "optional_list_optindex_optional_int", "(optional(list(V)), int) -> optional(V)", nullptr, Set::optional},
    {"_[?_]", "map_optindex_optional_value", "(map(K, V), K) -> optional(V)", nullptr, Set::optional},
    {"_[?_]", "optional_map_optindex_optional_value", "(optional(map(K, V)), K) -> optional(V)", nullptr,
     Set::optional},
};

}  // namespace

std::span<const Overload> operator_table() { return kOperatorOverloads; }

}  // namespace sublet::patches::cel
