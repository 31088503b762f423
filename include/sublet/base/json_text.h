// JSON text, byte for byte as Go's encoding/json writes it. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sublet {

/// The text as a JSON string with its quotes; <, > and & are escaped, as Go's encoder does.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sublet
