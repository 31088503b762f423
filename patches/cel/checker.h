// Checker: resolves names to slots and calls to overloads, infers static types, and reports what cannot work, in
// cel-go's words. Kubernetes' further checks of literals are validators.cpp's.
#pragma once

#include <string>
#include <vector>

#include "patches/cel/ast.h"

namespace sublet::patches::cel {

struct CheckResult {
  std::vector<Problem> problems;       // empty: the tree is ready to be evaluated
  std::vector<std::string> variables;  // that it names
  int slots = 0;                       // for local variables
};
CheckResult check(Node& root, const Environment& environment);

/// What Kubernetes refuses of a tree that is well typed: literals that can be no duration, timestamp or pattern, mixed
/// items, format() with the wrong arguments.
std::vector<Problem> validate(const Node& root);

}  // namespace sublet::patches::cel
