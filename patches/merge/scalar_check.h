// Scalar check: whether a value is the scalar that its type says; private to patches/merge.
#pragma once

#include <string>

#include "sublet/patches/merge_type.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

/// Empty: it fits. Null and what is missing fit everything.
std::string scalar_problem(const schema::Value& value, MergeScalar wanted);

}  // namespace sublet::patches
