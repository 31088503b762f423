// The syntax tree of a CEL expression. The parser makes it, with macros already told apart from calls; the checker
// resolves names and overloads in place; the evaluator only reads it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "patches/cel/value.h"

namespace re2 {
class RE2;
}

namespace sublet::patches::cel {

struct Overload;

enum class Op : std::uint8_t {
  literal,
  identifier,     // not resolved yet
  variable,       // slot: index in the environment
  local,          // slot: index in the stack of comprehension variables
  select,         // children: operand
  has,            // children: operand; the test for a field
  index,          // children: operand, index
  call,           // children: [receiver,] arguments
  list,           // children: items
  map,            // children: key, value, key, value ...
  conditional,    // children: condition, then, else
  logical_and,    // children: left, right
  logical_or,     // children: left, right
  comprehension,  // children: range, steps...; see Macro
};

enum class Macro : std::uint8_t {
  none,
  all,
  exists,
  exists_one,
  map,  // steps: [filter,] value
  filter,
  transform_list,  // steps: [filter,] value; two variables
  transform_map,   // the same, to a map with the range's keys
  bind,            // cel.bind(name, value, expression)
  opt_map,
  opt_flat_map,
};

struct Node {
  Op op = Op::literal;
  Macro macro = Macro::none;
  Kind type = Kind::dyn;   // static type, filled by the checker
  bool is_method = false;  // call: the first child is the receiver
  bool optional = false;   // select, index: `.?`, `[?`
  int offset = 0;
  int height = 1;  // of the tree below and with this node
  int slot = -1;
  std::string name;  // identifier, field or function
  Value literal;
  std::vector<std::unique_ptr<Node>> children;
  std::vector<bool> optional_items;         // list, map: `?x` per item or entry
  std::vector<std::string> variables;       // comprehension: its one or two variables
  std::vector<const Overload*> overloads;   // call: those that may fit
  std::shared_ptr<const re2::RE2> pattern;  // matches() with a literal pattern
};

using NodePtr = std::unique_ptr<Node>;

}  // namespace sublet::patches::cel
