// How Go's fmt prints decoded JSON with %v: for error messages that must read as upstream's.
#pragma once

#include <string>

#include "sublet/base/go_quoted.h"
#include "sublet/schema/document.h"

namespace sublet::patches {

/// "map[a:1 b:[x y]]", "<nil>", "text".
std::string go_text(const schema::Value& value);
/// A decoded value with %#v: `"text"`, `1`, `map[string]interface {}{"a":"b"}`.
std::string go_syntax(const schema::Value& value);
/// The type that a decoded value has in Go (%T).
std::string_view go_type(const schema::Value& value);

}  // namespace sublet::patches
