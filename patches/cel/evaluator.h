// Evaluator: walks a checked tree and counts what it costs, as cel-go's planned program does: a name costs 1, each
// selection behind it 1, a constant nothing, a call what cost.h says. Depth is that of the tree, which the parser caps.
#pragma once

#include "patches/cel/ast.h"
#include "patches/cel/functions.h"

namespace sublet::patches::cel {

Evaluation evaluate(const Node& root, const Activation& activation, int slots, Library library, std::uint64_t budget);

/// Works out what is constant: literals of lists and maps, conversions of literals, patterns. What a conversion
/// complains about is a problem.
void fold(Node& root, Library library, std::vector<Problem>& problems);

}  // namespace sublet::patches::cel
