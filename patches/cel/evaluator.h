// Evaluator: walks a checked tree. Cost is metered per node and by functions for work that grows with their arguments;
// depth is that of the tree, which the parser caps.
#pragma once

#include "patches/cel/ast.h"
#include "patches/cel/program.h"

namespace sublet::patches::cel {

Value evaluate(const Node& root, const Activation& activation, std::size_t cost_max);

}  // namespace sublet::patches::cel
