// Checker: resolves names to slots and calls to overloads, infers static types as far as they are known, and reports
// what cannot work.
#pragma once

#include <vector>

#include "patches/cel/ast.h"
#include "patches/cel/program.h"

namespace sublet::patches::cel {

/// Empty: the tree is ready to be evaluated.
std::vector<Problem> check(Node& root, const Environment& environment);

}  // namespace sublet::patches::cel
