// The functions and operators of CEL: one table of overloads. A new function is a row in one of the tables and a C++
// function; the checker, the evaluator and the cost estimate need no change.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/patches/cel.h"

namespace sublet::patches::cel {

/// What an evaluation has cost, and may. cel-go's units are charged by the evaluator; functions tell about work that
/// these do not cover, so that nothing runs away.
class Meter {
 public:
  Meter(std::uint64_t limit, Library library) : limit_(limit), library_(library) {}
  void charge(std::uint64_t cost) {
    cost_ = cost > UINT64_MAX - cost_ ? UINT64_MAX : cost_ + cost;
    over_ |= cost_ > limit_;
  }
  void refund(std::uint64_t cost) { cost_ -= std::min(cost, cost_); }
  void work(std::uint64_t steps) {
    steps_ += steps;
    over_ |= steps_ > kStepsMax;
  }
  /// Can something of that cost still be done? The evaluation is over when not.
  bool affords(std::uint64_t cost) {
    over_ |= cost > limit_ - std::min(limit_, cost_);
    return !over_;
  }
  bool exhausted() const { return over_; }
  std::uint64_t cost() const { return cost_; }
  Library library() const { return library_; }

 private:
  static constexpr std::uint64_t kStepsMax = 200'000'000;
  std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  std::uint64_t steps_ = 0;
  Library library_;
  bool over_ = false;
};

using Arguments = std::span<const Value>;

/// Which libraries have a function.
enum class Set : std::uint8_t {
  core,
  optional,
  strings,       // version 2 of the extension
  strings_more,  // what came after it
  lists,
  sets,
  math,
  bindings,
  encoders,
  two_variables,
  kubernetes,  // urls, regex, lists
  authorizer,
  authorizer_selectors,
  quantity,
  quantity_more,  // of templates alone
  network,
  format,
  semver,
  patches,  // where Environment::offers_patches()
};

/// A row of a table. `signature`: "(string, int) -> bool", a method's with a dot before the bracket's rest:
/// "string.(int) -> bool". Capital letters are type parameters.
struct Overload {
  std::string_view name;  // operators: "_+_", "!_", "@in"; with a namespace: "optional.of"
  std::string_view id;    // cel-go's, which costs go by
  std::string_view signature;
  Value (*apply)(Arguments arguments, Meter& meter);
  Set set = Set::core;
};

/// What a call's cost goes by (cost_ways.cpp).
enum class CostWay : std::uint8_t {
  one,
  check,
  selector,
  traversal,
  text,  // once through the first argument
  text_twice,
  result_twice,
  pattern,
  contains_ip,
  contains_ip_text,
  contains_cidr,
  contains_cidr_text,
  validate,
  equality,
  smaller_text,
  deep_text,
  second_size,
  both_texts,
  deep_pattern,
  product,
  sets,
  sets_twice,
  list_of_result,
  flatten,
  flatten_depth,
  self_compare,
  self_compare_keys,
};
/// `id` empty: one of several overloads.
CostWay cost_way(std::string_view function, std::string_view id);

/// An overload with its types.
struct Function {
  const Overload* row = nullptr;
  CostWay cost = CostWay::one;
  CostWay cost_as_one_of_many = CostWay::one;
  bool is_method = false;
  std::vector<TypeRef> arguments;  // the receiver counts
  TypeRef result;
  bool generic = false;  // has type parameters
};

bool available(Set set, const Environment& environment);
/// All overloads of a name, of all libraries; empty: there is no such function.
const std::vector<Function>& overloads_of(std::string_view name);
/// Names of what the environment offers, for suggestions. Operators are left out.
std::vector<std::string_view> function_names(const Environment& environment);
/// Do the values fit at run time? Of lists and maps the first element is looked at, as cel-go does.
bool accepts(const Function& function, Arguments arguments);
/// What cel-go says when they do not.
Value no_such_overload(std::string_view name, Arguments arguments);

Value plain_no_such_overload();

// The tables, by subject.
std::span<const Overload> operator_table();
std::span<const Overload> comparison_table();
std::span<const Overload> conversion_table();
std::span<const Overload> string_table();
std::span<const Overload> list_table();
std::span<const Overload> optional_table();
std::span<const Overload> math_table();
std::span<const Overload> set_table();
std::span<const Overload> time_table();
std::span<const Overload> quantity_table();
std::span<const Overload> url_table();
std::span<const Overload> network_table();
std::span<const Overload> semver_table();
std::span<const Overload> format_table();
std::span<const Overload> authorizer_table();
std::span<const Overload> patch_table();

}  // namespace sublet::patches::cel
