// Macros: calls that the parser writes out as other expressions, as cel-go does.
#pragma once

#include "patches/cel/parser.h"

namespace sublet::patches::cel {

/// Makes nodes for the parser and for macros; counts them and their height.
class NodeMaker {
 public:
  NodePtr make(Op op, int offset);
  NodePtr literal(Value value, int offset);
  NodePtr identifier(std::string_view name, int offset);
  NodePtr call(std::string_view function, int offset, std::vector<NodePtr> arguments);
  NodePtr method(std::string_view function, int offset, NodePtr receiver, std::vector<NodePtr> arguments);
  NodePtr list(int offset, std::vector<NodePtr> items);
  NodePtr conditional(int offset, NodePtr condition, NodePtr yes, NodePtr no);
  NodePtr comprehension(int offset, NodePtr range, std::vector<std::string> variables, std::string_view accumulator,
                        NodePtr start, NodePtr condition, NodePtr step, NodePtr result);
  NodePtr copy(const Node& node);
  /// Hangs a child into a node. Nothing taller than the cap is ever built, so it can be walked and destroyed.
  void adopt(Node& node, NodePtr child);
  bool exceeded() const { return exceeded_; }

 private:
  std::size_t nodes_ = 0;
  bool exceeded_ = false;
};

/// The expression that a macro call stands for; null: it is a plain call (the arguments are as before). A mistake in
/// its arguments is a problem, and any expression.
NodePtr expand_macro(const Environment& environment, NodeMaker& maker, std::string_view name, int offset,
                     NodePtr& receiver, std::vector<NodePtr>& arguments, std::vector<Problem>& problems);

}  // namespace sublet::patches::cel
