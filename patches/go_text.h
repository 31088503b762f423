// How Go's fmt prints decoded JSON with %v: for error messages that must read as upstream's.
#pragma once

#include <string>

#include "sublet/schema/document.h"

namespace sublet::patches {

/// "map[a:1 b:[x y]]", "<nil>", "text".
std::string go_text(const schema::Value& value);

}  // namespace sublet::patches
