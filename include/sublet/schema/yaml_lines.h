// Where a YAML text says something twice, in go-yaml's words. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sublet::schema {

/// `line 9: key "foo" already set in map`, for each key that its mapping has already. What comes before an error in the
/// text counts.
std::vector<std::string> yaml_duplicate_lines(std::string_view text);

}  // namespace sublet::schema
