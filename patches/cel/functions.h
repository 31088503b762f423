// The functions and operators of CEL: one table of overloads. A new function is a row in one of the tables and a C++
// function; the checker and the evaluator need no change.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "patches/cel/value.h"

namespace sublet::patches::cel {

/// What an evaluation may still cost. Functions charge for work that grows with their arguments.
class Meter {
 public:
  explicit Meter(std::size_t limit) : left_(limit) {}
  void charge(std::size_t work) { left_ -= work < left_ ? work : left_; }
  bool exhausted() const { return left_ == 0; }

 private:
  std::size_t left_;
};

enum class Style : std::uint8_t { function, method };

inline constexpr std::size_t kArgumentsMax = 4;

struct Overload {
  std::string_view name;  // operators: "_+_", "!_", "@in"; with a namespace: "optional.of"
  Style style;
  std::array<Kind, kArgumentsMax> arguments;  // the receiver counts; dyn accepts any kind
  std::size_t arity;
  Kind result;
  Value (*apply)(std::span<const Value> arguments, Meter& meter);
};

/// All overloads of a name; empty: there is no such function.
const std::vector<const Overload*>& overloads_of(std::string_view name);
/// All names, for suggestions. Operators are left out.
std::vector<std::string_view> function_names();
/// May a value of `given` (dyn: not known) be passed where `wanted` stands?
inline bool fits(Kind wanted, Kind given) { return wanted == Kind::dyn || given == Kind::dyn || wanted == given; }
/// `found no matching overload for '_+_' applied to (int, string)`.
std::string no_overload(std::string_view name, bool is_method, std::span<const Kind> arguments);

// The tables, by subject.
std::span<const Overload> operator_table();
std::span<const Overload> conversion_table();
std::span<const Overload> string_table();
std::span<const Overload> list_table();
std::span<const Overload> library_table();  // quantity, math, sets, optional, base64

}  // namespace sublet::patches::cel
