// The syntax tree of a CEL expression, in cel-go's form: macros are written out, so that types, estimated and actual
// costs come out as there. The parser makes it; the checker resolves names and overloads in place; the evaluator only
// reads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sublet/patches/cel.h"

namespace re2 {
class RE2;
}

namespace sublet::patches::cel {

struct Function;

enum class Op : std::uint8_t {
  literal,
  identifier,     // not resolved yet
  variable,       // slot: index in the environment
  local,          // slot: of a comprehension's variable
  select,         // children: operand
  has,            // children: operand; the test for a field
  index,          // children: operand, index
  call,           // children: [receiver,] arguments
  list,           // children: items
  map,            // children: key, value, key, value ...
  conditional,    // children: condition, then, else
  logical_and,    // children: left, right
  logical_or,     // children: left, right
  comprehension,  // children: range, start, condition, step, result
  message,        // children: values of `fields`; of patches alone (Environment::offer_patches)
};

/// Places of a comprehension's children.
enum Part : std::uint8_t { kRange, kStart, kCondition, kStep, kResult };

struct Node {
  Op op = Op::literal;
  bool is_method = false;  // call: the first child is the receiver
  bool optional = false;   // select, index: `.?`, `[?`
  bool named = false;      // literal: stood as a name (of a type)
  int offset = 0;          // where cel-go says that it is
  int name_offset = 0;     // select, call: of the name
  int height = 1;          // of the tree below and with this node
  int slot = -1;           // comprehension: of its accumulator; its variables follow
  std::string name;        // identifier, field or function
  Value literal;
  TypeRef type;  // static type, filled by the checker
  std::vector<std::unique_ptr<Node>> children;
  std::vector<bool> optional_items;         // list, map, message: `?x` per item or entry
  std::vector<std::string> fields;          // message
  std::string mismatch;                     // message: what is wrong with the names of those within it
  std::vector<int> entry_offsets;           // map: of the colons
  std::string accumulator;                  // comprehension
  std::vector<std::string> variables;       // comprehension: one or two; "#unused" when it binds a name
  std::vector<const Function*> overloads;   // call, index: those that may fit
  std::shared_ptr<const Value> folded;      // constant whatever the variables are: no cost at run time
  std::shared_ptr<const re2::RE2> pattern;  // matches(), find(), findAll() with a literal pattern
};

using NodePtr = std::unique_ptr<Node>;

inline constexpr std::string_view kAccumulator = "@result";
inline constexpr std::string_view kUnused = "#unused";

/// Does it only give a name to its start?
inline bool is_bind(const Node& node) { return node.op == Op::comprehension && node.variables[0] == kUnused; }

/// How a call or operator is named among the overloads: "_+_", "_[_]", "_?_:_", "startsWith".
std::string_view function_of(const Node& node);

}  // namespace sublet::patches::cel
